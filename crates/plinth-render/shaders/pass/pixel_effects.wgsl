// The last pass of frames with post-processing effects: depth of field, bloom, outlines, filter, vignette and grain.
// Each variant contains only the effects that are used. Variants for pixels far from the model contain fewer effects.
// TONED: colours are converted to linear light for the effects.
#import types/frame.wgsl
#import lib/color.wgsl
#import lib/full_screen.wgsl
#import lib/dither.wgsl
#import lib/filter.wgsl

struct PixelEffects {
    // x: strength of the vignette; y: width of the outlines in pixels.
    look: vec4<f32>,
}

@group(1) @binding(0) var<uniform> pixel_effects: PixelEffects;
@group(1) @binding(1) var picture: texture_2d<f32>;
#ifdef GLOW
@group(1) @binding(2) var glow_map: texture_2d<f32>;
#endif
#ifdef GEOMETRY
#import types/lens.wgsl
@group(1) @binding(3) var<uniform> lens: Lens;
@group(1) @binding(4) var geometry: texture_2d<f32>;
#endif
#ifdef FOCUS
@group(1) @binding(5) var blurred_map: texture_2d<f32>;
@group(1) @binding(6) var cover_map: texture_2d<f32>;
#endif

@vertex
fn vs(@builtin(vertex_index) i: u32) -> CornerOut {
    return corner_out(i);
}

#ifdef FOCUS
// Minimum radius of visible blur, in pixels.
const MIN_VISIBLE_BLUR: f32 = 0.75;
// If circles of confusion of nearer objects cover less than this fraction of a pixel, the sharp and the blurred picture
// are interpolated.
const FULL_COVER: f32 = 0.15;

fn focused(pixel: vec2<i32>, uv: vec2<f32>, sharp: vec4<f32>) -> vec4<f32> {
    var distance = distance_at(lens, geometry, pixel);
    if distance <= 0.0 {
        // A surface at a neighbouring pixel may cover a part of this pixel.
        for (var i = 0; i < 4; i++) {
            let beside = distance_at(lens, geometry, pixel + select(vec2(0, 2 * i - 5), vec2(2 * i - 1, 0), i < 2));
            distance = max(distance, beside);
        }
    }
    let own = blur_radius(lens, distance);
    let cover = textureSampleLevel(cover_map, linear_sampler, uv, 0.0).r;
    let share = max(smoothstep(MIN_VISIBLE_BLUR, 2.5 * MIN_VISIBLE_BLUR, own), smoothstep(0.0, FULL_COVER, cover));
    return mix(sharp, textureSampleLevel(blurred_map, linear_sampler, uv, 0.0), share);
}
#endif

#ifdef TOON
const BANDS: f32 = 4.0;
const OUTLINE_COLOR: vec3<f32> = vec3(0.008, 0.008, 0.012);

// Reduces light to a few bands. The edges between the bands are slightly soft, which avoids flicker.
fn banded(c: vec3<f32>) -> vec3<f32> {
    let y = max(luminance(c), 1e-4);
    let e = srgb_from_linear(vec3(y)).r * BANDS;
    let step = floor(e) + smoothstep(0.44, 0.56, fract(e));
    let wanted = linear_from_srgb(vec3((step + 0.35) / (BANDS + 0.35))).r;
    return min(mix(vec3(wanted), c * (wanted / y), 1.15), vec3(1.0));
}

fn surface_at(pixel: vec2<i32>) -> vec4<f32> {
    let local = clamp(pixel - vec2<i32>(lens.part_origin), vec2(0), vec2<i32>(lens.part_size) - 1);
    return textureLoad(geometry, local, 0);
}

// Returns the fraction of a pixel that an outline covers. Outlines are at the borders of surfaces, and where the normal
// changes abruptly.
fn outline_coverage(pixel: vec2<i32>) -> f32 {
    let own = surface_at(pixel);
    let radius = pixel_effects.look.y;
    var drawn = 0.0;
    for (var i = 0; i < 8; i++) {
        let angle = f32(i) * PI / 4.0;
        let offset = vec2<i32>(round(radius * vec2(cos(angle), sin(angle))));
        let other = surface_at(pixel + offset);
        if (own.w > 0.0) != (other.w > 0.0) {
            drawn += 1.0;
        } else if own.w > 0.0 {
            // On a plane at a grazing angle, the distance changes quickly although there is no edge.
            let facing = max(abs(dot(own.xyz, frame.camera_axis)), 0.15);
            let gap = abs(other.w - own.w) * facing / (own.w * frame.pixel_size * radius);
            let fold = 1.0 - dot(own.xyz, other.xyz);
            drawn += max(smoothstep(6.0, 12.0, gap), smoothstep(0.35, 0.7, fold));
        }
    }
    return smoothstep(0.5, 2.5, drawn);
}
#endif

#ifdef GRAIN
// Hashes a vector with three rounds of PCG (Jarzynski and Olano 2020, "Hash Functions for GPU Rendering").
fn pcg3d(seed: vec3<u32>) -> vec3<u32> {
    var v = seed * 1664525u + 1013904223u;
    v.x += v.y * v.z;
    v.y += v.z * v.x;
    v.z += v.x * v.y;
    v ^= v >> vec3(16u);
    v.x += v.y * v.z;
    v.y += v.z * v.x;
    v.z += v.x * v.y;
    return v;
}

// Adds film grain, which is strongest in middle tones. The noise is approximately normally distributed with mean 0.
fn grained(encoded: vec3<f32>, pixel: vec2<i32>) -> vec3<f32> {
    let random = vec3<f32>(pcg3d(vec3(vec2<u32>(pixel), frame.grain_seed)) >> vec3(8u)) / 16777216.0;
    let noise = (random.x + random.y + random.z - 1.5) * 0.14;
    let middle = 1.0 - pow(abs(2.0 * luminance(encoded) - 1.0), 2.0);
    return encoded + noise * (0.3 + 0.7 * middle);
}
#endif

@fragment
fn fs(v: CornerOut) -> @location(0) vec4<f32> {
    let pixel = vec2<i32>(v.clip.xy);
    var p = textureLoad(picture, pixel, 0);
#ifdef FOCUS
    p = focused(pixel, v.uv, p);
#endif
#ifdef GLOW
    // The glow is blended with the mode "screen", so that it never exceeds white. The glow also increases the coverage.
    let glow = textureSampleLevel(glow_map, linear_sampler, v.uv, 0.0).rgb;
    let shine = max(glow.r, max(glow.g, glow.b));
    p = vec4(p.rgb + glow * (1.0 - p.rgb), p.a + shine * (1.0 - p.a));
#endif
#ifdef TONED
    var c = linear_from_srgb(p.rgb / max(p.a, 1e-4));
#ifdef TOON
    if surface_at(pixel).w > 0.0 {
        c = banded(c);
    }
    let line = outline_coverage(pixel);
    c = mix(c, OUTLINE_COLOR, line);
    p.a = max(p.a, line);
#endif
#ifdef FILTERED
    c = filtered(c);
#endif
#ifdef VIGNETTE
    let from_middle = (v.uv - 0.5) * 2.0;
    c *= 1.0 - pixel_effects.look.x * smoothstep(0.3, 1.5, length(from_middle));
#endif
    var encoded = srgb_from_linear(c);
#else
    var encoded = p.rgb / max(p.a, 1e-4);
#endif
#ifdef GRAIN
    encoded = clamp(grained(encoded, pixel), vec3(0.0), vec3(1.0));
#endif
    encoded = clamp(encoded + dither(v.clip.xy), vec3(0.0), vec3(1.0));
    return vec4(encoded * p.a, p.a);
}
