// Struct members: the attributes of a vertex that only some surfaces have.
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
