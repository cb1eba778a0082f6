// Depth only: the shadow maps. A masked or blended material is cut at its cutoff.
#import types/frame.wgsl
#ifdef CUT
#import types/material.wgsl
#endif

struct DepthOut {
    @builtin(position) clip: vec4<f32>,
#ifdef CUT
    @location(0) uv0: vec2<f32>,
    @location(1) uv1: vec2<f32>,
    @location(2) color: vec4<f32>,
#endif
}

// The view is the sun's; the key light's otherwise.
override SUN_VIEW: bool = false;

@vertex
fn vs(
    @location(0) position: vec3<f32>,
#ifdef CUT
    @location(3) uv0: vec2<f32>,
    @location(4) uv1: vec2<f32>,
    @location(5) color: vec4<f32>,
#endif
) -> DepthOut {
    let world = frame.grow_origin.xyz + (position - frame.grow_origin.xyz) * frame.camera.w;
    var out: DepthOut;
    if SUN_VIEW {
        out.clip = frame.sun_clip_from_world * vec4(world, 1.0);
    } else {
        out.clip = frame.key_clip_from_world * vec4(world, 1.0);
    }
#ifdef CUT
    out.uv0 = uv0;
    out.uv1 = uv1;
    out.color = color;
#endif
    return out;
}

#ifdef CUT
//{material textures}

@fragment
fn fs(v: DepthOut) {
    let alpha = tex_base_color(v.uv0, v.uv1).a * material.base_color.a * v.color.a;
    if alpha < material.emissive.w {
        discard;
    }
}
#endif
