// Copies the shaded surfaces of each pixel to the samples that they cover, so that transmissive and blended surfaces
// can be drawn over them. The input is the colour of each surface times the fraction of the pixel that the surface
// covers or, with WHOLE, the premultiplied colour of the surface. If the alpha of a sample exceeds 1, the excess is the
// fraction of the colour to which the tone curve is not applied. Drawing over the sample reduces this fraction in the
// same way as the colour.
//
// With SECOND, second surfaces are copied, in the tiles with edges. Otherwise first surfaces are copied, in the whole
// target.
#import types/frame.wgsl
#import types/visibility.wgsl

@group(1) @binding(0) var surfaces: texture_2d<u32>;
@group(1) @binding(1) var colors: texture_2d<f32>;
#ifdef SECOND
@group(1) @binding(2) var first_surfaces: texture_2d<u32>;
@group(1) @binding(3) var<storage, read> edge_tiles: array<u32>;
#import lib/edge_runs.wgsl
#else
#import lib/full_screen.wgsl
#endif

struct SampleColor {
    @location(0) color: vec4<f32>,
#ifdef MULTISAMPLED
    @builtin(sample_mask) samples: u32,
#endif
}

@vertex
fn vs(@builtin(vertex_index) i: u32) -> @builtin(position) vec4<f32> {
#ifdef SECOND
    return vec4(edge_run_corner(i), 0.0, 1.0);
#else
    return vec4(full_screen_corner(i), 0.0, 1.0);
#endif
}

@fragment
fn fs(@builtin(position) at: vec4<f32>) -> SampleColor {
    let pixel = vec2<i32>(at.xy);
    let surface = textureLoad(surfaces, pixel, 0).r;
#ifdef SECOND
    let samples = second_samples(textureLoad(first_surfaces, pixel, 0).r, surface);
#else
    let samples = surface_samples(surface);
#endif
    if samples == 0u {
        discard;
    }
    var out: SampleColor;
    let color = textureLoad(colors, pixel, 0);
#ifdef WHOLE
    out.color = color;
#else
    out.color = vec4(color.rgb / surface_coverage(surface), select(1.0, 2.0, color.a >= NO_TONE_CURVE_ALPHA));
#endif
#ifdef MULTISAMPLED
    out.samples = samples;
#endif
    return out;
}
