// One visible point of a surface: what the shading functions read, wherever it comes from.

struct SurfacePoint {
    world: vec3<f32>,
    // Of the vertices, interpolated; not of unit length.
    normal: vec3<f32>,
    // Squared length of the unit normal's change from this pixel to the next ones.
    normal_turn: f32,
    // Whether the front of the triangle is seen.
    front: bool,
    // xyz: direction of the texture's u; w: handedness.
    tangent: vec4<f32>,
    uv0: vec2<f32>,
    uv1: vec2<f32>,
    color: vec4<f32>,
    // Share of the environment's light that arrives, irradiance from other surfaces, and over directions, as degree-1
    // spherical harmonics, visibility of the environment and luminance of what blocks it.
    direct: vec3<f32>,
    indirect: vec3<f32>,
    visibility: vec4<f32>,
    blocked: vec4<f32>,
}
