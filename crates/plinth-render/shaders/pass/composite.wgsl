// Composites the model over the backdrop and the floor's shadow in display space. The tone curve and the transfer
// function are first applied to the linear radiance of each surface. Therefore edges between bright surfaces are
// antialiased.
#import types/frame.wgsl
#import types/visibility.wgsl
#import lib/color.wgsl
#import lib/full_screen.wgsl

struct Place {
    // xy: position of the first pixel of the model's region.
    origin: vec4<f32>,
}

@group(1) @binding(0) var<uniform> place: Place;
#ifdef TRANSPARENT
// If there are transmissive or blended surfaces, the multisampled target to which they were drawn is read.
#import lib/samples.wgsl
#else
#import lib/surfaces.wgsl
#endif

@vertex
fn vs(@builtin(vertex_index) i: u32) -> @builtin(position) vec4<f32> {
    return vec4(full_screen_corner(i), 0.0, 1.0);
}

#ifdef RADIANCE
// Converts radiance for display. `skips_tone_curve` is the fraction of the colour to which the tone curve is not
// applied.
fn displayed(radiance: vec3<f32>, skips_tone_curve: f32) -> vec3<f32> {
    let color = max(radiance, vec3(0.0));
#ifdef UNLIT
    return srgb_from_linear(mix(tone_map_pbr_neutral(color), color, skips_tone_curve));
#else
    return srgb_from_linear(tone_map_pbr_neutral(color));
#endif
}

fn display_color(drawn: vec4<f32>) -> vec4<f32> {
    let alpha = min(drawn.a, 1.0);
    return vec4(displayed(drawn.rgb / max(alpha, 1e-4), drawn.a - alpha) * alpha, alpha);
}
#else
fn display_color(color: vec4<f32>) -> vec4<f32> {
    return color;
}
#endif

struct Composed {
    @location(0) color: vec4<f32>,
#ifdef GLOW
    // Radiance of the pixel, which the bloom effect needs.
    @location(1) radiance: vec4<f32>,
#endif
}

@fragment
fn fs(@builtin(position) at: vec4<f32>) -> Composed {
    let pixel = vec2<i32>(at.xy - place.origin.xy);
    var out: Composed;
#ifdef TRANSPARENT
    for (var i = 0u; i < SAMPLES; i++) {
        let color = sample_at(pixel, i);
        out.color += display_color(color) / f32(SAMPLES);
#ifdef GLOW
        out.radiance += vec4(color.rgb, min(color.a, 1.0)) / f32(SAMPLES);
#endif
    }
#else
#ifdef RADIANCE
    let shown = surface_colors_at(pixel);
    let skips_tone_curve = select(vec2(0.0), vec2(1.0), shown.skips_tone_curve);
    let color = displayed(shown.first, skips_tone_curve.x) * shown.coverage.x
        + displayed(shown.second, skips_tone_curve.y) * shown.coverage.y;
    out.color = vec4(color, shown.coverage.x + shown.coverage.y);
#else
    out.color = combined_color_at(pixel);
#endif
#ifdef GLOW
    out.radiance = combined_color_at(pixel);
#endif
#endif
    return out;
}
