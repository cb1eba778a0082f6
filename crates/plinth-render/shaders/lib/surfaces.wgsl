// The shaded surfaces of a pixel. Needs types/visibility.wgsl.

@group(1) @binding(1) var first_surface: texture_2d<u32>;
@group(1) @binding(2) var second_surface: texture_2d<u32>;
@group(1) @binding(3) var first_color: texture_2d<f32>;
@group(1) @binding(4) var second_color: texture_2d<f32>;

struct Shown {
    // Zero if there is none.
    first: vec3<f32>,
    second: vec3<f32>,
    // Coverage of the pixel by each surface.
    coverage: vec2<f32>,
    // Whether each is shown without the tone curve.
    as_it_is: vec2<bool>,
}

// The colour of a surface, given its share of the picture.
fn whole_color(share: vec4<f32>, coverage: f32) -> vec3<f32> {
    return share.rgb / max(coverage, 1.0 / f32(SAMPLES));
}

fn shown_at(pixel: vec2<i32>) -> Shown {
    let first = surface_coverage(textureLoad(first_surface, pixel, 0).r);
    let second = surface_coverage(textureLoad(second_surface, pixel, 0).r);
    var out: Shown;
    let first_share = textureLoad(first_color, pixel, 0);
    let second_share = textureLoad(second_color, pixel, 0);
    out.first = whole_color(first_share, first);
    out.second = whole_color(second_share, second);
    out.coverage = vec2(first, second);
    out.as_it_is = vec2(first_share.a, second_share.a) >= vec2(SHOWN_AS_IT_IS);
    return out;
}

// The share of both surfaces of the picture, with their coverage as alpha.
fn both_at(pixel: vec2<i32>) -> vec4<f32> {
    let both = textureLoad(first_color, pixel, 0) + textureLoad(second_color, pixel, 0);
    return vec4(both.rgb, both.a % SHOWN_AS_IT_IS);
}
