//! The Rust counterparts of the structs in `shaders/types`. All of these structs are `#[repr(C)]`.

use bytemuck::{Pod, Zeroable};
use glam::{Vec2, Vec3};
use plinth_scene::MAX_POINT_LIGHTS;

use crate::upload::octahedral::{from_octahedral, octahedral};

/// Number of texture slots of a material.
pub(crate) const SLOT_COUNT: usize = plinth_model::TextureSlot::ALL.len();

/// Declares uniform structs. `MEMBERS` lists the names and offsets of their members, which a test compares with the
/// shaders.
macro_rules! uniforms {
    ($($(#[$attribute:meta])* $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$attribute])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Pod, Zeroable)]
        pub(crate) struct $name {
            $($(#[$doc])* pub(crate) $field: $type,)*
        }

        #[cfg(test)]
        impl $name {
            pub(crate) const MEMBERS: &[(&str, usize)] =
                &[$((stringify!($field), std::mem::offset_of!($name, $field))),*];
        }
    )*};
}

uniforms! {
    /// Counterpart of the WGSL struct `PunctualLight`.
    #[derive(Default)]
    PunctualLight {
        position: Vec3,
        range: f32,
        intensity: Vec3,
        is_spot: f32,
        axis: Vec3,
        inner_cosine: f32,
        outer_cosine: f32,
        unused: [u32; 3],
    }

    /// Counterpart of the WGSL struct `Frame`.
    #[derive(Default)]
    Frame {
        clip_from_world: [[f32; 4]; 4],
        picture_clip_from_world: [[f32; 4]; 4],
        key_clip_from_world: [[f32; 4]; 4],
        sun_clip_from_world: [[f32; 4]; 4],
        camera_position: Vec3,
        grow: f32,
        camera_axis: Vec3,
        distance_numerator: f32,
        grow_origin: Vec3,
        gloss: f32,
        ambient_irradiance: Vec3,
        last_specular_mip: f32,
        backdrop_color: Vec3,
        glass_shows_backdrop: f32,
        field_origin: Vec3,
        field_cell: f32,
        field_scale: Vec3,
        has_field: f32,
        key_position: Vec3,
        key_outer_cosine: f32,
        key_axis: Vec3,
        key_inner_cosine: f32,
        key_intensity: Vec3,
        key_shadow_darkness: f32,
        sun_to_light: Vec3,
        sun_angular_radius: f32,
        sun_irradiance: Vec3,
        unused_too: u32,
        key_texel: f32,
        key_normal_offset: f32,
        sun_texel: f32,
        sun_normal_offset: f32,
        target_size: [f32; 2],
        depth_range: f32,
        pixel_size: f32,
        canvas_origin: [u32; 2],
        grain_seed: u32,
        unused: u32,
        lights: [PunctualLight; MAX_POINT_LIGHTS],
    }

    /// Counterpart of the WGSL struct `Material`.
    Material {
        base_color: [f32; 4],
        emissive: [f32; 3],
        alpha_cutoff: f32,
        metallic: f32,
        roughness: f32,
        normal_scale: f32,
        occlusion_strength: f32,
        specular_color: [f32; 3],
        specular_factor: f32,
        dielectric_f0: f32,
        coat: f32,
        coat_roughness: f32,
        coat_normal_scale: f32,
        sheen_color: [f32; 3],
        sheen_roughness: f32,
        transmission: f32,
        thickness: f32,
        ior: f32,
        dispersion: f32,
        absorption: [f32; 3],
        iridescence: f32,
        film_thickness: [f32; 2],
        film_ior: f32,
        anisotropy: f32,
        anisotropy_turn: [f32; 2],
        environment_factor: f32,
        diffuse_transmission: f32,
        diffuse_transmission_color: [f32; 3],
        unused: u32,
        uv_rows: [[f32; 4]; 2 * SLOT_COUNT],
    }

    /// Counterpart of the WGSL struct `Floor`.
    #[derive(Default)]
    Floor {
        center: Vec3,
        edge: f32,
        half_extent: Vec2,
        light_size: f32,
        key_darkness: f32,
        ambient_darkness: f32,
        sun_share: f32,
        unused: [u32; 2],
    }

    /// Counterpart of the WGSL struct `Lens`.
    #[derive(Default)]
    Lens {
        aperture: f32,
        focus: f32,
        pixels_per_unit: f32,
        widest_blur: f32,
        part_origin: [f32; 2],
        part_size: [f32; 2],
    }

    /// Counterpart of the WGSL struct `Reflection`.
    #[derive(Default)]
    Reflection {
        height_from_clip: [f32; 4],
        divisor_from_clip: [f32; 4],
        strength: f32,
        fade_height: f32,
        blur: f32,
        widest_blur: f32,
        floor_height: f32,
        unused: u32,
        end: [f32; 2],
    }

    /// Counterpart of the WGSL struct `PoseCounts`.
    PoseCounts {
        vertices: u32,
        numbered: u32,
        triangles: u32,
        first_word: u32,
    }

    /// Counterpart of the WGSL struct `RestVertex`.
    #[derive(Default)]
    RestVertex {
        position: [f32; 3],
        piece: u32,
        normal: [f32; 3],
        handedness: f32,
        tangent: [f32; 3],
        number: u32,
        weights: [f32; 4],
        joints: [u16; 4],
        uv0: [f32; 2],
    }

    /// Counterpart of the WGSL struct `PosedPiece`.
    #[derive(Default)]
    PosedPiece {
        first_transform: u32,
        joints: u32,
        first_displacement: u32,
        vertices: u32,
        first_weight: u32,
        targets: u32,
        flip: f32,
        is_flat: u32,
        has_tangents: u32,
    }

    /// Counterpart of the WGSL struct `LightMix`.
    LightMix {
        count: u32,
        share: f32,
    }

    /// Counterpart of the WGSL struct `SortedTriangles`.
    SortedTriangles {
        triangles: u32,
        keys: u32,
        unused: [u32; 2],
        forward: Vec3,
        unused_end: u32,
    }

    /// Counterpart of the WGSL struct `SortingStep`.
    #[derive(PartialEq, Eq)]
    SortingStep {
        /// Length of the sequences that are merged.
        length: u32,
        /// Distance of the keys that are compared. If it is smaller than a block, so are those of all following steps of the
        /// same length, which one dispatch does together.
        stride: u32,
    }

    /// Counterpart of the WGSL struct `Surroundings`.
    #[derive(Default)]
    Surroundings {
        corner: Vec3,
        opacity: f32,
        right: Vec3,
        has_dome: f32,
        down: Vec3,
        ground_height: f32,
        camera_position: Vec3,
        dome_radius: f32,
        gain: Vec3,
        noise: f32,
        eye: Vec3,
        unused: u32,
        turn: Vec2,
        unused_too: [u32; 2],
    }

    /// The members of `Pool` that describe how points and lines look.
    #[derive(Default)]
    SpriteLook {
        /// 1 if the vertices have normals, otherwise 0.
        has_normals: f32,
        /// Radius in world units. For lines, the radius is used only in shadows.
        radius: f32,
        /// Minimum radius in pixels. `most_pixels` is the maximum radius.
        least_pixels: f32,
        most_pixels: f32,
    }

    /// Counterpart of the WGSL struct `Pool`.
    #[derive(Default)]
    Pool {
        first_triangle: u32,
        surface: u32,
        sprites: SpriteLook,
    }
}

/// The vertex attributes that change with the pose (vertex stream 0).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct PoseVertex {
    pub(crate) position: [f32; 3],
    /// Octahedral coordinates of the normal as signed normalised integers.
    pub(crate) normal: [i16; 2],
    /// Octahedral coordinates of the tangent and its handedness as signed normalised integers. The last number is
    /// unused.
    pub(crate) tangent: [i16; 4],
    /// A copy of the first texture coordinates. The copy fills the vertex up to eight words, because shaders read four
    /// words at a time.
    pub(crate) uv0: [f32; 2],
}

impl PoseVertex {
    /// Returns a vertex. A handedness of 0 means that the surface has no tangents.
    pub(crate) fn new(position: Vec3, normal: Vec3, tangent: Vec3, handedness: f32, uv0: [f32; 2]) -> Self {
        let [u, v] = octahedral(tangent).to_array().map(snorm);
        Self {
            position: position.to_array(),
            normal: octahedral(normal).to_array().map(snorm),
            tangent: [u, v, snorm(handedness), 0],
            uv0,
        }
    }

    /// Returns the unit normal.
    pub(crate) fn unit_normal(&self) -> Vec3 {
        from_octahedral(Vec2::from_array(self.normal.map(|part| f32::from(part) / SNORM_ONE)))
    }
}

/// The signed normalised integer that stands for 1.
const SNORM_ONE: f32 = i16::MAX as f32;

fn snorm(x: f32) -> i16 {
    rounded(x.clamp(-1.0, 1.0) * SNORM_ONE) as i16
}

/// Returns the nearest integer, like `f32::round`, which calls the C library if the compiler may not use SSE 4.1.
#[inline]
pub(crate) fn rounded(x: f32) -> i32 {
    let whole = x as i32;
    let rest = x - whole as f32;
    // There are no branches, because processors cannot predict which numbers are rounded up.
    whole.saturating_add(i32::from(rest >= 0.5)).saturating_sub(i32::from(rest <= -0.5))
}

/// The data of a batch that the vertex shader of shading reads, from a vertex stream with one element per instance.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct ShadedBatch {
    /// The region in which the batch can be visible, in normalised device coordinates: left, top, right, bottom.
    pub(crate) edges: [f32; 4],
    /// The number of the batch.
    pub(crate) number: u32,
    /// The index of the batch's material among the materials that share a bind group.
    pub(crate) material: u32,
    /// 1 if the second surfaces of the batch are shaded only in tiles with edges, 0 if they are shaded in the whole
    /// region.
    pub(crate) tiled: u32,
    pub(crate) unused: u32,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_like_the_standard_library_does() {
        for x in [0.0, 0.499_999_97, 0.5, 1.5, 2.499_999_8, 511.5, 8_388_607.5, 1e30, f32::NAN] {
            assert_eq!((rounded(x), rounded(-x)), (x.round() as i32, (-x).round() as i32), "{x}");
        }
    }

    #[test]
    fn shaders_agree_on_the_integer_that_stands_for_one() {
        let text = include_str!("../shaders/lib/octahedral.wgsl");
        assert!(text.contains(&format!("from_scaled_octahedral(vec2<f32>(e), {SNORM_ONE:.1});")));
    }
}
