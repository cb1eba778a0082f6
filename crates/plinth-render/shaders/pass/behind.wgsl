// What refracted rays see: the opaque part of the picture with its coverage, and ever blurrier halves of it.
#import types/frame.wgsl
#import lib/full_screen.wgsl

#ifdef CAPTURE
#ifdef MULTISAMPLED
@group(1) @binding(0) var source: texture_multisampled_2d<f32>;
#else
@group(1) @binding(0) var source: texture_2d<f32>;
#endif
#else
@group(1) @binding(0) var source: texture_2d<f32>;
#endif

override SAMPLES: i32 = 4;

struct CornerOut {
    @builtin(position) clip: vec4<f32>,
    @location(0) uv: vec2<f32>,
}

@vertex
fn vs(@builtin(vertex_index) i: u32) -> CornerOut {
    let corner = full_screen_corner(i);
    return CornerOut(vec4(corner, 0.0, 1.0), corner * vec2(0.5, -0.5) + 0.5);
}

@fragment
fn fs(v: CornerOut) -> @location(0) vec4<f32> {
#ifdef CAPTURE
    let pixel = vec2<i32>(v.clip.xy);
#ifdef MULTISAMPLED
    var sum = vec4(0.0);
    for (var i = 0; i < SAMPLES; i++) {
        sum += min(textureLoad(source, pixel, i), vec4(64.0));
    }
    return sum / f32(SAMPLES);
#else
    return min(textureLoad(source, pixel, 0), vec4(64.0));
#endif
#else
    // Thirteen taps of a bilinear filter (Jimenez 2014, "Next Generation Post Processing in Call of Duty").
    let texel = 1.0 / vec2<f32>(textureDimensions(source));
    var sum = textureSampleLevel(source, linear_sampler, v.uv, 0.0) * 0.125;
    for (var i = 0; i < 4; i++) {
        let diagonal = vec2(f32(i & 1) * 2.0 - 1.0, f32(i >> 1u) * 2.0 - 1.0);
        let straight = select(vec2(diagonal.x, 0.0), vec2(0.0, diagonal.x), i >= 2);
        sum += textureSampleLevel(source, linear_sampler, v.uv + diagonal * texel, 0.0) * 0.125;
        sum += textureSampleLevel(source, linear_sampler, v.uv + 2.0 * straight * texel, 0.0) * 0.0625;
        sum += textureSampleLevel(source, linear_sampler, v.uv + 2.0 * diagonal * texel, 0.0) * 0.03125;
    }
    return sum;
#endif
}
