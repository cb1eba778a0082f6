// The shaded surfaces of a pixel as one colour. Needs types/visibility.wgsl and a function `seen`, which each colour
// passes before it is weighted.

@group(1) @binding(1) var first_surface: texture_2d<u32>;
@group(1) @binding(2) var second_surface: texture_2d<u32>;
@group(1) @binding(3) var first_color: texture_2d<f32>;
@group(1) @binding(4) var second_color: texture_2d<f32>;

// Sum of the colours by coverage.
fn sum_of_surfaces(pixel: vec2<i32>) -> vec4<f32> {
    let first = textureLoad(first_surface, pixel, 0).r;
    let second = textureLoad(second_surface, pixel, 0).r;
    var sum = vec4(0.0);
    if first != 0u {
        sum = seen(textureLoad(first_color, pixel, 0)) * surface_coverage(first);
    }
    if second != 0u {
        sum += seen(textureLoad(second_color, pixel, 0)) * surface_coverage(second);
    }
    return sum;
}
