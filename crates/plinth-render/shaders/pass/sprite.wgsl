// Draws points and lines in the passes that determine which surfaces are visible. Each point is a triangle around its
// disc, and each line consists of two triangles.
//
// NUMBERED: writes the number of the visible point or line in each sample. FACING: writes the normal and the distance
// of the nearest point or line at the centre of each pixel. CAST: writes depth as seen from a light. ALPHA_TEST: alpha
// makes holes in sprites. BLEND: alpha is the fraction of samples that sprites cover.
#import types/frame.wgsl
#import types/pool.wgsl
#import types/visibility.wgsl
#import lib/triangle.wgsl
#import lib/sprite.wgsl
#ifdef ALPHA_TEST
#import types/material.wgsl
#import lib/attributes.wgsl
#endif

// With CAST, true for the shadow map of the sun, false for the shadow map of the key light.
override SUN_VIEW: bool = false;

// Distance by which sprites are moved towards the camera, in radii. A sprite on a surface is then completely visible,
// even if the surface is inclined.
#ifdef LINES
const LIFT: f32 = 3.0;
const CORNERS: u32 = 6u;
const VERTICES: u32 = 2u;
#else
const LIFT: f32 = 2.0;
const CORNERS: u32 = 3u;
const VERTICES: u32 = 1u;
#endif
// Margin around a disc in pixels, because a rasteriser may round positions.
const DISC_MARGIN: f32 = 0.05;

struct SpriteOut {
    @builtin(position) clip: vec4<f32>,
#ifdef NUMBERED
    @location(0) @interpolate(flat) number: u32,
#endif
#ifndef CAST
    @location(1) @interpolate(flat) ends: vec4<f32>,
    // x: radius; yz: distances of the two ends.
    @location(2) @interpolate(flat) look: vec3<f32>,
#endif
#ifdef FACING
    @location(3) normal: vec3<f32>,
    @location(4) world: vec3<f32>,
#endif
#ifdef ALPHA_TEST
    @location(5) uv0: vec2<f32>,
    @location(6) uv1: vec2<f32>,
    @location(7) color: vec4<f32>,
#endif
}

// A corner of the geometry of a sprite with radius 1: the end to which the corner belongs, and its offset along and
// across the line.
struct Corner {
    end: f32,
    along: f32,
    across: f32,
}

fn corner_of(k: u32) -> Corner {
#ifdef LINES
    let ends = array(0.0, 1.0, 1.0, 0.0, 1.0, 0.0);
    let sides = array(-1.0, -1.0, 1.0, -1.0, 1.0, 1.0);
    return Corner(ends[k], 2.0 * ends[k] - 1.0, sides[k]);
#else
    // A triangle around the unit circle.
    let x = array(0.0, -1.7320508, 1.7320508);
    let y = array(2.0, -1.0, -1.0);
    return Corner(0.0, x[k], y[k]);
#endif
}

#ifdef CAST
// Returns a corner of the shadow geometry of a sprite. The geometry is a band or a triangle that faces the light and
// has the same area as the sprite. The geometry is at least one texel of the shadow map wide, so that the shadows of
// thin lines are not dotted. The geometry is moved away from the light by the sprite's radius, so that sprites on the
// same surface do not shade each other.
fn placed(number: u32, corner: Corner) -> vec4<f32> {
    var light = frame.key_clip_from_world;
    var texel = frame.key_texel;
    if SUN_VIEW {
        light = frame.sun_clip_from_world;
        texel = frame.sun_texel;
    }
    let right = normalize(vec3(light[0].x, light[1].x, light[2].x));
    let up = normalize(vec3(light[0].y, light[1].y, light[2].y));
    let away = normalize(vec3(light[0].z, light[1].z, light[2].z));
    let a = grown(position_of(VERTICES * number));
    let b = grown(position_of(VERTICES * number + VERTICES - 1u));
    let middle = mix(a, b, corner.end);
    // Half the size of a texel in world units, at the distance between the centre and the light.
    let half_texel = texel * (light * vec4(middle, 1.0)).w / length(vec3(light[0].x, light[1].x, light[2].x));
    let radius = max(pool.sprite_radius * frame.grow, half_texel);
#ifdef LINES
    let side = cross(away, b - a);
    let size = length(side);
    let across = select(up, side / max(size, 1e-12), size > 1e-9) * corner.across;
#else
    // The triangle is scaled so that its area is that of the disc.
    let across = (right * corner.along + up * corner.across) * 0.7776;
#endif
    return light * vec4(middle + (across + away) * radius, 1.0);
}
#else
fn placed(s: Sprite, corner: Corner) -> vec4<f32> {
    if s.radius <= 0.0 {
        return vec4(2.0, 2.0, 2.0, 1.0);
    }
#ifdef LINES
    let way = s.b - s.a;
    let size = length(way);
    let along = select(vec2(1.0, 0.0), way / max(size, 1e-12), size > 1e-6);
#else
    let along = vec2(1.0, 0.0);
#endif
    let across = vec2(-along.y, along.x);
    let reach = s.radius + DISC_MARGIN;
    let pixel = mix(s.a, s.b, corner.end) + (along * corner.along + across * corner.across) * reach;
    let ndc = (pixel / frame.target_size - 0.5) * vec2(2.0, -2.0);
    let w = mix(s.distances.x, s.distances.y, corner.end);
    let lifted = max(w * (1.0 - LIFT * s.radius * frame.pixel_size), near_distance());
    return vec4(ndc * w, (frame.depth_range - frame.distance_numerator / lifted) * w, w);
}
#endif

@vertex
fn vs(@builtin(vertex_index) i: u32) -> SpriteOut {
    let number = i / CORNERS;
    let corner = corner_of(i % CORNERS);
    let first = VERTICES * number;
    let last = first + VERTICES - 1u;
    var out: SpriteOut;
#ifdef CAST
    out.clip = placed(number, corner);
    let part = corner.end;
#else
    let s = sprite_of(number);
    out.clip = placed(s, corner);
    out.ends = vec4(s.a, s.b);
    out.look = vec3(s.radius, s.distances);
    let part = mix(s.parts.x, s.parts.y, corner.end);
#endif
#ifdef NUMBERED
    out.number = pool.first_triangle + number;
#endif
#ifdef FACING
    out.normal = mix(normal_of(first), normal_of(last), part);
    out.world = grown(mix(position_of(first), position_of(last), part));
#endif
#ifdef ALPHA_TEST
    out.uv0 = mix(uv_of(first, 0u), uv_of(last, 0u), part);
    out.uv1 = mix(uv_of(first, 1u), uv_of(last, 1u), part);
    out.color = mix(color_of(first), color_of(last), part);
#endif
    return out;
}

#ifdef ALPHA_TEST
//{material textures}

fn tested_alpha(v: SpriteOut) -> f32 {
    return tex_base_color(v.uv0, v.uv1).a * material.base_color.a * v.color.a;
}
#endif

#ifndef CAST
fn drawn(v: SpriteOut) -> Sprite {
    var s: Sprite;
    s.a = v.ends.xy;
    s.b = v.ends.zw;
    s.radius = v.look.x;
    s.distances = v.look.yz;
    return s;
}
#endif

#ifdef NUMBERED
struct VisibilityOut {
    // The number of the sprite: its low half and its high half.
    @location(0) triangle: vec2<u32>,
    @builtin(sample_mask) coverage: u32,
}

#ifdef BLEND
// Returns a pseudo-random part of the samples of a pixel. On average, the part is as large as alpha. Sprites therefore
// need not be sorted by distance (Enderton et al. 2010, "Stochastic Transparency"; the hash is PCG: Jarzynski and Olano
// 2020, "Hash Functions for GPU Rendering").
fn blended_samples(alpha: f32, number: u32) -> u32 {
    let state = number * 747796405u + 2891336453u;
    let word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    let random = (word >> 22u) ^ word;
    let fraction = f32(random & 0xffffu) / 65536.0;
    let count = min(u32(alpha * f32(SAMPLES) + fraction), SAMPLES);
    let run = ((1u << count) - 1u) << ((random >> 16u) % SAMPLES);
    return (run | (run >> SAMPLES)) & ((1u << SAMPLES) - 1u);
}
#endif

@fragment
fn fs(v: SpriteOut) -> VisibilityOut {
    var out: VisibilityOut;
    out.triangle = vec2(v.number & 0xffffu, v.number >> 16u);
    out.coverage = covered_samples(drawn(v), v.clip.xy);
#ifdef ALPHA_TEST
    let alpha = tested_alpha(v);
#ifdef BLEND
    out.coverage &= blended_samples(alpha, v.number);
#else
    out.coverage = select(0u, out.coverage, alpha >= material.alpha_cutoff);
#endif
#endif
    if out.coverage == 0u {
        discard;
    }
    return out;
}
#endif

#ifdef FACING
// xyz: unit world-space normal on the visible side; without vertex normals, the direction to the camera. w: distance
// along the camera's axis.
@fragment
fn fs(v: SpriteOut) -> @location(0) vec4<f32> {
#ifdef ALPHA_TEST
    if tested_alpha(v) < material.alpha_cutoff {
        discard;
    }
#endif
    let s = drawn(v);
    let place = nearest_place(s, v.clip.xy);
    if place.y > s.radius * s.radius {
        discard;
    }
    let to_camera = frame.camera_position - v.world;
    var normal = to_camera;
    if pool.has_normals > 0.0 {
        normal = normal_or(v.normal, to_camera);
        normal *= select(-1.0, 1.0, is_front(normal, to_camera));
    }
    return vec4(normalize(normal), distance_along(s, place.x));
}
#endif

#ifdef CAST
#ifdef ALPHA_TEST
@fragment
fn fs(v: SpriteOut) {
    if tested_alpha(v) < material.alpha_cutoff {
        discard;
    }
}
#endif
#endif
