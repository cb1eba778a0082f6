// Linear radiance to display colours: tone curve and transfer per sample, then the average, so that edges between
// bright surfaces stay smooth; the background joins in display space.
#import types/frame.wgsl
#import lib/color.wgsl

#ifdef MULTISAMPLED
@group(1) @binding(0) var radiance_map: texture_multisampled_2d<f32>;
#else
@group(1) @binding(0) var radiance_map: texture_2d<f32>;
#endif
@group(1) @binding(1) var<uniform> backdrop: vec4<f32>;

override SAMPLES: i32 = 4;

@vertex
fn vs(@builtin(vertex_index) i: u32) -> @builtin(position) vec4<f32> {
    let corner = vec2(f32((i << 1u) & 2u), f32(i & 2u));
    return vec4(corner.x * 2.0 - 1.0, 1.0 - corner.y * 2.0, 0.0, 1.0);
}

fn display(sample: vec4<f32>) -> vec4<f32> {
    if sample.a <= 0.0 {
        return vec4(0.0);
    }
    let color = srgb_from_linear(tone_map_pbr_neutral(max(sample.rgb, vec3(0.0)) / sample.a));
    return vec4(color * sample.a, sample.a);
}

@fragment
fn fs(@builtin(position) at: vec4<f32>) -> @location(0) vec4<f32> {
    let pixel = vec2<i32>(at.xy);
    var sum = vec4(0.0);
#ifdef MULTISAMPLED
    for (var i = 0; i < SAMPLES; i++) {
        sum += display(textureLoad(radiance_map, pixel, i));
    }
    sum /= f32(SAMPLES);
#else
    sum = display(textureLoad(radiance_map, pixel, 0));
#endif
    return vec4(sum.rgb + backdrop.rgb * (backdrop.a * (1.0 - sum.a)), sum.a + backdrop.a * (1.0 - sum.a));
}
