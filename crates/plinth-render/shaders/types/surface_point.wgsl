// A visible point of a surface: the inputs of the shading functions.
#ifdef LIT
#import lib/gathered_light.wgsl
#endif

struct SurfacePoint {
    world: vec3<f32>,
    // Interpolated from the vertices; not of unit length.
    normal: vec3<f32>,
    // Squared length of the change of the unit normal to the next pixels.
    normal_turn: f32,
    // Whether the front of the triangle is visible.
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
