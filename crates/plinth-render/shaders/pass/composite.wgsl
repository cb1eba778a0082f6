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
#ifdef LAYERED
// Where something is layered: the samples it was drawn to.
#import lib/samples.wgsl
#else
#import lib/surfaces.wgsl
#endif

@vertex
fn vs(@builtin(vertex_index) i: u32) -> @builtin(position) vec4<f32> {
    return vec4(full_screen_corner(i), 0.0, 1.0);
}

#ifdef RADIANCE
fn seen(radiance: vec4<f32>) -> vec4<f32> {
    let color = srgb_from_linear(tone_map_pbr_neutral(max(radiance.rgb, vec3(0.0)) / max(radiance.a, 1e-4)));
    return vec4(color * radiance.a, radiance.a);
}
#else
fn seen(color: vec4<f32>) -> vec4<f32> {
    return color;
}
#endif

@fragment
fn fs(@builtin(position) at: vec4<f32>) -> @location(0) vec4<f32> {
    let pixel = vec2<i32>(at.xy - place.origin.xy);
#ifdef LAYERED
    return mean_of_samples(pixel);
#else
    return sum_of_surfaces(pixel);
#endif
}
