// The rectangle of the floor that shadow can fall on. Rust twin: `gpu_types.rs`.

struct Floor {
    // xyz: centre of the shadowed rectangle.
    place: vec4<f32>,
    // x, y: half of its extent along world x and z; z: width of the fading edge in world units.
    extent: vec4<f32>,
    // x: size of the light as a share of its distance, y: darkness of the key's shadow, z: of the ambient one,
    // w: 1 when the key casts a shadow.
    look: vec4<f32>,
}

@group(1) @binding(0) var<uniform> floor_look: Floor;

// The point of the floor at a place of its shadow texture.
fn floor_point(uv: vec2<f32>) -> vec3<f32> {
    let local = uv * 2.0 - 1.0;
    return floor_look.place.xyz + vec3(local.x * floor_look.extent.x, 0.0, local.y * floor_look.extent.y);
}
