// Inputs and outputs of the vertex stage for transmissive and blended surfaces.

struct VertexIn {
    @location(0) position: vec3<f32>,
    // Octahedral coordinates. The tangent is stored as octahedral coordinates, too, followed by the handedness.
    @location(1) normal: vec2<f32>,
#include types/surface_attributes.wgsl
#ifdef LIT
    // Index of the vertex. Each triangle has its own vertices.
    @builtin(vertex_index) index: u32,
#endif
}

struct VertexOut {
    @builtin(position) clip: vec4<f32>,
    @location(0) world: vec3<f32>,
    @location(1) normal: vec3<f32>,
#include types/surface_attributes.wgsl
#ifdef LIT
    // The number of the triangle within its batch. `weights` contains the barycentric weights of the triangle's last
    // two corners.
    @location(6) @interpolate(flat) triangle: u32,
    @location(7) weights: vec2<f32>,
#endif
}
