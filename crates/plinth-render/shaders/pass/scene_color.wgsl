// Writes the first level of the scene colour pyramid, which refracting surfaces sample: the picture drawn so far, with
// its coverage and distance.
//
// SURFACES: the picture is read from the shaded opaque surfaces. SAMPLES_DRAWN: the picture is read from the
// multisampled target, which includes glass that has already been drawn.
//
// All colours of the pyramid are radiances. The tone curve is applied to the glass that shows them. The inverse of the
// curve is applied to colours that are displayed without it, so that glass shows them as they are displayed if all
// channels are below 0.76 (see `before_tone_map`).
#import types/frame.wgsl
#import lib/color.wgsl
#import lib/full_screen.wgsl
#ifdef SURFACES
#import types/visibility.wgsl
#import lib/surfaces.wgsl
#ifdef MULTISAMPLED
@group(1) @binding(5) var depth_map: texture_depth_multisampled_2d;
#else
@group(1) @binding(5) var depth_map: texture_depth_2d;
#endif
#endif
#ifdef SAMPLES_DRAWN
#import types/visibility.wgsl
#import lib/samples.wgsl
#endif
@vertex
fn vs(@builtin(vertex_index) i: u32) -> CornerOut {
    return corner_out(i);
}

// Limits very bright pixels, which would dominate the blurred levels.
fn limit_brightness(radiance: vec4<f32>) -> vec4<f32> {
    return min(radiance, vec4(64.0));
}

struct SceneColor {
    @location(0) color: vec4<f32>,
    // x: distance along the camera's axis times the coverage; y: coverage.
    @location(1) distance: vec2<f32>,
}

#ifdef SURFACES
@fragment
fn fs(v: CornerOut) -> SceneColor {
    let pixel = vec2<i32>(v.clip.xy);
    var nearest = textureLoad(depth_map, pixel, 0);
#ifdef MULTISAMPLED
    for (var i = 1; i < 4; i++) {
        nearest = min(nearest, textureLoad(depth_map, pixel, i));
    }
#endif
    var out: SceneColor;
    let shown = surface_colors_at(pixel);
    let first = select(shown.first, before_tone_map(shown.first), shown.skips_tone_curve.x);
    let second = select(shown.second, before_tone_map(shown.second), shown.skips_tone_curve.y);
    out.color = limit_brightness(vec4(first, 1.0)) * shown.coverage.x;
    out.color += limit_brightness(vec4(second, 1.0)) * shown.coverage.y;
    let distance = frame.distance_numerator / (frame.depth_range - min(nearest, 0.9999));
    out.distance = vec2(distance, 1.0) * out.color.a;
    return out;
}
#endif

#ifdef SAMPLES_DRAWN
@fragment
fn fs(v: CornerOut) -> @location(0) vec4<f32> {
    var sum = vec4(0.0);
    for (var i = 0u; i < SAMPLES; i++) {
        let color = sample_at(vec2<i32>(v.clip.xy), i);
        // If alpha exceeds 1, the excess is the fraction of the colour to which the tone curve is not applied.
        let alpha = min(color.a, 1.0);
        let radiance = mix(color.rgb, before_tone_map(max(color.rgb, vec3(0.0))), color.a - alpha);
        sum += limit_brightness(vec4(radiance, alpha));
    }
    return sum / f32(SAMPLES);
}
#endif
