// Computes the shadow on the floor and writes it to a texture. The shadow includes the shadow of the environment's sun,
// and the occlusion of the rest of the environment's light, which the bake computed.
//
// The penumbra of the key light's shadow widens with the distance from the point of contact (Fernando 2005,
// "Percentage-Closer Soft Shadows"). FLAT: the edge of the shadow has the same width everywhere. ACCUMULATED: the
// shadow is the mean of the shadows from all points of the light.
#import types/frame.wgsl
#import types/floor.wgsl
#import lib/full_screen.wgsl
#import lib/shadow.wgsl

@group(1) @binding(1) var ambient_map: texture_2d<f32>;
#ifdef ACCUMULATED
@group(1) @binding(2) var accumulated_map: texture_2d<f32>;
#else
@group(1) @binding(2) var depth_map: texture_depth_2d;
#endif
@group(1) @binding(3) var point_sampler: sampler;

// Whether the key light casts a shadow. `KEY` is a constant instead of a uniform (see `PUNCTUAL` in
// `lib/direct_light.wgsl`).
override KEY: bool = true;
// Whether the sun of the environment casts a shadow.
override SUN: bool = true;

@vertex
fn vs(@builtin(vertex_index) i: u32) -> CornerOut {
    return corner_out(i);
}

#ifndef ACCUMULATED
const TAPS: u32 = 40u;
// Width of the edge with FLAT, as a fraction of the widest penumbra.
const FLAT_WIDTH: f32 = 0.12;

// Cosine and sine of the golden angle, by which each point of Vogel's disc is turned from the previous point.
const GOLDEN_TURN: vec2<f32> = vec2(-0.73736888, 0.67549029);

// Returns the distance of point `i` of Vogel's disc from its centre. The points are evenly spread, and they are the
// same for every texel.
fn disk_radius(i: u32) -> f32 {
    return sqrt((f32(i) + 0.5) / f32(TAPS));
}

// Returns the direction of the point of the disc that follows the point in the direction `turn`. Software drivers take
// much longer for a sine and a cosine.
fn next_turn(turn: vec2<f32>) -> vec2<f32> {
    return vec2(dot(turn, vec2(GOLDEN_TURN.x, -GOLDEN_TURN.y)), dot(turn, GOLDEN_TURN.yx));
}

// Compares a depth with four texels of the key light's shadow map, and filters the results. `side` is the inverse of
// `frame.key_texel`.
fn key_comparison(uv: vec2<f32>, depth: f32, side: f32) -> f32 {
#ifdef PACKED_SHADOWS
    if KEY_PACKED {
        return packed_bilinear(packed_key_map, uv, depth, frame.key_texel, side);
    }
#endif
    return textureSampleCompareLevel(key_shadow_map, shadow_sampler, uv, depth);
}

fn key_visibility(point: vec3<f32>) -> f32 {
    let clip = frame.key_clip_from_world * vec4(point, 1.0);
    let ndc = clip.xyz / max(clip.w, 1e-5);
    let uv = ndc.xy * vec2(0.5, -0.5) + 0.5;
    if clip.w <= 0.0 || any(uv <= vec2(0.0)) || any(uv >= vec2(1.0)) {
        return 1.0;
    }
    let widest = floor_look.light_size * 0.5;
#ifdef FLAT
    let width = max(widest * FLAT_WIDTH, frame.key_texel * 1.5);
#else
    // Searches for surfaces that block the light, within the cone from this point to the light.
    var blocked = 0.0;
    var nearest_sum = 0.0;
    var search_turn = vec2(1.0, 0.0);
    for (var i = 0u; i < TAPS; i++) {
        let z = textureSampleLevel(depth_map, point_sampler, uv + search_turn * (disk_radius(i) * widest), 0);
        search_turn = next_turn(search_turn);
        if z < ndc.z - 1e-4 {
            blocked += 1.0;
            nearest_sum += z;
        }
    }
    if blocked == 0.0 {
        return 1.0;
    }
    // The far plane is distant, so (1 − z) is inversely proportional to the distance from the light.
    let ratio = clamp((1.0 - nearest_sum / blocked) / max(1.0 - ndc.z, 1e-4) - 1.0, 0.0, 1.0);
    let width = max(widest * ratio, frame.key_texel * 1.5);
#endif
    let side = 1.0 / frame.key_texel;
    var lit = 0.0;
    var turn = vec2(1.0, 0.0);
    for (var i = 0u; i < TAPS; i++) {
        let at = uv + turn * (disk_radius(i) * width);
        lit += key_comparison(at, ndc.z - 1e-4, side);
        turn = next_turn(turn);
    }
    return lit / f32(TAPS);
}
#endif

#ifndef FLAT
// Returns the fraction of the environment's light that reaches a point of the floor. The fraction was computed for the
// model at full size, so the position is converted to full size first.
fn ambient_at(point: vec3<f32>) -> f32 {
    let full = frame.grow_origin + (point - frame.grow_origin) / max(frame.grow, 1e-3);
    let uv = (full - floor_look.center).xz / floor_look.half_extent * 0.5 + 0.5;
    let ambient = textureSampleLevel(ambient_map, linear_sampler, uv, 0.0).r;
    return select(ambient, 1.0, any(uv < vec2(0.0)) || any(uv > vec2(1.0)));
}
#endif

// Returns the fraction of the sun's light that reaches a point of the floor. All surfaces that block the light are
// within the depth range of the map. The depth of the point is limited to this range, because the shadow of a low sun
// extends beyond it.
fn sun_visibility(point: vec3<f32>) -> f32 {
    let ndc = (frame.sun_clip_from_world * vec4(point, 1.0)).xyz;
    let uv = ndc.xy * vec2(0.5, -0.5) + 0.5;
    let visible = sun_pcf(uv, min(ndc.z, 1.0) - 1e-4);
    return select(visible, 1.0, any(uv <= vec2(0.0)) || any(uv >= vec2(1.0)));
}

fn sun_pcf(uv: vec2<f32>, depth: f32) -> f32 {
#ifdef PACKED_SHADOWS
    if SUN_PACKED {
        return packed_pcf(packed_sun_map, uv, depth, frame.sun_texel);
    }
#endif
    return shadow_pcf(sun_shadow_map, uv, depth, frame.sun_texel);
}

@fragment
fn fs(v: CornerOut) -> @location(0) vec4<f32> {
    let point = floor_point(v.uv);
    var light = 1.0;
    if KEY {
#ifdef ACCUMULATED
        light -= floor_look.key_darkness * textureSampleLevel(accumulated_map, point_sampler, v.uv, 0.0).r;
#else
        light -= floor_look.key_darkness * (1.0 - key_visibility(point));
#endif
    }
    // The fraction of the environment's light that is blocked.
    var blocked = 0.0;
#ifndef FLAT
    blocked = 1.0 - clamp(ambient_at(point), 0.0, 1.0);
#endif
    if SUN {
        blocked = mix(blocked, 1.0 - sun_visibility(point), floor_look.sun_share);
    }
    light *= 1.0 - floor_look.ambient_darkness * blocked;
    // The shadow fades out before it reaches the edge of the floor.
    let room = (1.0 - abs(v.uv * 2.0 - 1.0)) * floor_look.half_extent / floor_look.edge;
    let fade = smoothstep(0.0, 1.0, room.x) * smoothstep(0.0, 1.0, room.y);
    return vec4(clamp(1.0 - light, 0.0, 0.95) * fade);
}
