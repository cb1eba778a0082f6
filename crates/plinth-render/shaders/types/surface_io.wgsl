// What the vertex stage of a layered surface reads, and what it hands to the fragment stage.

struct VertexIn {
    @location(0) position: vec3<f32>,
    @location(1) normal: vec4<f32>,
#ifdef TANGENT
    @location(2) tangent: vec4<f32>,
#endif
#ifdef UV
    @location(3) uv0: vec2<f32>,
#endif
#ifdef UV1
    @location(4) uv1: vec2<f32>,
#endif
#ifdef VERTEX_COLOR
    @location(5) color: vec4<f32>,
#endif
#ifdef LIT
    @location(6) direct: vec4<f32>,
    @location(7) indirect: vec4<f32>,
    @location(8) visibility: vec4<f32>,
    @location(9) blocked: vec4<f32>,
#endif
}

struct VertexOut {
    @builtin(position) clip: vec4<f32>,
    @location(0) world: vec3<f32>,
    @location(1) normal: vec3<f32>,
#ifdef TANGENT
    @location(2) tangent: vec4<f32>,
#endif
#ifdef UV
    @location(3) uv0: vec2<f32>,
#endif
#ifdef UV1
    @location(4) uv1: vec2<f32>,
#endif
#ifdef VERTEX_COLOR
    @location(5) color: vec4<f32>,
#endif
#ifdef LIT
    @location(6) direct: vec3<f32>,
    @location(7) indirect: vec3<f32>,
    @location(8) visibility: vec4<f32>,
    @location(9) blocked: vec4<f32>,
#endif
}
