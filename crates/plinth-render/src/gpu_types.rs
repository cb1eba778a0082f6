//! The Rust counterparts of the structs in `shaders/types`. They are `#[repr(C)]`.

use bytemuck::{Pod, Zeroable};
use glam::{Vec2, Vec3};

/// Maximum number of point lights and spotlights.
pub(crate) const MAX_PUNCTUAL_LIGHTS: usize = 16;
/// Number of texture slots of a material.
pub(crate) const SLOT_COUNT: usize = plinth_model::TextureSlot::ALL.len();

/// Counterpart of the WGSL struct `PunctualLight`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct PunctualLight {
    pub(crate) position: Vec3,
    pub(crate) range: f32,
    pub(crate) intensity: Vec3,
    pub(crate) is_spot: f32,
    pub(crate) axis: Vec3,
    pub(crate) inner_cosine: f32,
    pub(crate) outer_cosine: f32,
    pub(crate) unused: [u32; 3],
}

/// Counterpart of the WGSL struct `Frame`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct Frame {
    pub(crate) clip_from_world: [[f32; 4]; 4],
    pub(crate) picture_clip_from_world: [[f32; 4]; 4],
    pub(crate) key_clip_from_world: [[f32; 4]; 4],
    pub(crate) sun_clip_from_world: [[f32; 4]; 4],
    pub(crate) camera_position: Vec3,
    pub(crate) grow: f32,
    pub(crate) camera_axis: Vec3,
    pub(crate) distance_numerator: f32,
    pub(crate) grow_origin: Vec3,
    pub(crate) gloss: f32,
    pub(crate) ambient_irradiance: Vec3,
    pub(crate) last_specular_mip: f32,
    pub(crate) backdrop_color: Vec3,
    pub(crate) glass_shows_backdrop: f32,
    pub(crate) field_origin: Vec3,
    pub(crate) field_cell: f32,
    pub(crate) field_extent: Vec3,
    pub(crate) has_field: f32,
    pub(crate) key_position: Vec3,
    pub(crate) key_outer_cosine: f32,
    pub(crate) key_axis: Vec3,
    pub(crate) key_inner_cosine: f32,
    pub(crate) key_intensity: Vec3,
    pub(crate) key_shadow_darkness: f32,
    pub(crate) sun_to_light: Vec3,
    pub(crate) sun_angular_radius: f32,
    pub(crate) sun_irradiance: Vec3,
    pub(crate) unused_too: u32,
    pub(crate) key_texel: f32,
    pub(crate) key_normal_offset: f32,
    pub(crate) sun_texel: f32,
    pub(crate) sun_normal_offset: f32,
    pub(crate) target_size: [f32; 2],
    pub(crate) depth_range: f32,
    pub(crate) pixel_size: f32,
    pub(crate) canvas_origin: [u32; 2],
    pub(crate) grain_seed: u32,
    pub(crate) unused: u32,
    pub(crate) lights: [PunctualLight; MAX_PUNCTUAL_LIGHTS],
}

/// Counterpart of the WGSL struct `Material`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct Material {
    pub(crate) base_color: [f32; 4],
    pub(crate) emissive: [f32; 3],
    pub(crate) alpha_cutoff: f32,
    pub(crate) metallic: f32,
    pub(crate) roughness: f32,
    pub(crate) normal_scale: f32,
    pub(crate) occlusion_strength: f32,
    pub(crate) specular_color: [f32; 3],
    pub(crate) specular_factor: f32,
    pub(crate) dielectric_f0: f32,
    pub(crate) coat: f32,
    pub(crate) coat_roughness: f32,
    pub(crate) coat_normal_scale: f32,
    pub(crate) sheen_color: [f32; 3],
    pub(crate) sheen_roughness: f32,
    pub(crate) transmission: f32,
    pub(crate) thickness: f32,
    pub(crate) ior: f32,
    pub(crate) dispersion: f32,
    pub(crate) absorption: [f32; 3],
    pub(crate) iridescence: f32,
    pub(crate) film_thickness: [f32; 2],
    pub(crate) film_ior: f32,
    pub(crate) anisotropy: f32,
    pub(crate) anisotropy_turn: [f32; 2],
    pub(crate) environment_factor: f32,
    pub(crate) diffuse_transmission: f32,
    pub(crate) diffuse_transmission_color: [f32; 3],
    pub(crate) unused: u32,
    pub(crate) uv_rows: [[f32; 4]; 2 * SLOT_COUNT],
}

/// Counterpart of the WGSL struct `Floor`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct Floor {
    pub(crate) center: Vec3,
    pub(crate) edge: f32,
    pub(crate) half_extent: Vec2,
    pub(crate) lamp_size: f32,
    pub(crate) key_darkness: f32,
    pub(crate) ambient_darkness: f32,
    pub(crate) unused: [u32; 3],
}

/// Counterpart of the WGSL struct `Lens`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct Lens {
    pub(crate) aperture: f32,
    pub(crate) focus: f32,
    pub(crate) pixels_per_unit: f32,
    pub(crate) widest_blur: f32,
    pub(crate) part_origin: [f32; 2],
    pub(crate) part_size: [f32; 2],
}

/// Counterpart of the WGSL struct `Reflection`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct Reflection {
    pub(crate) height_from_clip: [f32; 4],
    pub(crate) divisor_from_clip: [f32; 4],
    pub(crate) strength: f32,
    pub(crate) fade_height: f32,
    pub(crate) blur: f32,
    pub(crate) floor_height: f32,
    pub(crate) end: [f32; 2],
    pub(crate) unused: [u32; 2],
}

/// Counterpart of the WGSL struct `Surroundings`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct Surroundings {
    pub(crate) corner: Vec3,
    pub(crate) opacity: f32,
    pub(crate) right: Vec3,
    pub(crate) has_dome: f32,
    pub(crate) down: Vec3,
    pub(crate) ground_height: f32,
    pub(crate) camera_position: Vec3,
    pub(crate) dome_radius: f32,
    pub(crate) gain: Vec3,
    pub(crate) noise: f32,
    pub(crate) eye: Vec3,
    pub(crate) unused: u32,
    pub(crate) turn: Vec2,
    pub(crate) unused_too: [u32; 2],
}

/// The members of `Batch` that describe how points and lines look.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct SpriteLook {
    /// 1 if the vertices have normals, otherwise 0.
    pub(crate) has_normals: f32,
    /// Radius in world units. For lines, it is only used in shadows.
    pub(crate) radius: f32,
    /// Minimum radius in pixels, followed by the maximum radius.
    pub(crate) least_pixels: f32,
    pub(crate) most_pixels: f32,
}

/// Counterpart of the WGSL struct `Batch`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct Batch {
    pub(crate) first_triangle: u32,
    pub(crate) number: u32,
    pub(crate) surface: u32,
    pub(crate) sprites: SpriteLook,
}

/// The vertex attributes that change with the pose (vertex stream 0).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct PoseVertex {
    pub(crate) position: [f32; 3],
    /// Normal as signed normalised integers.
    pub(crate) normal: [i16; 4],
    /// Tangent as signed normalised integers; w is the handedness.
    pub(crate) tangent: [i16; 4],
}

/// The vertex attributes that do not change (vertex stream 1).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct SurfaceVertex {
    pub(crate) uv0: [f32; 2],
    pub(crate) uv1: [f32; 2],
    /// Linear colour as unsigned normalised integers.
    pub(crate) color: [u16; 4],
}
