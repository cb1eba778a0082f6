// Adds the shadow that one point of the key light casts on the floor. The soft shadow is the mean of the shadows that
// many points of the light cast.
#import types/frame.wgsl
#import types/floor.wgsl
#import lib/full_screen.wgsl

@group(1) @binding(1) var point_shadow_map: texture_depth_2d;

override SHARE: f32 = 1.0;

@vertex
fn vs(@builtin(vertex_index) i: u32) -> CornerOut {
    return corner_out(i);
}

@fragment
fn fs(v: CornerOut) -> @location(0) vec4<f32> {
    let clip = frame.key_clip_from_world * vec4(floor_point(v.uv), 1.0);
    let ndc = clip.xyz / max(clip.w, 1e-5);
    let uv = ndc.xy * vec2(0.5, -0.5) + 0.5;
    if clip.w <= 0.0 || any(uv <= vec2(0.0)) || any(uv >= vec2(1.0)) {
        return vec4(0.0);
    }
    return vec4(SHARE * (1.0 - textureSampleCompareLevel(point_shadow_map, shadow_sampler, uv, ndc.z - 1e-4)));
}
