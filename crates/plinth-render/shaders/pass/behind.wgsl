// What refracted rays see: the opaque part of the picture with its coverage, and ever blurrier halves of it.
#import types/frame.wgsl
#import lib/full_screen.wgsl

#ifdef CAPTURE
#import types/visibility.wgsl
#import lib/surfaces.wgsl

// Sparks would spread over the whole blur.
fn seen(radiance: vec4<f32>) -> vec4<f32> {
    return min(radiance, vec4(64.0));
}
#else
@group(1) @binding(0) var source: texture_2d<f32>;
#endif

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
    return sum_of_surfaces(vec2<i32>(v.clip.xy));
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
