// Vertices of the passes that only determine which surfaces are visible. With FACING, vertices have a normal and a
// distance. With ALPHA_TEST, vertices have the attributes that the alpha test needs.
#import lib/grown.wgsl
#ifdef FACING
#import lib/octahedral.wgsl
#endif
#ifdef ALPHA_TEST
#import types/material.wgsl
#endif

struct PosedIn {
    @location(0) position: vec3<f32>,
#ifdef FACING
    // Octahedral coordinates.
    @location(1) normal: vec2<f32>,
#endif
#ifdef ALPHA_TEST
    @location(3) uv0: vec2<f32>,
    @location(4) uv1: vec2<f32>,
    @location(5) color: vec4<f32>,
#endif
}

struct PosedOut {
    @builtin(position) clip: vec4<f32>,
#ifdef NUMBERED
    // The number of the triangle whose first corner this vertex is.
    @location(0) @interpolate(flat, first) triangle: u32,
#endif
#ifdef FACING
    @location(1) normal: vec3<f32>,
    // Distance along the camera's axis.
    @location(2) distance: f32,
#endif
#ifdef ALPHA_TEST
    @location(3) uv0: vec2<f32>,
    @location(4) uv1: vec2<f32>,
    @location(5) color: vec4<f32>,
#endif
}

fn posed(in: PosedIn, clip_from_world: mat4x4<f32>) -> PosedOut {
    let world = grown(in.position);
    var out: PosedOut;
    out.clip = clip_from_world * vec4(world, 1.0);
#ifdef FACING
    out.normal = from_octahedral(in.normal);
    out.distance = dot(world - frame.camera_position, frame.camera_axis);
#endif
#ifdef ALPHA_TEST
    out.uv0 = in.uv0;
    out.uv1 = in.uv1;
    out.color = in.color;
#endif
    return out;
}

#ifdef ALPHA_TEST
//{material textures}

fn tested_alpha(v: PosedOut) -> f32 {
    return tex_base_color(v.uv0, v.uv1).a * material.base_color.a * v.color.a;
}

fn alpha_cutoff() -> f32 {
    return material.alpha_cutoff;
}
#endif
