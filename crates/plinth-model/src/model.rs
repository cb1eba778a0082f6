//! The decoded model: everything a renderer needs, nothing of the file's encoding.
//!
//! Conventions are glTF 2.0's: +Y up, right-handed, metres, counter-clockwise front faces, linear factors, texture
//! coordinates with v down. Every index in here is checked against the list it points into.

use glam::{Mat4, Quat, Vec3};

/// A whole decoded model.
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
    /// What was ignored or repaired, in words for the caller.
    pub warnings: Vec<String>,
}

/// One node of the scene graph.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// The render-time name (spaces become `_`, repeated names gain `_1`, `_2`), matched by `hiddenMeshNames`.
    pub name: String,
    /// Index of the parent, always smaller than this node's own.
    pub parent: Option<usize>,
    /// Pose relative to the parent, at rest.
    pub local: Transform,
    /// Index into [`Model::meshes`].
    pub mesh: Option<usize>,
    /// Index into [`Model::skins`].
    pub skin: Option<usize>,
    /// Index into [`Model::lights`].
    pub light: Option<usize>,
    /// Morph weights at rest: the node's own, or the mesh's.
    pub weights: Vec<f32>,
    /// EXT_mesh_gpu_instancing: the mesh is drawn once per entry, each applied before the node's own transform
    /// (`world * instance`). Empty: drawn once.
    pub instances: Vec<Transform>,
}

/// A local pose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transform {
    /// A matrix, parent from local. Not animated.
    Matrix(Mat4),
    /// Translation, rotation, scale, applied in the order scale, rotation, translation.
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
    /// Parent from local.
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
    /// The name in the file, or a made-up one.
    pub name: String,
    /// Its parts, one per material.
    pub primitives: Vec<Primitive>,
}

/// What the indices of a primitive make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Topology {
    /// Three indices a triangle; strips and fans are already taken apart.
    #[default]
    Triangles,
    /// Two indices a segment.
    Lines,
    /// One index a point.
    Points,
}

/// A piece of geometry with one material. All vertex lists that are present
/// have `positions.len()` entries.
#[derive(Clone, Debug, Default)]
pub struct Primitive {
    /// What the indices make.
    pub topology: Topology,
    /// Indices into the vertex lists, all in range.
    pub indices: Vec<u32>,
    /// Object-space positions, finite.
    pub positions: Vec<[f32; 3]>,
    /// Unit object-space normals. Always there for triangles (flat ones are made where the file has none, with the
    /// vertices split as glTF demands); empty for lines and points without.
    pub normals: Vec<[f32; 3]>,
    /// The normals are those of the triangles, which share no vertices: in another pose they follow the posed triangles.
    pub is_flat: bool,
    /// Unit tangents with handedness in w, 0 where the texture does not change over the surface. There whenever the
    /// material needs them (normal map, clearcoat normal map, anisotropy) and the texture coordinates that it reads
    /// exist; empty otherwise. A vertex where the texture is mirrored is there twice.
    pub tangents: Vec<[f32; 4]>,
    /// Texture coordinate sets, in order of their number; one that the file leaves out is empty.
    pub uvs: Vec<Vec<[f32; 2]>>,
    /// Linear vertex colours with alpha; empty where there are none.
    pub colors: Vec<[f32; 4]>,
    /// Indices into the skin's joints, the four strongest influences; empty where there are none.
    pub joints: Vec<[u16; 4]>,
    /// Their weights, summing to 1; as long as `joints`.
    pub weights: Vec<[f32; 4]>,
    /// Displacements that morph weights mix in.
    pub morph_targets: Vec<MorphTarget>,
    /// Index into [`Model::materials`].
    pub material: usize,
}

/// Displacements of one morph target; each list is empty or as long as the primitive's positions.
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
    /// Fully there where alpha is at least `cutoff`, not there elsewhere.
    Mask {
        /// The threshold.
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
    /// Which of the primitive's texture coordinate sets. A set that a primitive lacks reads as (0, 0).
    pub uv_set: usize,
    /// KHR_texture_transform as the first two rows of a 3×3 matrix: `u' = a·u + b·v + c`, `v' = d·u + e·v + f`.
    pub transform: Option<[f32; 6]>,
}

/// A material in metallic-roughness terms with every extension of the file. Factors multiply their textures.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// The render-time name.
    pub name: String,
    /// Linear colour and alpha.
    pub base_color: [f32; 4],
    /// sRGB colour, linear alpha.
    pub base_color_texture: Option<TextureRef>,
    /// 0 dielectric, 1 metal.
    pub metallic: f32,
    /// As authored; alpha roughness is its square.
    pub perceptual_roughness: f32,
    /// Linear: roughness in green, metallic in blue.
    pub metallic_roughness_texture: Option<TextureRef>,
    /// Linear tangent-space normals.
    pub normal_texture: Option<TextureRef>,
    /// Scale of the normal map's x and y.
    pub normal_scale: f32,
    /// Linear: occlusion in red.
    pub occlusion_texture: Option<TextureRef>,
    /// How much of the occlusion map applies.
    pub occlusion_strength: f32,
    /// Linear emitted colour, with KHR_materials_emissive_strength multiplied in.
    pub emissive: [f32; 3],
    /// sRGB.
    pub emissive_texture: Option<TextureRef>,
    /// How alpha is used.
    pub alpha_mode: AlphaMode,
    /// Back faces are drawn too, with their normals turned.
    pub double_sided: bool,
    /// KHR_materials_unlit.
    pub unlit: bool,
    /// KHR_materials_ior; 1.5 unless given; 0 means infinite.
    pub ior: f32,
    /// KHR_materials_specular: strength.
    pub specular: f32,
    /// Linear: strength in alpha.
    pub specular_texture: Option<TextureRef>,
    /// Linear colour of the dielectric reflection at normal incidence.
    pub specular_color: [f32; 3],
    /// sRGB.
    pub specular_color_texture: Option<TextureRef>,
    /// KHR_materials_clearcoat.
    pub clearcoat: Option<Clearcoat>,
    /// KHR_materials_sheen.
    pub sheen: Option<Sheen>,
    /// KHR_materials_transmission.
    pub transmission: Option<Transmission>,
    /// KHR_materials_volume.
    pub volume: Option<Volume>,
    /// KHR_materials_dispersion: 20 / Abbe number; 0 is none.
    pub dispersion: f32,
    /// KHR_materials_iridescence.
    pub iridescence: Option<Iridescence>,
    /// KHR_materials_anisotropy.
    pub anisotropy: Option<Anisotropy>,
    /// KHR_materials_diffuse_transmission.
    pub diffuse_transmission: Option<DiffuseTransmission>,
    /// Factor on the light that comes from the environment; files say 1.
    pub environment_strength: f32,
    /// It lies on another surface that it must not darken: no shadow, no depth of its own. Files never say so.
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
    /// The coat's own normal map; without one the coat follows the geometry.
    pub normal_texture: Option<TextureRef>,
    /// Scale of that map's x and y.
    pub normal_scale: f32,
}

/// KHR_materials_sheen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sheen {
    /// Linear colour.
    pub color: [f32; 3],
    /// sRGB.
    pub color_texture: Option<TextureRef>,
    /// Perceptual roughness.
    pub roughness: f32,
    /// Linear: roughness in alpha.
    pub roughness_texture: Option<TextureRef>,
}

/// KHR_materials_transmission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transmission {
    /// Share of light let through.
    pub factor: f32,
    /// Linear: share in red.
    pub texture: Option<TextureRef>,
}

/// KHR_materials_volume.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Volume {
    /// Thickness in object space; 0 is a thin wall.
    pub thickness: f32,
    /// Linear: thickness in green.
    pub thickness_texture: Option<TextureRef>,
    /// Distance in world space after which light has the attenuation colour; infinite: none.
    pub attenuation_distance: f32,
    /// Linear colour.
    pub attenuation_color: [f32; 3],
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
    /// Thickness in nanometres where the map is 0.
    pub thickness_min: f32,
    /// Thickness in nanometres where the map is 1 or absent.
    pub thickness_max: f32,
    /// Linear: thickness in green.
    pub thickness_texture: Option<TextureRef>,
}

/// KHR_materials_anisotropy.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// Share of the diffuse light that passes through.
    pub factor: f32,
    /// Linear: share in alpha.
    pub texture: Option<TextureRef>,
    /// Linear colour of the light that passes.
    pub color: [f32; 3],
    /// sRGB.
    pub color_texture: Option<TextureRef>,
}

/// An image with a sampler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Texture {
    /// Index into [`Model::images`].
    pub image: usize,
    /// How it is read.
    pub sampler: Sampler,
}

/// How a texture is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sampler {
    /// Outside of 0..1 in u.
    pub wrap_u: Wrap,
    /// Outside of 0..1 in v.
    pub wrap_v: Wrap,
    /// The file asks for nearest-neighbour magnification.
    pub mag_nearest: bool,
    /// The file asks for nearest-neighbour minification inside a mip level.
    pub min_nearest: bool,
}

/// What a texture shows outside of 0..1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wrap {
    /// Again from the start.
    #[default]
    Repeat,
    /// Again, mirrored.
    Mirror,
    /// The edge.
    Clamp,
}

/// A decoded image: R, G, B, A bytes as stored in the file (no transfer function applied), row 0 at the top.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Image {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// `width × height × 4` bytes.
    pub pixels: Vec<u8>,
    /// Width in the file, before any reduction.
    pub source_width: u32,
    /// Height in the file, before any reduction.
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
    /// Joint from mesh, at bind time; as long as `joints`.
    pub inverse_bind: Vec<Mat4>,
}

/// An animation clip.
#[derive(Clone, Debug, Default)]
pub struct Animation {
    /// Name in the file, or a made-up one.
    pub name: String,
    /// Time of the last key in seconds, over all channels.
    pub duration: f32,
    /// What moves.
    pub channels: Vec<Channel>,
}

/// One animated property of one node. Keys are finite and rise.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Index into [`Model::nodes`].
    pub node: usize,
    /// The property.
    pub property: Property,
    /// How values between keys come about.
    pub interpolation: Interpolation,
    /// Key times in seconds.
    pub times: Vec<f32>,
    /// Values: 3 a key (translation, scale), 4 (rotation, xyzw) or as many as morph targets (weights); for
    /// [`Interpolation::CubicSpline`] each key has in-tangent, value and out-tangent in this order.
    pub values: Vec<f32>,
}

/// What a channel moves.
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

/// glTF 2.0, Appendix C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interpolation {
    /// The value of the key before.
    Step,
    /// Straight, or spherical for rotations.
    Linear,
    /// Cubic Hermite.
    CubicSpline,
}

/// A KHR_lights_punctual light, shining along its node's −Z.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Light {
    /// What kind.
    pub kind: LightKind,
    /// Linear colour.
    pub color: [f32; 3],
    /// Candela (point, spot) or lux (directional).
    pub intensity: f32,
    /// Distance in metres beyond which it may be ignored.
    pub range: Option<f32>,
}

/// Kinds of punctual lights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LightKind {
    /// Parallel light.
    Directional,
    /// Light from a point to all sides.
    Point,
    /// Light from a point into a cone.
    Spot {
        /// Angle in radians at which the fall-off begins.
        inner_cone_angle: f32,
        /// Angle in radians at which it ends.
        outer_cone_angle: f32,
    },
}
