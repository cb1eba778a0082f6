// The last pass where a picture has a look of its own: blur of the lens, glow, ink, filter, vignette, grain. What is not
// used is compiled out.
#import types/frame.wgsl
#import lib/color.wgsl
#import lib/full_screen.wgsl
#import lib/filter.wgsl

struct Develop {
    // x: strength of the vignette, y: of the glow; z: radius of ink in pixels.
    look: vec4<f32>,
}

@group(1) @binding(0) var<uniform> develop: Develop;
@group(1) @binding(1) var picture: texture_2d<f32>;
#ifdef GLOW
@group(1) @binding(2) var glow_map: texture_2d<f32>;
#endif
#ifdef FOCUS
#import types/lens.wgsl
@group(1) @binding(3) var blurred_map: texture_2d<f32>;
#endif
#ifdef GEOMETRY
#import types/lens.wgsl
@group(1) @binding(4) var<uniform> lens: Lens;
@group(1) @binding(5) var geometry: texture_2d<f32>;
#endif

#ifdef GEOMETRY
// Whether a pixel is farther than this from the part of the picture that the model covers.
fn is_far_from_model(pixel: vec2<i32>, distance: f32) -> bool {
    let at = vec2<f32>(pixel) - lens.part.xy;
    return any(at < vec2(-distance)) || any(at > lens.part.zw + distance);
}
#endif

@vertex
fn vs(@builtin(vertex_index) i: u32) -> CornerOut {
    return corner_out(i);
}

#ifdef FOCUS
// Blur below this radius in pixels is not seen.
const SHARP: f32 = 0.75;

// The greatest blur around a pixel: that of something in front spreads beyond its edge.
fn blur_around(pixel: vec2<i32>) -> f32 {
    var most = 0.0;
    let own = distance_at(lens, geometry, pixel);
    for (var i = 0; i < 9; i++) {
        let step = i32(max(lens.look.w * 0.5, 1.0));
        let distance = distance_at(lens, geometry, pixel + vec2(i % 3 - 1, i / 3 - 1) * step);
        if i == 4 || (distance > 0.0 && (own <= 0.0 || distance < own)) {
            most = max(most, blur_radius(lens, distance));
        }
    }
    return most;
}

fn focused(pixel: vec2<i32>, uv: vec2<f32>, sharp: vec4<f32>) -> vec4<f32> {
    if is_far_from_model(pixel, lens.look.w) {
        return sharp;
    }
    let share = smoothstep(SHARP, 2.5 * SHARP, blur_around(pixel));
    if share == 0.0 {
        return sharp;
    }
    let soft = textureSampleLevel(blurred_map, linear_sampler, uv, 0.0);
    let encoded = vec4(srgb_from_linear(soft.rgb / max(soft.a, 1e-4)) * soft.a, soft.a);
    return mix(sharp, encoded, share);
}
#endif

#ifdef TOON
const BANDS: f32 = 4.0;
const INK: vec3<f32> = vec3(0.008, 0.008, 0.012);

// Light in bands, with edges a little soft so that they do not crawl.
fn banded(c: vec3<f32>) -> vec3<f32> {
    let y = max(luminance(c), 1e-4);
    let e = srgb_from_linear(vec3(y)).r * BANDS;
    let step = floor(e) + smoothstep(0.44, 0.56, fract(e));
    let wanted = linear_from_srgb(vec3((step + 0.35) / (BANDS + 0.35))).r;
    return min(mix(vec3(wanted), c * (wanted / y), 1.15), vec3(1.0));
}

fn surface_at(pixel: vec2<i32>) -> vec4<f32> {
    let local = clamp(pixel - vec2<i32>(lens.part.xy), vec2(0), vec2<i32>(lens.part.zw) - 1);
    return textureLoad(geometry, local, 0);
}

// How much of a pixel is an outline: where surfaces end, and where their normals break.
fn ink(pixel: vec2<i32>) -> f32 {
    if is_far_from_model(pixel, develop.look.z) {
        return 0.0;
    }
    let own = surface_at(pixel);
    let radius = develop.look.z;
    var drawn = 0.0;
    for (var i = 0; i < 8; i++) {
        let angle = f32(i) * PI / 4.0;
        let offset = vec2<i32>(round(radius * vec2(cos(angle), sin(angle))));
        let other = surface_at(pixel + offset);
        if (own.w > 0.0) != (other.w > 0.0) {
            drawn += 1.0;
        } else if own.w > 0.0 {
            // A plane seen at a grazing angle has steep distances, but no edge.
            let facing = max(abs(dot(own.xyz, frame.camera_axis.xyz)), 0.15);
            let gap = abs(other.w - own.w) * facing / (own.w * frame.target_size.w * radius);
            let fold = 1.0 - dot(own.xyz, other.xyz);
            drawn += max(smoothstep(6.0, 12.0, gap), smoothstep(0.35, 0.7, fold));
        }
    }
    return smoothstep(0.5, 2.5, drawn);
}
#endif

#ifdef GRAIN
// Three rounds of PCG (Jarzynski and Olano 2020, "Hash Functions for GPU Rendering").
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

// Strongest in the middle tones; about normal, mean 0.
fn grained(encoded: vec3<f32>, pixel: vec2<i32>) -> vec3<f32> {
    let random = vec3<f32>(pcg3d(vec3(vec2<u32>(pixel), frame.counts.y)) >> vec3(8u)) / 16777216.0;
    let noise = (random.x + random.y + random.z - 1.5) * 0.14;
    let middle = 1.0 - pow(abs(2.0 * luminance(encoded) - 1.0), 2.0);
    return encoded + noise * (0.3 + 0.7 * middle);
}
#endif

// Ordered noise of half a step of 8 bits against bands (Jimenez 2014).
fn dither(pixel: vec2<i32>) -> f32 {
    return (fract(52.9829189 * fract(dot(vec2<f32>(pixel), vec2(0.06711056, 0.00583715)))) - 0.5) / 255.0;
}

@fragment
fn fs(v: CornerOut) -> @location(0) vec4<f32> {
    let pixel = vec2<i32>(v.clip.xy);
    var p = textureLoad(picture, pixel, 0);
#ifdef FOCUS
    p = focused(pixel, v.uv, p);
#endif
#ifdef GLOW
    // Over the picture like a second exposure; what glows also covers.
    let light = textureSampleLevel(glow_map, linear_sampler, v.uv, 0.0).rgb * develop.look.y;
    let glow = srgb_from_linear(tone_map_pbr_neutral(light));
    let shine = max(glow.r, max(glow.g, glow.b));
    p = vec4(p.rgb + glow * (1.0 - p.rgb), p.a + shine * (1.0 - p.a));
#endif
    var c = linear_from_srgb(p.rgb / max(p.a, 1e-4));
#ifdef TOON
    let model = !is_far_from_model(pixel, 0.0) && surface_at(pixel).w > 0.0;
    if model {
        c = banded(c);
    }
    let line = ink(pixel);
    c = mix(c, INK, line);
    p.a = max(p.a, line);
#endif
#ifdef FILTERED
    c = filtered(c);
#endif
#ifdef VIGNETTE
    let from_middle = (v.uv - 0.5) * 2.0;
    c *= 1.0 - develop.look.x * smoothstep(0.3, 1.5, length(from_middle));
#endif
    var encoded = srgb_from_linear(c);
#ifdef GRAIN
    encoded = clamp(grained(encoded, pixel), vec3(0.0), vec3(1.0));
#endif
    encoded = clamp(encoded + dither(pixel), vec3(0.0), vec3(1.0));
    return vec4(encoded * p.a, p.a);
}
