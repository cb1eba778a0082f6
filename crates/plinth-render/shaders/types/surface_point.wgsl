// One visible point of a surface: what the shading functions read, wherever it comes from.
#ifdef LIT
#import lib/gathered_light.wgsl
#endif

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
#ifdef LIT
    light: GatheredLight,
#endif
}
