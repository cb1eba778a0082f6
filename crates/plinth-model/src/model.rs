//! The decoded model: the data that a renderer needs, in a form that does not depend on the encoding of the file.
//!
//! The conventions are those of glTF 2.0: +Y is up, coordinates are right-handed and in metres, front faces are
//! counter-clockwise, colour factors are linear, and v points down in texture coordinates. All indices have been
//! checked against the lists that they refer to.

use glam::{Mat4, Quat, Vec3};

/// A decoded model.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// The nodes of the default scene. Parents precede their children.
    pub nodes: Vec<Node>,
    /// Meshes, which nodes refer to.
    pub meshes: Vec<Mesh>,
    /// Materials. The last one is always glTF's default material, which is used by primitives without a material.
    pub materials: Vec<Material>,
    /// Textures, which materials refer to. A texture is an image with a sampler.
    pub textures: Vec<Texture>,
    /// Decoded images, which textures refer to.
    pub images: Vec<Image>,
    /// Skins, which nodes refer to.
    pub skins: Vec<Skin>,
    /// Animation clips.
    pub animations: Vec<Animation>,
    /// Lights of KHR_lights_punctual, which nodes refer to.
    pub lights: Vec<Light>,
    /// Messages for the user about data in the file that was ignored or repaired.
    pub warnings: Vec<String>,
}

/// One node of the scene graph.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// The render-time name: spaces are replaced by `_`, and repeated names get `_1`, `_2` and so on. The setting
    /// `hiddenMeshNames` refers to this name.
    pub name: String,
    /// Index of the parent node, which is always smaller than the index of this node.
    pub parent: Option<usize>,
    /// Transform relative to the parent, in the rest pose.
    pub local: Transform,
    /// Index of the mesh in [`Model::meshes`]; `None` if the node has no mesh.
    pub mesh: Option<usize>,
    /// Index of the skin in [`Model::skins`]; `None` if the mesh is not skinned.
    pub skin: Option<usize>,
    /// Index of the light in [`Model::lights`]; `None` if the node has no light.
    pub light: Option<usize>,
    /// Morph weights in the rest pose. If the node has none of its own, these are the weights of its mesh.
    pub weights: Vec<f32>,
    /// Transforms from EXT_mesh_gpu_instancing. The mesh is drawn once per entry, with the transform `world *
    /// instance`. If the list is empty, the mesh is drawn once.
    pub instances: Vec<Transform>,
}

/// The transform of a node relative to its parent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transform {
    /// A matrix that maps local coordinates to the parent's coordinates. Only nodes that are not animated have one.
    Matrix(Mat4),
    /// Scale, rotation and translation, applied in this order.
    Trs(Trs),
}

/// Translation, rotation and scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trs {
    /// Translation.
    pub translation: Vec3,
    /// Unit quaternion.
    pub rotation: Quat,
    /// Scale per axis.
    pub scale: Vec3,
}

impl Default for Trs {
    fn default() -> Self {
        Self { translation: Vec3::ZERO, rotation: Quat::IDENTITY, scale: Vec3::ONE }
    }
}

impl Default for Transform {
    fn default() -> Self {
        Self::Trs(Trs::default())
    }
}

impl Transform {
    /// Returns the matrix that maps local coordinates to the parent's coordinates.
    pub fn matrix(&self) -> Mat4 {
        match self {
            Self::Matrix(m) => *m,
            Self::Trs(t) => Mat4::from_scale_rotation_translation(t.scale, t.rotation, t.translation),
        }
    }
}

/// A mesh: a list of primitives that share morph weights.
#[derive(Clone, Debug, Default)]
pub struct Mesh {
    /// The name in the file, or a generated one.
    pub name: String,
    /// The primitives of the mesh, each with one material.
    pub primitives: Vec<Primitive>,
}

/// The kind of elements that a primitive draws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Topology {
    /// Triangles with three indices each. Triangle strips and fans are converted to this form.
    #[default]
    Triangles,
    /// Line segments with two indices each.
    Lines,
    /// Points with one index each.
    Points,
}

/// Geometry with one material. Each vertex list is either empty or has as many entries as `positions`.
#[derive(Clone, Debug, Default)]
pub struct Primitive {
    /// The kind of elements that the indices describe.
    pub topology: Topology,
    /// Indices into the vertex lists.
    pub indices: Vec<u32>,
    /// Object-space positions; all values are finite.
    pub positions: Vec<[f32; 3]>,
    /// Unit object-space normals. Primitives of triangles always have normals: if the file has none, flat normals are
    /// generated, and shared vertices are duplicated, as glTF requires. For lines and points, the list is empty if the
    /// file has no normals.
    pub normals: Vec<[f32; 3]>,
    /// Whether the normals are face normals and no two triangles share a vertex. In an animated pose, such normals must
    /// be computed again from the posed triangles.
    pub is_flat: bool,
    /// Unit tangents with the handedness in w. The handedness is 0 where the texture coordinates do not vary. The list
    /// is not empty if the material needs tangents (for a normal map, a clearcoat normal map, or anisotropy) and the
    /// primitive has the required texture coordinates. Vertices at the seams of mirrored textures are duplicated.
    pub tangents: Vec<[f32; 4]>,
    /// Texture coordinate sets by index. A set that is missing in the file is an empty list.
    pub uvs: Vec<Vec<[f32; 2]>>,
    /// Linear vertex colours with alpha; empty if the file has none.
    pub colors: Vec<[f32; 4]>,
    /// Indices into the skin's joints, for the four influences with the largest weights. Empty if the primitive has no
    /// joints.
    pub joints: Vec<[u16; 4]>,
    /// Weights of `joints`, which add up to 1 for each vertex. Has the same length as `joints`.
    pub weights: Vec<[f32; 4]>,
    /// Morph targets. Their displacements are multiplied by the morph weights.
    pub morph_targets: Vec<MorphTarget>,
    /// Index into [`Model::materials`].
    pub material: usize,
}

/// The displacements of one morph target. Each list is either empty or as long as the primitive's positions.
#[derive(Clone, Debug, Default)]
pub struct MorphTarget {
    /// Displacements that are added to the positions.
    pub positions: Vec<[f32; 3]>,
    /// Displacements that are added to the normals.
    pub normals: Vec<[f32; 3]>,
    /// Displacements that are added to x, y, z of the tangents.
    pub tangents: Vec<[f32; 3]>,
}

/// How the alpha of a material is used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum AlphaMode {
    /// Alpha is ignored, and the surface is opaque.
    #[default]
    Opaque,
    /// The surface is opaque where alpha is at least `cutoff`, and invisible elsewhere.
    Mask {
        /// The alpha threshold.
        cutoff: f32,
    },
    /// Alpha is the opacity of the surface.
    Blend,
}

/// A reference to a texture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextureRef {
    /// Index into [`Model::textures`].
    pub texture: usize,
    /// Index into [`Primitive::uvs`]. A primitive without this set uses (0, 0).
    pub uv_set: usize,
    /// Transform of KHR_texture_transform, as the first two rows of a 3×3 matrix. With it, `u' = a·u + b·v + c` and
    /// `v' = d·u + e·v + f`.
    pub transform: Option<[f32; 6]>,
}

/// A material in the metallic-roughness model, with all supported extensions. Textures are multiplied by their factors.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// The render-time name, which the setting `materialEdits` refers to.
    pub name: String,
    /// Base colour and alpha, both linear.
    pub base_color: [f32; 4],
    /// Texture with the sRGB-encoded base colour and linear alpha.
    pub base_color_texture: Option<TextureRef>,
    /// Metalness: 0 for dielectrics, 1 for metals.
    pub metallic: f32,
    /// Roughness as authored; the GGX alpha is its square.
    pub perceptual_roughness: f32,
    /// Linear texture with the roughness in the green channel and the metalness in the blue channel.
    pub metallic_roughness_texture: Option<TextureRef>,
    /// Linear texture with tangent-space normals.
    pub normal_texture: Option<TextureRef>,
    /// Factor for the x and y components of the normal map.
    pub normal_scale: f32,
    /// Linear texture with the ambient occlusion in the red channel.
    pub occlusion_texture: Option<TextureRef>,
    /// Strength of the occlusion map.
    pub occlusion_strength: f32,
    /// Linear emitted colour, already multiplied by the factor of KHR_materials_emissive_strength.
    pub emissive: [f32; 3],
    /// Texture with the sRGB-encoded emitted colour.
    pub emissive_texture: Option<TextureRef>,
    /// How the alpha of the base colour is used.
    pub alpha_mode: AlphaMode,
    /// Whether back faces are drawn. Their normals are flipped.
    pub double_sided: bool,
    /// KHR_materials_unlit: whether the surface shows its base colour without any shading.
    pub unlit: bool,
    /// Index of refraction from KHR_materials_ior. The default is 1.5; the value 0 means infinite.
    pub ior: f32,
    /// Strength of the specular reflection from KHR_materials_specular.
    pub specular: f32,
    /// Linear texture with the strength of the specular reflection in the alpha channel.
    pub specular_texture: Option<TextureRef>,
    /// Linear colour of the specular reflection of dielectrics at normal incidence.
    pub specular_color: [f32; 3],
    /// Texture with the sRGB-encoded colour of the specular reflection of dielectrics.
    pub specular_color_texture: Option<TextureRef>,
    /// Parameters of KHR_materials_clearcoat; `None` without this extension.
    pub clearcoat: Option<Clearcoat>,
    /// Parameters of KHR_materials_sheen; `None` without this extension.
    pub sheen: Option<Sheen>,
    /// Parameters of KHR_materials_transmission; `None` without this extension.
    pub transmission: Option<Transmission>,
    /// Parameters of KHR_materials_volume; `None` without this extension.
    pub volume: Option<Volume>,
    /// KHR_materials_dispersion: 20 / Abbe number. The value 0 disables dispersion.
    pub dispersion: f32,
    /// Parameters of KHR_materials_iridescence; `None` without this extension.
    pub iridescence: Option<Iridescence>,
    /// Parameters of KHR_materials_anisotropy; `None` without this extension.
    pub anisotropy: Option<Anisotropy>,
    /// Parameters of KHR_materials_diffuse_transmission; `None` without this extension.
    pub diffuse_transmission: Option<DiffuseTransmission>,
    /// Factor for the light from the environment. It is always 1 after loading; settings can change it later.
    pub environment_strength: f32,
    /// Whether the surface lies on another surface like a sticker. Such a surface casts no shadow and writes no depth.
    /// It is always false after loading.
    pub overlay: bool,
}

impl Default for Material {
    fn default() -> Self {
        Self {
            name: String::new(),
            base_color: [1.0; 4],
            base_color_texture: None,
            metallic: 1.0,
            perceptual_roughness: 1.0,
            metallic_roughness_texture: None,
            normal_texture: None,
            normal_scale: 1.0,
            occlusion_texture: None,
            occlusion_strength: 1.0,
            emissive: [0.0; 3],
            emissive_texture: None,
            alpha_mode: AlphaMode::Opaque,
            double_sided: false,
            unlit: false,
            ior: 1.5,
            specular: 1.0,
            specular_texture: None,
            specular_color: [1.0; 3],
            specular_color_texture: None,
            clearcoat: None,
            sheen: None,
            transmission: None,
            volume: None,
            dispersion: 0.0,
            iridescence: None,
            anisotropy: None,
            diffuse_transmission: None,
            environment_strength: 1.0,
            overlay: false,
        }
    }
}

/// KHR_materials_clearcoat: a transparent coat over the surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clearcoat {
    /// Strength of the coat.
    pub factor: f32,
    /// Linear texture with the strength in the red channel.
    pub texture: Option<TextureRef>,
    /// Perceptual roughness of the coat.
    pub roughness: f32,
    /// Linear texture with the roughness in the green channel.
    pub roughness_texture: Option<TextureRef>,
    /// Normal map of the coat. Without a normal map, the coat uses the geometric normals.
    pub normal_texture: Option<TextureRef>,
    /// Factor for the x and y components of the coat's normal map.
    pub normal_scale: f32,
}

impl Default for Clearcoat {
    fn default() -> Self {
        Self {
            factor: 0.0,
            texture: None,
            roughness: 0.0,
            roughness_texture: None,
            normal_texture: None,
            normal_scale: 1.0,
        }
    }
}

/// KHR_materials_sheen: the reflection of fabric fibres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sheen {
    /// Linear colour of the sheen.
    pub color: [f32; 3],
    /// Texture with the sRGB-encoded colour of the sheen.
    pub color_texture: Option<TextureRef>,
    /// Perceptual roughness of the sheen.
    pub roughness: f32,
    /// Linear texture with the roughness in the alpha channel.
    pub roughness_texture: Option<TextureRef>,
}

/// KHR_materials_transmission: the surface transmits light like glass.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Transmission {
    /// Fraction of the light that is transmitted.
    pub factor: f32,
    /// Linear texture with the transmitted fraction in the red channel.
    pub texture: Option<TextureRef>,
}

/// KHR_materials_volume: the medium below the surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Volume {
    /// Thickness of the volume in object space. The value 0 means that the surface has no volume.
    pub thickness: f32,
    /// Linear texture with the thickness in the green channel.
    pub thickness_texture: Option<TextureRef>,
    /// Distance in world space after which white light has the colour `attenuation_color`. It is infinite if light is
    /// not attenuated.
    pub attenuation_distance: f32,
    /// Linear colour of white light after `attenuation_distance`.
    pub attenuation_color: [f32; 3],
}

impl Default for Volume {
    fn default() -> Self {
        Self {
            thickness: 0.0,
            thickness_texture: None,
            attenuation_distance: f32::INFINITY,
            attenuation_color: [1.0; 3],
        }
    }
}

/// KHR_materials_iridescence: a thin film over the surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iridescence {
    /// Strength of the iridescence.
    pub factor: f32,
    /// Linear texture with the strength in the red channel.
    pub texture: Option<TextureRef>,
    /// Index of refraction of the film.
    pub ior: f32,
    /// Film thickness in nanometres where the texture is 0.
    pub thickness_min: f32,
    /// Film thickness in nanometres where the texture is 1, or everywhere if there is no texture.
    pub thickness_max: f32,
    /// Linear texture with the film thickness in the green channel.
    pub thickness_texture: Option<TextureRef>,
}

impl Default for Iridescence {
    fn default() -> Self {
        Self {
            factor: 0.0,
            texture: None,
            ior: 1.3,
            thickness_min: 100.0,
            thickness_max: 400.0,
            thickness_texture: None,
        }
    }
}

/// KHR_materials_anisotropy: the reflection is stretched in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Anisotropy {
    /// Strength of the anisotropy, from 0 to 1.
    pub strength: f32,
    /// Rotation of the stretched direction in radians, counter-clockwise from the tangent.
    pub rotation: f32,
    /// Linear texture with the direction in the red and green channels and the strength in the blue channel.
    pub texture: Option<TextureRef>,
}

/// KHR_materials_diffuse_transmission: light passes through the surface and is scattered, as in leaves or paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiffuseTransmission {
    /// Fraction of the diffuse light that is transmitted.
    pub factor: f32,
    /// Linear texture with the transmitted fraction in the alpha channel.
    pub texture: Option<TextureRef>,
    /// Linear colour of the transmitted light.
    pub color: [f32; 3],
    /// Texture with the sRGB-encoded colour of the transmitted light.
    pub color_texture: Option<TextureRef>,
}

impl Default for DiffuseTransmission {
    fn default() -> Self {
        Self { factor: 0.0, texture: None, color: [1.0; 3], color_texture: None }
    }
}

/// An image with a sampler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Texture {
    /// Index into [`Model::images`].
    pub image: usize,
    /// The sampler of the texture.
    pub sampler: Sampler,
}

/// Wrapping and filtering of a texture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sampler {
    /// Wrapping of u outside 0..1.
    pub wrap_u: Wrap,
    /// Wrapping of v outside 0..1.
    pub wrap_v: Wrap,
    /// Whether magnified textures use the nearest texel instead of linear filtering.
    pub mag_nearest: bool,
    /// Whether minified textures use the nearest texel of a mip level instead of linear filtering.
    pub min_nearest: bool,
}

/// How texture coordinates outside 0..1 are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wrap {
    /// Repeats the texture.
    #[default]
    Repeat,
    /// Repeats the texture, mirrored every second time.
    Mirror,
    /// Uses the texels at the edge of the texture.
    Clamp,
}

/// A decoded image: R, G, B, A bytes as stored in the file, without applying a transfer function. Row 0 is at the top.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Image {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// The bytes R, G, B, A of all pixels.
    pub pixels: Vec<u8>,
    /// Width of the image in the file in pixels, before downscaling.
    pub source_width: u32,
    /// Height of the image in the file in pixels, before downscaling.
    pub source_height: u32,
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Image").field("width", &self.width).field("height", &self.height).finish_non_exhaustive()
    }
}

/// A skin: the joints that deform a mesh.
#[derive(Clone, Debug, Default)]
pub struct Skin {
    /// Node index of each joint.
    pub joints: Vec<usize>,
    /// Inverse bind matrices, which map mesh coordinates to joint coordinates. Has the same length as `joints`.
    pub inverse_bind: Vec<Mat4>,
}

/// An animation clip.
#[derive(Clone, Debug, Default)]
pub struct Animation {
    /// The name in the file, or a generated one.
    pub name: String,
    /// Duration in seconds: the time of the last key over all channels.
    pub duration: f32,
    /// The animated properties.
    pub channels: Vec<Channel>,
}

/// One animated property of one node. The key times are finite and never decrease.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Index into [`Model::nodes`].
    pub node: usize,
    /// The animated property.
    pub property: Property,
    /// How values between keys are computed.
    pub interpolation: Interpolation,
    /// Key times in seconds.
    pub times: Vec<f32>,
    /// Values of the keys. A key has three values for a translation or scale, four (x, y, z, w) for a rotation, and one
    /// per morph target for morph weights. For [`Interpolation::CubicSpline`], each key has an in-tangent, a value and
    /// an out-tangent, in this order.
    pub values: Vec<f32>,
}

/// The property that a channel animates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Property {
    /// Node translation.
    Translation,
    /// Node rotation.
    Rotation,
    /// Node scale.
    Scale,
    /// Morph weights.
    Weights,
}

/// How values between keys are computed (glTF 2.0, appendix C).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interpolation {
    /// The value is that of the preceding key.
    Step,
    /// Linear interpolation; for rotations, spherical linear interpolation.
    Linear,
    /// Interpolation by a cubic Hermite spline.
    CubicSpline,
}

/// A light of KHR_lights_punctual. It shines along the −Z axis of its node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Light {
    /// The kind of light.
    pub kind: LightKind,
    /// Linear colour of the light.
    pub color: [f32; 3],
    /// Intensity in candela for point lights and spotlights, in lux for directional lights.
    pub intensity: f32,
    /// Distance in metres beyond which the light may be ignored; `None` means no limit.
    pub range: Option<f32>,
}

/// The kinds of lights of KHR_lights_punctual.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LightKind {
    /// A directional light with parallel rays.
    Directional,
    /// A point light that shines in all directions.
    Point,
    /// A spotlight, which shines into a cone.
    Spot {
        /// Angle between the axis of the cone and the direction at which the intensity begins to decrease, in radians.
        inner_cone_angle: f32,
        /// Angle between the axis of the cone and the direction at which the intensity reaches 0, in radians.
        outer_cone_angle: f32,
    },
}
