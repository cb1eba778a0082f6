// Bind group 0: the values that all draws of a frame share. Rust counterpart: `gpu_types.rs`.

const PI: f32 = 3.14159265358979;
const INVERSE_PI: f32 = 1.0 / PI;

// A point light or spotlight. A vector with three components is followed by a scalar, so that both together have 16
// bytes.
struct PunctualLight {
    // Position in world space.
    position: vec3<f32>,
    // Distance at which the light has decreased to zero. 0 means that the light has no limit.
    range: f32,
    // Radiant intensity.
    intensity: vec3<f32>,
    // 1 for a spotlight, otherwise 0.
    is_spot: f32,
    // Unit vector of the direction of a spotlight.
    axis: vec3<f32>,
    // Cosines of the angles from the axis at which the light of a spotlight begins to decrease (`inner_cosine`) and at
    // which it has decreased to zero (`outer_cosine`).
    inner_cosine: f32,
    outer_cosine: f32,
}

struct Frame {
    clip_from_world: mat4x4<f32>,
    // Same as `clip_from_world`, but for the whole drawn region of the picture instead of the model's region.
    picture_clip_from_world: mat4x4<f32>,
    key_clip_from_world: mat4x4<f32>,
    sun_clip_from_world: mat4x4<f32>,
    // Position of the camera in world space.
    camera_position: vec3<f32>,
    // Overall scale of the model. `grow_origin` is the point that does not move when the scale changes.
    grow: f32,
    // Unit vector of the direction in which the camera looks.
    camera_axis: vec3<f32>,
    // The distance along the camera's axis is `distance_numerator / (depth_range - depth)`.
    distance_numerator: f32,
    grow_origin: vec3<f32>,
    // Factor for the specular reflections of the environment.
    gloss: f32,
    // Irradiance of the ambient light, which is the same from all directions.
    ambient_irradiance: vec3<f32>,
    last_specular_mip: f32,
    // Mean linear colour of the backdrop.
    backdrop_color: vec3<f32>,
    // 1 if clear glass shows the backdrop, 0 if clear glass shows the environment instead.
    glass_shows_backdrop: f32,
    // Minimum corner of the distance field. `field_cell` is the side length of the field's cells in world units.
    field_origin: vec3<f32>,
    field_cell: f32,
    // The inverse of the size of the distance field in world units. `has_field` is 1 if there is a distance field,
    // otherwise 0.
    field_scale: vec3<f32>,
    has_field: f32,
    // Position of the key light in world space. `key_outer_cosine` is the cosine of half the outer angle of the light's
    // cone.
    key_position: vec3<f32>,
    key_outer_cosine: f32,
    // Unit vector of the direction of the key light. `key_inner_cosine` is the cosine of half the angle at which the
    // light begins to decrease.
    key_axis: vec3<f32>,
    key_inner_cosine: f32,
    // Radiant intensity of the key light. `key_shadow_darkness` is the darkness of the light's shadow, 0..1.
    key_intensity: vec3<f32>,
    key_shadow_darkness: f32,
    // Unit vector towards the sun of the environment. `sun_angular_radius` is in radians.
    sun_to_light: vec3<f32>,
    sun_angular_radius: f32,
    sun_irradiance: vec3<f32>,
    unused_too: u32,
    // Values for the shadow maps of the key light and of the sun. `key_texel` and `sun_texel` are the size of a texel
    // as a fraction of the map. `key_normal_offset` and `sun_normal_offset` are the distance in world units by which a
    // point is moved along its normal before its depth is compared.
    key_texel: f32,
    key_normal_offset: f32,
    sun_texel: f32,
    sun_normal_offset: f32,
    // Width and height of the render target in pixels.
    target_size: vec2<f32>,
    // Distance of the far plane, divided by the distance between the near plane and the far plane; see
    // `distance_numerator`.
    depth_range: f32,
    // Size of a pixel at distance 1, in world units.
    pixel_size: f32,
    // Position of the first pixel of the model's region on its canvas.
    canvas_origin: vec2<u32>,
    grain_seed: u32,
    lights: array<PunctualLight, 16>,
}

@group(0) @binding(0) var<uniform> frame: Frame;
@group(0) @binding(1) var specular_map: texture_2d<f32>;
@group(0) @binding(2) var linear_sampler: sampler;
@group(0) @binding(3) var key_shadow_map: texture_depth_2d;
@group(0) @binding(4) var sun_shadow_map: texture_depth_2d;
@group(0) @binding(5) var shadow_sampler: sampler_comparison;
@group(0) @binding(6) var irradiance_map: texture_2d<f32>;
@group(0) @binding(7) var field_distances: texture_3d<f32>;
@group(0) @binding(8) var field_radiance: texture_3d<f32>;
#ifdef PACKED_SHADOWS
// Packed copies of the shadow maps (`pass/packed_shadow.wgsl`).
@group(0) @binding(9) var packed_key_map: texture_2d<f32>;
@group(0) @binding(10) var packed_sun_map: texture_2d<f32>;
@group(0) @binding(11) var nearest_sampler: sampler;
#endif
