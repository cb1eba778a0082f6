// The point of a surface that a pixel shows, as input of the shading functions.
#ifdef LIT
#import lib/gathered_light.wgsl
#endif

struct SurfacePoint {
    world: vec3<f32>,
    // Normal that was interpolated between the vertices, and is not normalised.
    normal: vec3<f32>,
    // Squared length of the difference between the unit normals of this pixel and its neighbours.
    normal_turn: f32,
    // Whether the front of the triangle is visible.
    front: bool,
    // xyz: the direction in which the texture coordinate u increases; w: the handedness.
    tangent: vec4<f32>,
    uv0: vec2<f32>,
    uv1: vec2<f32>,
    color: vec4<f32>,
#ifdef LIT
    light: GatheredLight,
#endif
}
