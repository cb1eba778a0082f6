// Bloom: light beyond the display range is spread by downscaling and upscaling pictures (Jimenez 2014, "Next Generation
// Post Processing in Call of Duty: Advanced Warfare").
//
// BRIGHT: writes bright radiance at a quarter of the size. HALVE: downscales the level above by two. WIDEN: upscales
// the level below, which is then added to this level. DISPLAYED: writes the sum of all levels for display.
#import types/frame.wgsl
#import lib/color.wgsl
#import lib/full_screen.wgsl

@group(1) @binding(0) var source: texture_2d<f32>;

@vertex
fn vs(@builtin(vertex_index) i: u32) -> CornerOut {
    return corner_out(i);
}

#ifdef BRIGHT
// Luminances at which a surface begins to glow, and at which it glows fully.
const GLOW_START: f32 = 0.9;
const FULL_GLOW: f32 = 2.0;
// Maximum luminance of a pixel. Brighter single pixels would flicker.
const MAX_LUMINANCE: f32 = 16.0;

@fragment
fn fs(v: CornerOut) -> @location(0) vec4<f32> {
    let texel = 1.0 / vec2<f32>(textureDimensions(source));
    var c = vec3(0.0);
    for (var i = 0; i < 4; i++) {
        let corner = vec2(f32(i & 1) * 2.0 - 1.0, f32(i >> 1u) * 2.0 - 1.0);
        c += textureSampleLevel(source, linear_sampler, v.uv + corner * texel, 0.0).rgb * 0.25;
    }
    let y = luminance(c);
    let kept = smoothstep(GLOW_START, FULL_GLOW, y) * min(1.0, MAX_LUMINANCE / max(y, 1e-4));
    return vec4(c * kept, 0.0);
}
#endif

#ifdef HALVE
#import lib/halve.wgsl

@fragment
fn fs(v: CornerOut) -> @location(0) vec4<f32> {
    return halved(source, v.uv);
}
#endif

#ifdef WIDEN
// Averages nine lookups with a tent filter.
@fragment
fn fs(v: CornerOut) -> @location(0) vec4<f32> {
    let texel = 1.0 / vec2<f32>(textureDimensions(source));
    var sum = vec4(0.0);
    for (var y = -1; y <= 1; y++) {
        for (var x = -1; x <= 1; x++) {
            let weight = f32((2 - abs(x)) * (2 - abs(y))) / 16.0;
            sum += textureSampleLevel(source, linear_sampler, v.uv + vec2(f32(x), f32(y)) * texel, 0.0) * weight;
        }
    }
    return sum;
}
#endif

#ifdef DISPLAYED
#import lib/dither.wgsl

// Factor by which the spread light is multiplied.
override STRENGTH: f32 = 1.0;

@fragment
fn fs(v: CornerOut) -> @location(0) vec4<f32> {
    let light = textureLoad(source, vec2<i32>(v.clip.xy), 0).rgb * STRENGTH;
    let shown = srgb_from_linear(tone_map_pbr_neutral(light));
    return vec4(max(shown + dither(v.clip.xy), vec3(0.0)) * step(vec3(1e-4), shown), 1.0);
}
#endif
