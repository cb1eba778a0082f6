//! `#[repr(C)]` twins of the structs in `shaders/types`.

use bytemuck::{Pod, Zeroable};

/// Most punctual lights that are drawn.
pub(crate) const MAX_PUNCTUAL_LIGHTS: usize = 16;
/// Texture slots of a material.
pub(crate) const SLOT_COUNT: usize = crate::shader::material_source::Slot::ALL.len();

/// Twin of `PunctualLight`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct PunctualLight {
    pub(crate) place: [f32; 4],
    pub(crate) color: [f32; 4],
    pub(crate) axis: [f32; 4],
    pub(crate) cone: [f32; 4],
}

/// Twin of `Frame`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct Frame {
    pub(crate) clip_from_world: [[f32; 4]; 4],
    pub(crate) picture_clip_from_world: [[f32; 4]; 4],
    pub(crate) key_clip_from_world: [[f32; 4]; 4],
    pub(crate) sun_clip_from_world: [[f32; 4]; 4],
    pub(crate) camera: [f32; 4],
    pub(crate) camera_axis: [f32; 4],
    pub(crate) grow_origin: [f32; 4],
    pub(crate) ambient: [f32; 4],
    pub(crate) backdrop: [f32; 4],
    pub(crate) field_origin: [f32; 4],
    pub(crate) field_extent: [f32; 4],
    pub(crate) key_position: [f32; 4],
    pub(crate) key_axis: [f32; 4],
    pub(crate) key_intensity: [f32; 4],
    pub(crate) sun_to_light: [f32; 4],
    pub(crate) sun_irradiance: [f32; 4],
    pub(crate) shadow: [f32; 4],
    pub(crate) counts: [u32; 4],
    pub(crate) target_size: [f32; 4],
    pub(crate) lights: [PunctualLight; MAX_PUNCTUAL_LIGHTS],
}

/// Twin of `Material`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct Material {
    pub(crate) base_color: [f32; 4],
    pub(crate) emissive: [f32; 4],
    pub(crate) surface: [f32; 4],
    pub(crate) specular: [f32; 4],
    pub(crate) coat: [f32; 4],
    pub(crate) sheen: [f32; 4],
    pub(crate) transmission: [f32; 4],
    pub(crate) absorption: [f32; 4],
    pub(crate) iridescence: [f32; 4],
    pub(crate) anisotropy: [f32; 4],
    pub(crate) diffuse_transmission: [f32; 4],
    pub(crate) uv_rows: [[f32; 4]; 2 * SLOT_COUNT],
}

/// Twin of `Floor`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct Floor {
    pub(crate) place: [f32; 4],
    pub(crate) extent: [f32; 4],
    pub(crate) look: [f32; 4],
}

/// Twin of `Lens`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct Lens {
    pub(crate) look: [f32; 4],
    pub(crate) part: [f32; 4],
}

/// Twin of `Reflection`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct Reflection {
    pub(crate) height_from_clip: [f32; 4],
    pub(crate) divisor_from_clip: [f32; 4],
    pub(crate) look: [f32; 4],
    pub(crate) place: [f32; 4],
}

/// Twin of `Surroundings`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct Surroundings {
    pub(crate) corner: [f32; 4],
    pub(crate) right: [f32; 4],
    pub(crate) down: [f32; 4],
    pub(crate) camera: [f32; 4],
    pub(crate) gain: [f32; 4],
    pub(crate) turn: [f32; 4],
    pub(crate) eye: [f32; 4],
}

/// Twin of `Batch`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct Batch {
    pub(crate) first_triangle: u32,
    pub(crate) number: u32,
    pub(crate) surface: u32,
    pub(crate) unused: u32,
    pub(crate) sprite: [f32; 4],
}

/// Vertex stream 0: what changes with the pose.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct PoseVertex {
    pub(crate) position: [f32; 3],
    /// Signed normalised.
    pub(crate) normal: [i16; 4],
    /// Signed normalised; w is the handedness.
    pub(crate) tangent: [i16; 4],
}

/// Vertex stream 1: what stays.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct SurfaceVertex {
    pub(crate) uv0: [f32; 2],
    pub(crate) uv1: [f32; 2],
    /// Unsigned normalised, linear.
    pub(crate) color: [u16; 4],
}
