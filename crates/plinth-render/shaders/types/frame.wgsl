// Group 0: values shared by all draws of a frame. Rust counterpart: `gpu_types.rs`.

const PI: f32 = 3.14159265358979;

// A point or spot light. Members with three numbers are followed by one with one number, which fills their 16 bytes.
struct PunctualLight {
    // World position.
    position: vec3<f32>,
    // Distance at which the light has faded to zero; 0 for none.
    range: f32,
    // Radiant intensity.
    intensity: vec3<f32>,
    // 1 for a spot, 0 otherwise.
    is_spot: f32,
    // Unit direction in which a spot shines.
    axis: vec3<f32>,
    // Cosines of the half angles at which a spot begins to fade and has faded out.
    inner_cosine: f32,
    outer_cosine: f32,
}

struct Frame {
    clip_from_world: mat4x4<f32>,
    // The same for the whole picture instead of the model's region.
    picture_clip_from_world: mat4x4<f32>,
    key_clip_from_world: mat4x4<f32>,
    sun_clip_from_world: mat4x4<f32>,
    // World position of the camera.
    camera_position: vec3<f32>,
    // Overall scale of the model, and (below) the point that does not move.
    grow: f32,
    // Unit direction in which the camera looks.
    camera_axis: vec3<f32>,
    // The distance along that direction is `distance_numerator / (depth_range - depth)`.
    distance_numerator: f32,
    grow_origin: vec3<f32>,
    // Factor on specular reflections of the environment.
    gloss: f32,
    // Irradiance of the uniform ambient light.
    ambient_irradiance: vec3<f32>,
    last_specular_mip: f32,
    // Linear.
    backdrop_color: vec3<f32>,
    // 1 if clear glass shows the backdrop, 0 if it shows the environment.
    glass_shows_backdrop: f32,
    // Corner of the distance field, and the side of its cells in world units.
    field_origin: vec3<f32>,
    field_cell: f32,
    // Size of the distance field in world units; 1 if there is one.
    field_extent: vec3<f32>,
    has_field: f32,
    // World position of the key light; cosine of the outer half angle of its cone.
    key_position: vec3<f32>,
    key_outer_cosine: f32,
    // Unit direction in which it shines; cosine of the half angle at which it begins to fade.
    key_axis: vec3<f32>,
    key_inner_cosine: f32,
    // Radiant intensity; darkness of its shadow, 0..1.
    key_intensity: vec3<f32>,
    key_shadow_darkness: f32,
    // Unit vector to the environment's sun; its angular radius in radians.
    sun_to_light: vec3<f32>,
    sun_angular_radius: f32,
    sun_irradiance: vec3<f32>,
    unused_too: u32,
    // For the shadow maps of key light and sun: the size of a texel as a fraction of the map, and the offset of a point
    // along its normal before the depth comparison, in world units.
    key_texel: f32,
    key_normal_offset: f32,
    sun_texel: f32,
    sun_normal_offset: f32,
    // Width and height of the target in pixels.
    target_size: vec2<f32>,
    // See `distance_numerator`.
    depth_range: f32,
    // Size of a pixel at distance 1 in world units.
    pixel_size: f32,
    // The first pixel of the model's region on its canvas.
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

// A point of the model after the overall scale of this frame.
fn grown(point: vec3<f32>) -> vec3<f32> {
    return frame.grow_origin + (point - frame.grow_origin) * frame.grow;
}
