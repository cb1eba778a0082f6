//! The decoded model: the data that a renderer needs, independent of the file's encoding.
//!
//! Conventions are those of glTF 2.0: +Y up, right-handed, metres, counter-clockwise front faces, linear factors,
//! texture coordinates with v pointing down. Every index is checked against the list that it refers to.

use glam::{Mat4, Quat, Vec3};

/// A decoded model.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// The nodes of the default scene only, parents before children.
    pub nodes: Vec<Node>,
    /// Meshes, referred to by nodes.
    pub meshes: Vec<Mesh>,
    /// Materials. The last one is always glTF's default material; primitives without one refer to it.
    pub materials: Vec<Material>,
    /// Textures: an image with a sampler.
    pub textures: Vec<Texture>,
    /// Decoded images.
    pub images: Vec<Image>,
    /// Skins, referred to by nodes.
    pub skins: Vec<Skin>,
    /// Animation clips.
    pub animations: Vec<Animation>,
    /// KHR_lights_punctual lights, referred to by nodes.
    pub lights: Vec<Light>,
    /// Messages for the user about data that was ignored or repaired.
    pub warnings: Vec<String>,
}

/// One node of the scene graph.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// The render-time name: spaces are replaced by `_`, and repeated names get `_1`, `_2`. `hiddenMeshNames` is
    /// matched against it.
    pub name: String,
    /// Index of the parent; it is always smaller than this node's index.
    pub parent: Option<usize>,
    /// Transform relative to the parent, in the rest pose.
    pub local: Transform,
    /// Index into [`Model::meshes`].
    pub mesh: Option<usize>,
    /// Index into [`Model::skins`].
    pub skin: Option<usize>,
    /// Index into [`Model::lights`].
    pub light: Option<usize>,
    /// Morph weights in the rest pose: the node's own, or else those of its mesh.
    pub weights: Vec<f32>,
    /// EXT_mesh_gpu_instancing: the mesh is drawn once per entry, with the transform `world * instance`. If empty, the
    /// mesh is drawn once.
    pub instances: Vec<Transform>,
}

/// A local transform.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transform {
    /// A matrix (parent from local), which is not animated.
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
    /// Returns the matrix (parent from local).
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

/// The kind of elements that a primitive's indices describe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Topology {
    /// Triangles: three indices each. Strips and fans are converted to this form.
    #[default]
    Triangles,
    /// Line segments: two indices each.
    Lines,
    /// Points: one index each.
    Points,
}

/// A piece of geometry with one material. All vertex lists that are present
/// have `positions.len()` entries.
#[derive(Clone, Debug, Default)]
pub struct Primitive {
    /// The kind of elements.
    pub topology: Topology,
    /// Indices into the vertex lists.
    pub indices: Vec<u32>,
    /// Object-space positions; all values are finite.
    pub positions: Vec<[f32; 3]>,
    /// Unit object-space normals. Triangles always have them: where the file has none, flat normals are generated and
    /// the vertices are split, as glTF requires. Lines and points may have none; the list is then empty.
    pub normals: Vec<[f32; 3]>,
    /// Whether the normals are face normals, and triangles share no vertices. In another pose the normals have to be
    /// recomputed from the posed triangles.
    pub is_flat: bool,
    /// Unit tangents with the handedness in w; w is 0 where the texture does not vary over the surface. They exist
    /// whenever the material needs them (normal map, clearcoat normal map, anisotropy) and the required texture
    /// coordinates exist; otherwise the list is empty. Vertices at seams of a mirrored texture are duplicated.
    pub tangents: Vec<[f32; 4]>,
    /// Texture coordinate sets by index. A set that is missing in the file is empty.
    pub uvs: Vec<Vec<[f32; 2]>>,
    /// Linear vertex colours with alpha; empty if there are none.
    pub colors: Vec<[f32; 4]>,
    /// Indices into the skin's joints: the four strongest influences. Empty if the primitive is not skinned.
    pub joints: Vec<[u16; 4]>,
    /// Weights of `joints`, which add up to 1; as long as `joints`.
    pub weights: Vec<[f32; 4]>,
    /// Morph targets, whose displacements are scaled by the morph weights.
    pub morph_targets: Vec<MorphTarget>,
    /// Index into [`Model::materials`].
    pub material: usize,
}

/// The displacements of one morph target. Each list is empty or as long as the primitive's positions.
#[derive(Clone, Debug, Default)]
pub struct MorphTarget {
    /// Added to positions.
    pub positions: Vec<[f32; 3]>,
    /// Added to normals.
    pub normals: Vec<[f32; 3]>,
    /// Added to tangents (xyz).
    pub tangents: Vec<[f32; 3]>,
}

/// How alpha is used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum AlphaMode {
    /// Alpha is ignored.
    #[default]
    Opaque,
    /// Opaque where alpha is at least `cutoff`, invisible elsewhere.
    Mask {
        /// The alpha threshold.
        cutoff: f32,
    },
    /// Alpha is coverage.
    Blend,
}

/// A reference to a texture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextureRef {
    /// Index into [`Model::textures`].
    pub texture: usize,
    /// Index into [`Primitive::uvs`]. A primitive without this set uses (0, 0).
    pub uv_set: usize,
    /// KHR_texture_transform as the first two rows of a 3×3 matrix: `u' = a·u + b·v + c`, `v' = d·u + e·v + f`.
    pub transform: Option<[f32; 6]>,
}

/// A material in the metallic-roughness model, with all supported extensions. Textures are multiplied by their factors.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// The render-time name.
    pub name: String,
    /// Linear colour and alpha.
    pub base_color: [f32; 4],
    /// sRGB colour, linear alpha.
    pub base_color_texture: Option<TextureRef>,
    /// Metalness: 0 for dielectrics, 1 for metals.
    pub metallic: f32,
    /// Roughness as authored; the GGX alpha is its square.
    pub perceptual_roughness: f32,
    /// Linear: roughness in green, metallic in blue.
    pub metallic_roughness_texture: Option<TextureRef>,
    /// Linear tangent-space normals.
    pub normal_texture: Option<TextureRef>,
    /// Scale of the normal map's x and y.
    pub normal_scale: f32,
    /// Linear: ambient occlusion in red.
    pub occlusion_texture: Option<TextureRef>,
    /// Strength of the occlusion map.
    pub occlusion_strength: f32,
    /// Linear emitted colour, with KHR_materials_emissive_strength multiplied in.
    pub emissive: [f32; 3],
    /// Emitted colour, sRGB.
    pub emissive_texture: Option<TextureRef>,
    /// How alpha is used.
    pub alpha_mode: AlphaMode,
    /// Whether back faces are drawn, with flipped normals.
    pub double_sided: bool,
    /// KHR_materials_unlit.
    pub unlit: bool,
    /// KHR_materials_ior: index of refraction. The default is 1.5; 0 means infinite.
    pub ior: f32,
    /// KHR_materials_specular: strength.
    pub specular: f32,
    /// Linear: strength in alpha.
    pub specular_texture: Option<TextureRef>,
    /// Linear colour of the dielectric reflection at normal incidence.
    pub specular_color: [f32; 3],
    /// Colour of the dielectric reflection, sRGB.
    pub specular_color_texture: Option<TextureRef>,
    /// KHR_materials_clearcoat.
    pub clearcoat: Option<Clearcoat>,
    /// KHR_materials_sheen.
    pub sheen: Option<Sheen>,
    /// KHR_materials_transmission.
    pub transmission: Option<Transmission>,
    /// KHR_materials_volume.
    pub volume: Option<Volume>,
    /// KHR_materials_dispersion: 20 / Abbe number; 0 disables dispersion.
    pub dispersion: f32,
    /// KHR_materials_iridescence.
    pub iridescence: Option<Iridescence>,
    /// KHR_materials_anisotropy.
    pub anisotropy: Option<Anisotropy>,
    /// KHR_materials_diffuse_transmission.
    pub diffuse_transmission: Option<DiffuseTransmission>,
    /// Factor for light from the environment. Always 1 after loading; the renderer changes it.
    pub environment_strength: f32,
    /// Whether the surface is a decal on another one: it casts no shadow and writes no depth. Always false after
    /// loading.
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

/// KHR_materials_clearcoat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clearcoat {
    /// Strength.
    pub factor: f32,
    /// Linear: strength in red.
    pub texture: Option<TextureRef>,
    /// Perceptual roughness of the coat.
    pub roughness: f32,
    /// Linear: roughness in green.
    pub roughness_texture: Option<TextureRef>,
    /// Normal map of the coat. Without one, the coat uses the geometric normals.
    pub normal_texture: Option<TextureRef>,
    /// Scale of the x and y components of the coat's normal map.
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

/// KHR_materials_sheen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sheen {
    /// Linear colour.
    pub color: [f32; 3],
    /// Sheen colour, sRGB.
    pub color_texture: Option<TextureRef>,
    /// Perceptual roughness.
    pub roughness: f32,
    /// Linear: roughness in alpha.
    pub roughness_texture: Option<TextureRef>,
}

/// KHR_materials_transmission.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Transmission {
    /// Fraction of light that is transmitted.
    pub factor: f32,
    /// Linear: transmitted fraction in red.
    pub texture: Option<TextureRef>,
}

/// KHR_materials_volume.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Volume {
    /// Thickness in object space; 0 means thin-walled.
    pub thickness: f32,
    /// Linear: thickness in green.
    pub thickness_texture: Option<TextureRef>,
    /// Distance in world space after which white light has the attenuation colour; infinite if there is no attenuation.
    pub attenuation_distance: f32,
    /// Linear colour.
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

/// KHR_materials_iridescence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iridescence {
    /// Strength.
    pub factor: f32,
    /// Linear: strength in red.
    pub texture: Option<TextureRef>,
    /// Index of refraction of the film.
    pub ior: f32,
    /// Film thickness in nanometres where the map is 0.
    pub thickness_min: f32,
    /// Film thickness in nanometres where the map is 1, or if there is no map.
    pub thickness_max: f32,
    /// Linear: thickness in green.
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

/// KHR_materials_anisotropy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Anisotropy {
    /// Strength, 0..=1.
    pub strength: f32,
    /// Rotation in radians, counter-clockwise from the tangent.
    pub rotation: f32,
    /// Linear: direction in red and green, strength in blue.
    pub texture: Option<TextureRef>,
}

/// KHR_materials_diffuse_transmission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiffuseTransmission {
    /// Fraction of the diffuse light that is transmitted.
    pub factor: f32,
    /// Linear: transmitted fraction in alpha.
    pub texture: Option<TextureRef>,
    /// Linear colour of the transmitted light.
    pub color: [f32; 3],
    /// Colour of the transmitted light, sRGB.
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
    /// Whether magnification uses the nearest texel.
    pub mag_nearest: bool,
    /// Whether minification uses the nearest texel within a mip level.
    pub min_nearest: bool,
}

/// Wrapping of texture coordinates outside 0..1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wrap {
    /// Repeats the texture.
    #[default]
    Repeat,
    /// Repeats the texture, mirrored every second time.
    Mirror,
    /// Extends the edge texels.
    Clamp,
}

/// A decoded image: R, G, B, A bytes as stored in the file (no transfer function applied), row 0 at the top.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Image {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// `width × height × 4` bytes.
    pub pixels: Vec<u8>,
    /// Width in the file in pixels, before downscaling.
    pub source_width: u32,
    /// Height in the file in pixels, before downscaling.
    pub source_height: u32,
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Image").field("width", &self.width).field("height", &self.height).finish_non_exhaustive()
    }
}

/// A skin.
#[derive(Clone, Debug, Default)]
pub struct Skin {
    /// Node index of each joint.
    pub joints: Vec<usize>,
    /// Inverse bind matrices (joint from mesh); as long as `joints`.
    pub inverse_bind: Vec<Mat4>,
}

/// An animation clip.
#[derive(Clone, Debug, Default)]
pub struct Animation {
    /// The name in the file, or a generated one.
    pub name: String,
    /// Time of the last key in seconds, over all channels.
    pub duration: f32,
    /// The animated properties.
    pub channels: Vec<Channel>,
}

/// One animated property of one node. Key times are finite and never decrease.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Index into [`Model::nodes`].
    pub node: usize,
    /// The animated property.
    pub property: Property,
    /// Interpolation between keys.
    pub interpolation: Interpolation,
    /// Key times in seconds.
    pub times: Vec<f32>,
    /// Values: three per key for translation and scale, four (xyzw) for rotation, one per morph target for weights. For
    /// [`Interpolation::CubicSpline`] each key has an in-tangent, a value and an out-tangent, in this order.
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

/// Interpolation between keys (glTF 2.0, appendix C).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interpolation {
    /// The value of the preceding key.
    Step,
    /// Linear interpolation; spherical for rotations.
    Linear,
    /// Cubic Hermite spline.
    CubicSpline,
}

/// A KHR_lights_punctual light. It shines along its node's −Z axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Light {
    /// The kind of light.
    pub kind: LightKind,
    /// Linear attenuation colour.
    pub color: [f32; 3],
    /// Candela (point, spot) or lux (directional).
    pub intensity: f32,
    /// Distance in metres beyond which the light may be ignored.
    pub range: Option<f32>,
}

/// Kinds of punctual lights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LightKind {
    /// A directional light with parallel rays.
    Directional,
    /// A point light that shines in all directions.
    Point,
    /// A point light that shines into a cone.
    Spot {
        /// Angle from the axis in radians at which the fall-off begins.
        inner_cone_angle: f32,
        /// Angle from the axis in radians at which the fall-off ends.
        outer_cone_angle: f32,
    },
}
