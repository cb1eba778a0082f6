// The model into the picture: over the backdrop and the floor's shadow, in display space. Linear radiance first gets
// its tone curve and transfer, surface by surface, so that edges between bright surfaces stay smooth.
#import types/frame.wgsl
#import types/visibility.wgsl
#import lib/color.wgsl
#import lib/full_screen.wgsl

struct Place {
    // xy: the first pixel of the model's part.
    origin: vec4<f32>,
}

@group(1) @binding(0) var<uniform> place: Place;
#ifdef SURFACES
// Nothing is layered: up to two shaded surfaces a pixel.
@group(1) @binding(1) var first_surface: texture_2d<u32>;
@group(1) @binding(2) var second_surface: texture_2d<u32>;
@group(1) @binding(3) var first_color: texture_2d<f32>;
@group(1) @binding(4) var second_color: texture_2d<f32>;
#else
#ifdef MULTISAMPLED
@group(1) @binding(1) var model_map: texture_multisampled_2d<f32>;
#else
@group(1) @binding(1) var model_map: texture_2d<f32>;
#endif
#endif

@vertex
fn vs(@builtin(vertex_index) i: u32) -> @builtin(position) vec4<f32> {
    return vec4(full_screen_corner(i), 0.0, 1.0);
}

#ifdef RADIANCE
fn display(radiance: vec4<f32>) -> vec4<f32> {
    let color = srgb_from_linear(tone_map_pbr_neutral(max(radiance.rgb, vec3(0.0)) / max(radiance.a, 1e-4)));
    return vec4(color * radiance.a, radiance.a);
}
#else
fn display(color: vec4<f32>) -> vec4<f32> {
    return color;
}
#endif

@fragment
fn fs(@builtin(position) at: vec4<f32>) -> @location(0) vec4<f32> {
    let pixel = vec2<i32>(at.xy - place.origin.xy);
#ifdef SURFACES
    let first = textureLoad(first_surface, pixel, 0).r;
    if first == 0u {
        return vec4(0.0);
    }
    var sum = display(textureLoad(first_color, pixel, 0)) * surface_coverage(first);
    let second = textureLoad(second_surface, pixel, 0).r;
    if second != 0u {
        sum += display(textureLoad(second_color, pixel, 0)) * surface_coverage(second);
    }
    return sum;
#else
#ifdef MULTISAMPLED
    var sum = vec4(0.0);
    for (var i = 0u; i < SAMPLES; i++) {
        sum += display(textureLoad(model_map, pixel, i));
    }
    return sum / f32(SAMPLES);
#else
    return display(textureLoad(model_map, pixel, 0));
#endif
#endif
}
