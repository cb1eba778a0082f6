// Reads the shaded surfaces of a pixel. Needs types/visibility.wgsl.

@group(1) @binding(1) var first_surface: texture_2d<u32>;
@group(1) @binding(2) var second_surface: texture_2d<u32>;
@group(1) @binding(3) var first_color: texture_2d<f32>;
@group(1) @binding(4) var second_color: texture_2d<f32>;

struct SurfaceColors {
    // Colours of the two surfaces; zero for a surface that does not exist.
    first: vec3<f32>,
    second: vec3<f32>,
    // Fraction of the pixel that each surface covers.
    coverage: vec2<f32>,
    // Whether each colour is displayed without applying the tone curve.
    skips_tone_curve: vec2<bool>,
}

// Returns the colour of a surface. `share` is the colour multiplied by the fraction of the pixel that the surface
// covers.
fn whole_color(share: vec4<f32>, coverage: f32) -> vec3<f32> {
    return share.rgb / max(coverage, 1.0 / f32(SAMPLES));
}

fn surface_colors_at(pixel: vec2<i32>) -> SurfaceColors {
    let surface = textureLoad(first_surface, pixel, 0).r;
    let first = surface_coverage(surface);
    let second = coverage_of(second_samples(surface, textureLoad(second_surface, pixel, 0).r));
    var out: SurfaceColors;
    let first_share = textureLoad(first_color, pixel, 0);
    let second_share = textureLoad(second_color, pixel, 0);
    out.first = whole_color(first_share, first);
    out.second = whole_color(second_share, second);
    out.coverage = vec2(first, second);
    out.skips_tone_curve = vec2(first_share.a, second_share.a) >= vec2(NO_TONE_CURVE_ALPHA);
    return out;
}

// Returns the sum of the colours of both surfaces, each multiplied by its coverage. Alpha is the sum of their
// coverages.
fn combined_color_at(pixel: vec2<i32>) -> vec4<f32> {
    let both = textureLoad(first_color, pixel, 0) + textureLoad(second_color, pixel, 0);
    return vec4(both.rgb, both.a % NO_TONE_CURVE_ALPHA);
}
