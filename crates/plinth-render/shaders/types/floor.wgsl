// The rectangular part of the floor that can receive shadow. Rust counterpart: `gpu_types.rs`.

struct Floor {
    // Centre of the rectangle.
    center: vec3<f32>,
    // Width of the border in which the shadow fades out, in world units.
    edge: f32,
    // Half the size of the rectangle along world x and z.
    half_extent: vec2<f32>,
    // Diameter of the key light as a fraction of its distance from the model.
    light_size: f32,
    // Darkness of the key light's shadow. `ambient_darkness` is the darkness of the ambient shadow.
    key_darkness: f32,
    ambient_darkness: f32,
    // Fraction of the environment's light on the floor that comes from the sun.
    sun_share: f32,
}

@group(1) @binding(0) var<uniform> floor_look: Floor;

// Returns the point of the floor at a position of its shadow texture.
fn floor_point(uv: vec2<f32>) -> vec3<f32> {
    let local = uv * 2.0 - 1.0;
    return floor_look.center + vec3(local.x * floor_look.half_extent.x, 0.0, local.y * floor_look.half_extent.y);
}
