// The shaded surfaces of a pixel. Needs types/visibility.wgsl.

@group(1) @binding(1) var first_surface: texture_2d<u32>;
@group(1) @binding(2) var second_surface: texture_2d<u32>;
@group(1) @binding(3) var first_color: texture_2d<f32>;
@group(1) @binding(4) var second_color: texture_2d<f32>;

struct Shown {
    // Zero where there is none.
    first: vec4<f32>,
    second: vec4<f32>,
    // How much of the pixel each covers.
    coverage: vec2<f32>,
}

fn shown_at(pixel: vec2<i32>) -> Shown {
    let first = textureLoad(first_surface, pixel, 0).r;
    let second = textureLoad(second_surface, pixel, 0).r;
    var out: Shown;
    if first != 0u {
        out.first = textureLoad(first_color, pixel, 0);
    }
    if second != 0u {
        out.second = textureLoad(second_color, pixel, 0);
    }
    out.coverage = vec2(surface_coverage(first), surface_coverage(second));
    return out;
}
