// Copies the shaded surfaces of each pixel to the samples that they cover, so that transmissive and blended surfaces
// can be drawn over them. The input is the colour of each surface times the fraction of the pixel that the surface
// covers or, with WHOLE, the premultiplied colour of the surface. If the alpha of a sample exceeds 1, the excess is the
// fraction of the colour to which the tone curve is not applied. Drawing over the sample reduces this fraction in the
// same way as the colour.
#import types/frame.wgsl
#import types/visibility.wgsl
#import lib/full_screen.wgsl

@group(1) @binding(0) var surfaces: texture_2d<u32>;
@group(1) @binding(1) var colors: texture_2d<f32>;

struct SampleColor {
    @location(0) color: vec4<f32>,
#ifdef MULTISAMPLED
    @builtin(sample_mask) samples: u32,
#endif
}

@vertex
fn vs(@builtin(vertex_index) i: u32) -> @builtin(position) vec4<f32> {
    return vec4(full_screen_corner(i), 0.0, 1.0);
}

@fragment
fn fs(@builtin(position) at: vec4<f32>) -> SampleColor {
    let pixel = vec2<i32>(at.xy);
    let surface = textureLoad(surfaces, pixel, 0).r;
    let samples = surface_samples(surface);
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
