// The rectangle of the floor that shadow can fall on. Rust twin: `gpu_types.rs`.

struct Floor {
    // Centre of the shadowed rectangle.
    center: vec3<f32>,
    // Width of the fading edge in world units.
    edge: f32,
    // Half of the rectangle's extent along world x and z.
    half_extent: vec2<f32>,
    // Size of the light as a share of its distance.
    lamp_size: f32,
    // How dark the key's shadow is, and how dark the ambient one.
    key_darkness: f32,
    ambient_darkness: f32,
}

@group(1) @binding(0) var<uniform> floor_look: Floor;

// The point of the floor at a place of its shadow texture.
fn floor_point(uv: vec2<f32>) -> vec3<f32> {
    let local = uv * 2.0 - 1.0;
    return floor_look.center + vec3(local.x * floor_look.half_extent.x, 0.0, local.y * floor_look.half_extent.y);
}
