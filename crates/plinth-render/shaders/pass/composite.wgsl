// The model into the picture: over the backdrop and the floor's shadow, in display space. Linear radiance first gets
// its tone curve and transfer, sample by sample, so that edges between bright surfaces stay smooth.
#import types/frame.wgsl
#import lib/color.wgsl

struct Place {
    // xy: the first pixel of the model's part.
    origin: vec4<f32>,
}

#ifdef MULTISAMPLED
@group(1) @binding(0) var model_map: texture_multisampled_2d<f32>;
#else
@group(1) @binding(0) var model_map: texture_2d<f32>;
#endif
@group(1) @binding(1) var<uniform> place: Place;

override SAMPLES: i32 = 4;

@vertex
fn vs(@builtin(vertex_index) i: u32) -> @builtin(position) vec4<f32> {
    let corner = vec2(f32((i << 1u) & 2u), f32(i & 2u));
    return vec4(corner.x * 2.0 - 1.0, 1.0 - corner.y * 2.0, 0.0, 1.0);
}

fn display(sample: vec4<f32>) -> vec4<f32> {
    let color = srgb_from_linear(tone_map_pbr_neutral(max(sample.rgb, vec3(0.0)) / max(sample.a, 1e-4)));
    return vec4(color * sample.a, sample.a);
}

@fragment
fn fs(@builtin(position) at: vec4<f32>) -> @location(0) vec4<f32> {
    let pixel = vec2<i32>(at.xy - place.origin.xy);
#ifdef MULTISAMPLED
    var sum = vec4(0.0);
    for (var i = 0; i < SAMPLES; i++) {
        sum += display(textureLoad(model_map, pixel, i));
    }
    return sum / f32(SAMPLES);
#else
#ifdef RADIANCE
    return display(textureLoad(model_map, pixel, 0));
#else
    return textureLoad(model_map, pixel, 0);
#endif
#endif
}
