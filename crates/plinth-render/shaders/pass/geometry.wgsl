// The first surface of each pixel, at its middle: normal and distance, for layers that lie on the colour pixel by pixel.
// Masked and blended materials count where they are more there than not.
#import types/frame.wgsl
#ifdef CUT
#import types/material.wgsl
#endif

struct GeometryVertex {
    @builtin(position) clip: vec4<f32>,
    @location(0) normal: vec3<f32>,
    // Along the camera's axis.
    @location(1) distance: f32,
#ifdef CUT
    @location(2) uv0: vec2<f32>,
    @location(3) uv1: vec2<f32>,
    @location(4) color: vec4<f32>,
#endif
}

@vertex
fn vs(
    @location(0) position: vec3<f32>,
    @location(1) normal: vec4<f32>,
#ifdef CUT
    @location(3) uv0: vec2<f32>,
    @location(4) uv1: vec2<f32>,
    @location(5) color: vec4<f32>,
#endif
) -> GeometryVertex {
    let world = frame.grow_origin.xyz + (position - frame.grow_origin.xyz) * frame.camera.w;
    var out: GeometryVertex;
    out.clip = frame.clip_from_world * vec4(world, 1.0);
    out.normal = normal.xyz;
    out.distance = dot(world - frame.camera.xyz, frame.camera_axis.xyz);
#ifdef CUT
    out.uv0 = uv0;
    out.uv1 = uv1;
    out.color = color;
#endif
    return out;
}

#ifdef CUT
//{material textures}
#endif

// xyz: unit world-space normal on the side that is seen; w: distance along the camera's axis, 0 where nothing is.
@fragment
fn fs(v: GeometryVertex, @builtin(front_facing) front: bool) -> @location(0) vec4<f32> {
#ifdef CUT
    let alpha = tex_base_color(v.uv0, v.uv1).a * material.base_color.a * v.color.a;
    if alpha < material.emissive.w {
        discard;
    }
#endif
    return vec4(normalize(v.normal) * select(-1.0, 1.0, front), v.distance);
}
