//! The JSON objects of glTF 2.0, without extensions.

use serde::Deserialize;

use super::extensions::{
    ImageTexture, MeshoptBuffer, MeshoptView, NodeExtensions, PrimitiveExtensions, RootExtensions, TextureTransform,
    extensions,
};
use super::material_extensions::MaterialExtensions;

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Root {
    pub(crate) asset: Option<Asset>,
    pub(crate) scene: Option<usize>,
    pub(crate) scenes: Vec<Scene>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) meshes: Vec<Mesh>,
    pub(crate) materials: Vec<Material>,
    pub(crate) accessors: Vec<Accessor>,
    pub(crate) buffer_views: Vec<BufferView>,
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) textures: Vec<Texture>,
    pub(crate) images: Vec<Image>,
    pub(crate) samplers: Vec<Sampler>,
    pub(crate) skins: Vec<Skin>,
    pub(crate) animations: Vec<Animation>,
    pub(crate) extensions_used: Vec<String>,
    pub(crate) extensions_required: Vec<String>,
    pub(crate) extensions: RootExtensions,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Asset {
    pub(crate) version: String,
    pub(crate) generator: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Scene {
    pub(crate) nodes: Vec<usize>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Node {
    pub(crate) name: Option<String>,
    pub(crate) children: Vec<usize>,
    pub(crate) matrix: Option<Box<[f32; 16]>>,
    pub(crate) translation: Option<[f32; 3]>,
    pub(crate) rotation: Option<[f32; 4]>,
    pub(crate) scale: Option<[f32; 3]>,
    pub(crate) mesh: Option<usize>,
    pub(crate) skin: Option<usize>,
    pub(crate) weights: Vec<f32>,
    pub(crate) extensions: NodeExtensions,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Mesh {
    pub(crate) name: Option<String>,
    pub(crate) primitives: Vec<Primitive>,
    pub(crate) weights: Vec<f32>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Primitive {
    pub(crate) attributes: std::collections::BTreeMap<String, usize>,
    pub(crate) indices: Option<usize>,
    pub(crate) material: Option<usize>,
    pub(crate) mode: Option<u32>,
    pub(crate) targets: Vec<std::collections::BTreeMap<String, usize>>,
    pub(crate) extensions: PrimitiveExtensions,
}

impl Root {
    /// Returns the accessor of a primitive's positions. Returns `None` if the primitive is not drawn, because it has no
    /// positions or no vertices.
    pub(crate) fn drawn_positions(&self, primitive: &Primitive) -> Option<usize> {
        let accessor = primitive.positions()?;
        let has_no_values = self.accessors.get(accessor).is_some_and(|a| a.count == 0);
        let is_empty = has_no_values && primitive.extensions.draco.is_none();
        (!is_empty).then_some(accessor)
    }
}

impl Primitive {
    /// Returns the accessor of the positions.
    pub(crate) fn positions(&self) -> Option<usize> {
        self.attributes.get("POSITION").copied()
    }
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Accessor {
    pub(crate) buffer_view: Option<usize>,
    pub(crate) byte_offset: u64,
    pub(crate) component_type: u32,
    pub(crate) normalized: bool,
    pub(crate) count: u64,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) sparse: Option<Sparse>,
}

#[derive(Deserialize)]
pub(crate) struct Sparse {
    pub(crate) count: u64,
    pub(crate) indices: SparseIndices,
    pub(crate) values: SparseValues,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SparseIndices {
    pub(crate) buffer_view: usize,
    #[serde(default)]
    pub(crate) byte_offset: u64,
    pub(crate) component_type: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SparseValues {
    pub(crate) buffer_view: usize,
    #[serde(default)]
    pub(crate) byte_offset: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BufferView {
    pub(crate) buffer: usize,
    #[serde(default)]
    pub(crate) byte_offset: u64,
    pub(crate) byte_length: u64,
    pub(crate) byte_stride: Option<u64>,
    #[serde(default)]
    pub(crate) extensions: ViewExtensions,
}

impl BufferView {
    /// Returns the parameters of meshopt compression. The extension has an official name and an older name. If both are
    /// present, the parameters under the official name are used.
    pub(crate) fn meshopt(&self) -> Option<&MeshoptView> {
        self.extensions.meshopt.as_deref().or(self.extensions.older_meshopt.as_deref())
    }

    /// Returns the distance in bytes between the elements of an accessor that has `count` elements of `size` bytes.
    /// Returns `None` if the elements are tightly packed.
    pub(crate) fn stride(&self, count: u64, size: u64) -> Option<u64> {
        let Some(packed) = self.meshopt() else { return self.byte_stride };
        // Without `byteStride`, the elements are tightly packed (glTF 2.0, section 3.6.2.4), and the stride of the
        // compressed data is independent of them: for example, eight bytes can be compressed as two elements. However,
        // some programs omit `byteStride` although they padded each element to the stride of the compressed data.
        let is_padded = size < packed.byte_stride
            && count == packed.count
            && packed.count.checked_mul(packed.byte_stride) == Some(self.byte_length);
        (self.byte_stride.is_some() || is_padded).then_some(packed.byte_stride)
    }
}

extensions!(ViewExtensions {
    "KHR_meshopt_compression" meshopt: Box<MeshoptView>,
    "EXT_meshopt_compression" older_meshopt: Box<MeshoptView>,
});

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Buffer {
    pub(crate) uri: Option<String>,
    pub(crate) byte_length: u64,
    #[serde(default)]
    pub(crate) extensions: BufferExtensions,
}

extensions!(BufferExtensions {
    "KHR_meshopt_compression" meshopt: MeshoptBuffer,
    "EXT_meshopt_compression" older_meshopt: MeshoptBuffer,
});

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Texture {
    pub(crate) source: Option<usize>,
    pub(crate) sampler: Option<usize>,
    pub(crate) extensions: TextureExtensions,
}

extensions!(TextureExtensions {
    "KHR_texture_basisu" basisu: ImageTexture,
    "EXT_texture_webp" webp: ImageTexture,
});

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Image {
    pub(crate) uri: Option<String>,
    pub(crate) mime_type: Option<String>,
    pub(crate) buffer_view: Option<usize>,
    pub(crate) name: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Sampler {
    pub(crate) mag_filter: Option<u32>,
    pub(crate) min_filter: Option<u32>,
    pub(crate) wrap_s: Option<u32>,
    pub(crate) wrap_t: Option<u32>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Skin {
    pub(crate) joints: Vec<usize>,
    pub(crate) inverse_bind_matrices: Option<usize>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Animation {
    pub(crate) name: Option<String>,
    pub(crate) channels: Vec<Channel>,
    pub(crate) samplers: Vec<AnimationSampler>,
}

#[derive(Deserialize)]
pub(crate) struct Channel {
    pub(crate) sampler: usize,
    pub(crate) target: ChannelTarget,
}

#[derive(Deserialize)]
pub(crate) struct ChannelTarget {
    pub(crate) node: Option<usize>,
    pub(crate) path: String,
}

#[derive(Deserialize)]
pub(crate) struct AnimationSampler {
    pub(crate) input: usize,
    pub(crate) output: usize,
    pub(crate) interpolation: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Material {
    pub(crate) name: Option<String>,
    pub(crate) pbr_metallic_roughness: Pbr,
    pub(crate) normal_texture: Option<Box<TextureInfo>>,
    pub(crate) occlusion_texture: Option<Box<TextureInfo>>,
    pub(crate) emissive_texture: Option<Box<TextureInfo>>,
    pub(crate) emissive_factor: [f32; 3],
    pub(crate) alpha_mode: Option<String>,
    pub(crate) alpha_cutoff: Option<f32>,
    pub(crate) double_sided: bool,
    pub(crate) extensions: MaterialExtensions,
}

#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Pbr {
    pub(crate) base_color_factor: [f32; 4],
    pub(crate) base_color_texture: Option<Box<TextureInfo>>,
    pub(crate) metallic_factor: f32,
    pub(crate) roughness_factor: f32,
    pub(crate) metallic_roughness_texture: Option<Box<TextureInfo>>,
}

impl Default for Pbr {
    fn default() -> Self {
        Self {
            base_color_factor: [1.0; 4],
            base_color_texture: None,
            metallic_factor: 1.0,
            roughness_factor: 1.0,
            metallic_roughness_texture: None,
        }
    }
}

/// A reference to a texture. `scale` is only used for normal textures, and `strength` only for occlusion textures.
#[derive(Deserialize, Clone)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TextureInfo {
    pub(crate) index: usize,
    #[serde(default)]
    pub(crate) tex_coord: usize,
    pub(crate) scale: Option<f32>,
    pub(crate) strength: Option<f32>,
    #[serde(default)]
    pub(crate) extensions: TextureInfoExtensions,
}

extensions!(#[derive(Clone)] TextureInfoExtensions {
    "KHR_texture_transform" transform: Box<TextureTransform>,
});
