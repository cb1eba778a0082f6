// Depth of field, in half size: each pixel gathers the discs that reach it. A disc of something nearer spreads over what
// is behind; one of something farther does not cover what is in front.
//
// SHRINK: half of the picture in linear light, with its distance. Otherwise: the blur.
#import types/frame.wgsl
#import types/lens.wgsl
#import lib/color.wgsl
#import lib/full_screen.wgsl

@group(1) @binding(0) var<uniform> lens: Lens;
@group(1) @binding(1) var source: texture_2d<f32>;
// SHRINK: normals and distances of the model's part. Otherwise: distances in half size.
@group(1) @binding(2) var geometry: texture_2d<f32>;

@vertex
fn vs(@builtin(vertex_index) i: u32) -> CornerOut {
    return corner_out(i);
}

#ifdef SHRINK
struct Shrunk {
    @location(0) color: vec4<f32>,
    @location(1) distance: f32,
}

@fragment
fn fs(v: CornerOut) -> Shrunk {
    let first = vec2<i32>(v.clip.xy) * 2;
    let last = vec2<i32>(textureDimensions(source)) - 1;
    var sum = vec4(0.0);
    var nearest = 0.0;
    for (var i = 0; i < 4; i++) {
        let pixel = min(first + vec2(i & 1, i >> 1u), last);
        let c = textureLoad(source, pixel, 0);
        sum += vec4(linear_from_srgb(c.rgb / max(c.a, 1e-4)) * c.a, c.a);
        let distance = distance_at(lens, geometry, pixel);
        if distance > 0.0 && (nearest == 0.0 || distance < nearest) {
            nearest = distance;
        }
    }
    return Shrunk(sum * 0.25, nearest);
}
#else
// Taps of a spiral of equal areas (Vogel 1979); few enough for a software driver, many enough for a smooth disc.
const TAPS: i32 = 40;
const GOLDEN_ANGLE: f32 = 2.39996323;

@fragment
fn fs(v: CornerOut) -> @location(0) vec4<f32> {
    let pixel = vec2<i32>(v.clip.xy);
    let last = vec2<i32>(textureDimensions(source)) - 1;
    let own_distance = textureLoad(geometry, pixel, 0).r;
    // Radii are halved with the picture.
    let own = 0.5 * blur_radius(lens, own_distance);
    let reach = 0.5 * lens.look.w;
    // Each tap stands for a share of the area within reach.
    let area = reach * reach / f32(TAPS);
    let center = textureLoad(source, pixel, 0);
    var sum = vec4(0.0);
    var weights = 0.0;
    for (var i = 1; i <= TAPS; i++) {
        let radius = reach * sqrt((f32(i) - 0.5) / f32(TAPS));
        let angle = GOLDEN_ANGLE * f32(i);
        let at = clamp(pixel + vec2<i32>(round(radius * vec2(cos(angle), sin(angle)))), vec2(0), last);
        let distance = textureLoad(geometry, at, 0).r;
        var disc = 0.5 * blur_radius(lens, distance);
        // What is behind shows as far as what is in front of it is blurred.
        if own_distance > 0.0 && distance <= 0.0 {
            disc = own;
        } else if own_distance > 0.0 && distance > own_distance {
            disc = min(disc, own);
        }
        let weight = smoothstep(radius - 1.0, radius + 1.0, disc + 0.5) * area / max(disc * disc, 1.0);
        sum += textureLoad(source, at, 0) * weight;
        weights += weight;
    }
    if own_distance <= 0.0 {
        // The backdrop is what the discs of the model leave of it.
        let covered = min(weights, 1.0);
        return sum / max(weights, 1e-4) * covered + center * (1.0 - covered);
    }
    let own_weight = 1.0 / max(3.0 * own * own, 1.0);
    return (sum + center * own_weight) / (weights + own_weight);
}
#endif
