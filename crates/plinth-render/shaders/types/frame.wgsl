// Group 0: what every draw of a frame shares. Rust twin: `gpu_types.rs`.

const PI: f32 = 3.14159265358979;

struct PunctualLight {
    // xyz: world position, or unit vector to the light; w: 1 for a position, 0 for a direction.
    place: vec4<f32>,
    // rgb: intensity (position) or irradiance (direction); w: range, 0 for none.
    color: vec4<f32>,
    // xyz: unit direction it shines in; w: 1 for a spot, 0 otherwise.
    axis: vec4<f32>,
    // x: cosine of the inner, y: of the outer half angle.
    cone: vec4<f32>,
}

struct Frame {
    clip_from_world: mat4x4<f32>,
    // The same for the whole picture instead of the part that the model covers.
    picture_clip_from_world: mat4x4<f32>,
    key_clip_from_world: mat4x4<f32>,
    sun_clip_from_world: mat4x4<f32>,
    // xyz: world position of the camera; w: overall scale of the model.
    camera: vec4<f32>,
    // xyz: unit direction the camera looks in; w: numerator of the distance along it, `w / (target_size.z - depth)`.
    camera_axis: vec4<f32>,
    // xyz: fixed point of that scale; w: factor on specular reflections of the environment.
    grow_origin: vec4<f32>,
    // rgb: irradiance of the uniform ambient light; w: last mip of the specular map.
    ambient: vec4<f32>,
    // rgb: linear colour of the backdrop, w: 1 where clear glass shows it, 0 where it shows the environment.
    backdrop: vec4<f32>,
    // xyz: corner of the distance field; w: side of its cells in world units.
    field_origin: vec4<f32>,
    // xyz: size of the distance field in world units; w: 1 where there is one.
    field_extent: vec4<f32>,
    // xyz: world position of the key light; w: cosine of the cone's outer half angle.
    key_position: vec4<f32>,
    // xyz: unit direction it shines in; w: cosine of the half angle where the fall-off begins.
    key_axis: vec4<f32>,
    // rgb: radiant intensity; w: how dark its shadow is, 0..1.
    key_intensity: vec4<f32>,
    // xyz: unit vector to the environment's sun; w: its angular radius in radians.
    sun_to_light: vec4<f32>,
    // rgb: irradiance of the sun.
    sun_irradiance: vec4<f32>,
    // x, y: texel size and normal offset of the key's shadow map; z, w: of the sun's.
    shadow: vec4<f32>,
    // x: punctual lights in use; y: seed of the grain; zw: the first pixel of the model's part on its canvas.
    counts: vec4<u32>,
    // xy: width and height of the target in pixels; z: see camera_axis; w: size of a pixel at distance 1.
    target_size: vec4<f32>,
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

// A point of the model as it is scaled in this frame.
fn grown(point: vec3<f32>) -> vec3<f32> {
    return frame.grow_origin.xyz + (point - frame.grow_origin.xyz) * frame.camera.w;
}
