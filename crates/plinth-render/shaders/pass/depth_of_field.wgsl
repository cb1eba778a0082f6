// Depth of field at half the size of the picture. Each pixel collects the circles of confusion that reach it. The
// circle of a nearer object spreads over objects behind it. The circle of a farther object does not cover objects in
// front of it.
//
// SHRINK: writes the half-size picture in linear light, with the distance and the circle radius of each pixel. WIDEST:
// writes the radius of the largest circle in each square of pixels; with AROUND, the largest circle in a square and its
// neighbours. GATHER: writes the blurred picture, and the fraction of each pixel that circles of nearer objects cover.
// SMOOTH: removes the sampling noise of the results of GATHER, and encodes the picture for display.
#import types/frame.wgsl
#import types/lens.wgsl
#import lib/dither.wgsl
#import lib/full_screen.wgsl

@group(1) @binding(0) var<uniform> lens: Lens;
@group(1) @binding(1) var source: texture_2d<f32>;
#ifndef WIDEST
// With SHRINK, normals and distances of the model's region. Otherwise, the half-size data: x is the distance, and y is
// the radius of the circle.
@group(1) @binding(2) var surfaces: texture_2d<f32>;
#endif

// Side length of the squares in half-size pixels. The side length is at least the radius of the largest circle, so that
// a circle reaches at most the next square.
override SQUARE: i32 = 16;

@vertex
fn vs(@builtin(vertex_index) i: u32) -> CornerOut {
    return corner_out(i);
}

#ifdef SHRINK
struct Shrunk {
    @location(0) color: vec4<f32>,
    @location(1) surface: vec2<f32>,
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
        // Squaring the encoded values approximates linear light. The square root at the end restores encoded values.
        sum += vec4(c.rgb * c.rgb / max(c.a, 1e-4), c.a);
        let distance = distance_at(lens, surfaces, pixel);
        if distance > 0.0 && (nearest == 0.0 || distance < nearest) {
            nearest = distance;
        }
    }
    // The radius is halved, because the picture has half the size.
    return Shrunk(sum * 0.25, vec2(nearest, 0.5 * blur_radius(lens, nearest)));
}
#endif

#ifdef WIDEST
@fragment
fn fs(v: CornerOut) -> @location(0) f32 {
    let square = vec2<i32>(v.clip.xy);
    let last = vec2<i32>(textureDimensions(source)) - 1;
    var widest = 0.0;
#ifdef AROUND
    for (var i = 0; i < 9; i++) {
        widest = max(widest, textureLoad(source, clamp(square + vec2(i % 3, i / 3) - 1, vec2(0), last), 0).r);
    }
#else
    for (var y = 0; y < SQUARE; y++) {
        for (var x = 0; x < SQUARE; x++) {
            widest = max(widest, textureLoad(source, min(square * SQUARE + vec2(x, y), last), 0).y);
        }
    }
#endif
    return widest;
}
#endif

#ifdef GATHER
// For each square of pixels, the radius of the largest circle that may reach it.
@group(1) @binding(3) var widest: texture_2d<f32>;

// The lookups are on a spiral with equal areas (Vogel 1979). The spiral is rotated differently for each pixel, and
// SMOOTH averages over the rotations.
const MIN_TAPS: f32 = 8.0;
const MAX_TAPS: f32 = 24.0;
const TAPS_PER_SQUARE: f32 = 0.4;
const COS_GOLDEN: f32 = -0.73736888;
const SIN_GOLDEN: f32 = 0.67549029;

struct Gathered {
    @location(0) color: vec4<f32>,
    @location(1) cover: f32,
}

@fragment
fn fs(v: CornerOut) -> Gathered {
    let pixel = vec2<i32>(v.clip.xy);
    let last = vec2<i32>(textureDimensions(source)) - 1;
    let own = textureLoad(surfaces, pixel, 0).xy;
    // The soft edge of a circle makes it half a pixel larger.
    let reach = textureLoad(widest, pixel / SQUARE, 0).r + 0.5;
    // Circles with a radius of at most a quarter of a pixel are treated as points.
    let taps = select(floor(clamp(TAPS_PER_SQUARE * reach * reach, MIN_TAPS, MAX_TAPS)), 0.0, reach <= 0.75);
    // Each lookup represents an equal part of the area within reach.
    let area = reach * reach / max(taps, 1.0);
    let turn = 2.0 * PI * interleaved_noise(v.clip.xy);
    var direction = vec2(cos(turn), sin(turn));
    let center = textureLoad(source, pixel, 0);
    var sum = vec4(0.0);
    var weights = 0.0;
    var cover = 0.0;
    for (var i = 0.5; i < taps; i += 1.0) {
        let radius = reach * sqrt(i / taps);
        let at = clamp(pixel + vec2<i32>(round(radius * direction)), vec2(0), last);
        direction = vec2(
            direction.x * COS_GOLDEN - direction.y * SIN_GOLDEN, direction.x * SIN_GOLDEN + direction.y * COS_GOLDEN,
        );
        let other = textureLoad(surfaces, at, 0).xy;
        let in_front = other.x > 0.0 && (own.x <= 0.0 || other.x < own.x);
        // The blur of the background must not exceed the blur of the foreground at this pixel.
        let disc = select(min(select(other.y, own.y, other.x <= 0.0), own.y), other.y, in_front);
        let weight = smoothstep(radius - 1.0, radius + 1.0, disc + 0.5) * area / max(disc * disc, 1.0);
        sum += textureLoad(source, at, 0) * weight;
        weights += weight;
        // A sharp foreground does not extend beyond its own edge.
        cover += select(0.0, weight * smoothstep(0.4, 1.0, disc), in_front);
    }
    if own.x <= 0.0 {
        // The backdrop fills the part of the pixel that no circle covers.
        let covered = min(weights, 1.0);
        return Gathered(sum / max(weights, 1e-4) * covered + center * (1.0 - covered), min(cover, 1.0));
    }
    let own_weight = 1.0 / max(3.0 * own.y * own.y, 1.0);
    return Gathered((sum + center * own_weight) / (weights + own_weight), min(cover, 1.0));
}
#endif

#ifdef SMOOTH
@group(1) @binding(3) var covers: texture_2d<f32>;

struct Smoothed {
    @location(0) color: vec4<f32>,
    @location(1) cover: f32,
}

@fragment
fn fs(v: CornerOut) -> Smoothed {
    let pixel = vec2<i32>(v.clip.xy);
    let last = vec2<i32>(textureDimensions(source)) - 1;
    let own = textureLoad(surfaces, pixel, 0).y;
    var sum = vec4(0.0);
    var cover = 0.0;
    var weights = 0.0;
    for (var i = 0; i < 9; i++) {
        let step = vec2(i % 3 - 1, i / 3 - 1);
        let at = clamp(pixel + step, vec2(0), last);
        // Sharp and blurred pixels are not averaged with each other.
        let alike = abs(textureLoad(surfaces, at, 0).y - own) < 1.0 + 0.25 * own;
        let weight = f32(alike);
        sum += textureLoad(source, at, 0) * weight;
        cover += textureLoad(covers, at, 0).r * weight;
        weights += weight;
    }
    sum /= weights;
    return Smoothed(vec4(sqrt(sum.rgb * sum.a), sum.a), cover / weights);
}
#endif
