//! JSON objects of the supported extensions.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Declares the `extensions` member of a JSON object. Each line contains the name of an extension, the field that
/// stores its contents, and the type of the contents.
macro_rules! extensions {
    ($(#[$derive:meta])* $object:ident { $($name:literal $field:ident: $json:ty,)* }) => {
        #[derive(Deserialize, Default)]
        $(#[$derive])*
        #[serde(default)]
        pub(crate) struct $object {
            $(
                #[serde(rename = $name)]
                pub(crate) $field: Option<$json>,
            )*
        }
    };
}
pub(super) use extensions;

extensions!(RootExtensions {
    "KHR_lights_punctual" lights: LightList,
});

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct LightList {
    pub(crate) lights: Vec<Light>,
}

#[derive(Deserialize)]
pub(crate) struct Light {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(default = "white")]
    pub(crate) color: [f32; 3],
    #[serde(default = "one")]
    pub(crate) intensity: f32,
    pub(crate) range: Option<f32>,
    pub(crate) spot: Option<Spot>,
}

#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Spot {
    pub(crate) inner_cone_angle: f32,
    pub(crate) outer_cone_angle: f32,
}

impl Default for Spot {
    fn default() -> Self {
        Self { inner_cone_angle: 0.0, outer_cone_angle: std::f32::consts::FRAC_PI_4 }
    }
}

extensions!(NodeExtensions {
    "KHR_lights_punctual" light: LightRef,
    "KHR_node_visibility" visibility: Visibility,
    "EXT_mesh_gpu_instancing" instancing: Instancing,
});

#[derive(Deserialize)]
pub(crate) struct LightRef {
    pub(crate) light: usize,
}

#[derive(Deserialize)]
pub(crate) struct Visibility {
    /// Whether the node and its descendants are drawn. The default is true.
    pub(crate) visible: Option<bool>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Instancing {
    pub(crate) attributes: BTreeMap<String, usize>,
}

extensions!(PrimitiveExtensions {
    "KHR_draco_mesh_compression" draco: DracoPrimitive,
});

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DracoPrimitive {
    pub(crate) buffer_view: usize,
    pub(crate) attributes: BTreeMap<String, u32>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct MeshoptBuffer {
    /// Whether the buffer is a placeholder without data, for readers that do not support the extension.
    pub(crate) fallback: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MeshoptView {
    pub(crate) buffer: usize,
    #[serde(default)]
    pub(crate) byte_offset: u64,
    pub(crate) byte_length: u64,
    pub(crate) byte_stride: u64,
    pub(crate) count: u64,
    pub(crate) mode: String,
    pub(crate) filter: Option<String>,
}

#[derive(Deserialize, Clone, Copy)]
pub(crate) struct ImageTexture {
    pub(crate) source: Option<usize>,
}

#[derive(Deserialize, Clone, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct TextureTransform {
    pub(crate) offset: [f32; 2],
    pub(crate) rotation: f32,
    pub(crate) scale: Option<[f32; 2]>,
    pub(crate) tex_coord: Option<usize>,
}

pub(super) fn one() -> f32 {
    1.0
}

pub(super) fn white() -> [f32; 3] {
    [1.0; 3]
}
