// Shades the pixels in which batches are visible. Each instance is a batch. A pixel has one surface, or two surfaces at
// an edge. Each surface is shaded once: the triangle of the surface is read by its number, and the attributes are
// interpolated at the mean position of the covered samples.
#import types/frame.wgsl
#import types/material.wgsl
#import types/surface_point.wgsl
#import types/visibility.wgsl
#import types/pool.wgsl
#import lib/full_screen.wgsl
#import lib/triangle.wgsl
#import lib/attributes.wgsl
#ifdef SPRITE
#import lib/sprite.wgsl
#endif

@group(1) @binding(2) var surfaces: texture_2d<u32>;
// The other surface of each pixel: the second surface while first surfaces are shaded, and vice versa.
@group(1) @binding(5) var other_surfaces: texture_2d<u32>;
@group(1) @binding(6) var<storage, read> edge_tiles: array<u32>;
#import lib/edge_runs.wgsl

// Change of the texture coordinates from this pixel to the next pixel: xy to the right, zw downwards.
var<private> uv0_steps: vec4<f32>;
var<private> uv1_steps: vec4<f32>;

//{material textures}
#import lib/surface.wgsl

struct BatchIn {
    // The region in which the batch can be visible: left, top, right, bottom.
    @location(0) edges: vec4<f32>,
    // x: the number of the batch; y: the index of its material in the set; z: 1 if its second surfaces are shaded only
    // in tiles with edges, otherwise 0.
    @location(1) batch: vec3<u32>,
}

struct ShadeOut {
    @builtin(position) clip: vec4<f32>,
#ifdef MATERIAL_SET
    // The index of the material in the set.
    @location(0) @interpolate(flat) material: u32,
#endif
}

// The first three vertices cover the whole picture. Vertices 3 to 8 are the corners of two triangles that cover the
// region of the batch, to shade first surfaces. Vertices 9 to 14 cover the same region, to shade second surfaces.
// Vertices from `FIRST_TILE_VERTEX` on cover the tiles with edges.
const FIRST_TILE_VERTEX: u32 = 15u;

@vertex
fn vs(@builtin(vertex_index) i: u32, in: BatchIn) -> ShadeOut {
    var corner: vec2<f32>;
    if i >= FIRST_TILE_VERTEX {
        corner = edge_run_corner(i - FIRST_TILE_VERTEX);
    } else if i < 3u {
        corner = full_screen_corner(i);
    } else if i < 9u || in.batch.z == 0u {
        let k = (i - 3u) % 6u;
        let is_right = k == 2u || k == 3u || k == 5u;
        let is_below = k == 1u || k == 4u || k == 5u;
        corner = select(in.edges.xy, in.edges.zw, vec2(is_right, is_below));
    }
    var out: ShadeOut;
    out.clip = vec4(corner, batch_depth(in.batch.x), 1.0);
#ifdef MATERIAL_SET
    out.material = in.batch.y;
#endif
    return out;
}

// Returns the mean position of the covered samples, relative to the centre of the pixel. The samples are at Vulkan's
// standard locations.
fn middle_of_samples(samples: u32) -> vec2<f32> {
    if SAMPLES != 4u {
        return vec2(0.0);
    }
    var sum = vec2(0.0);
    sum += select(vec2(0.0), vec2(-0.125, -0.375), (samples & 1u) != 0u);
    sum += select(vec2(0.0), vec2(0.375, -0.125), (samples & 2u) != 0u);
    sum += select(vec2(0.0), vec2(-0.375, 0.125), (samples & 4u) != 0u);
    sum += select(vec2(0.0), vec2(0.125, 0.375), (samples & 8u) != 0u);
    // One division takes less time on software drivers than one for each component.
    return sum * (1.0 / f32(max(countOneBits(samples), 1u)));
}

#ifdef UV
#ifdef TANGENT
// Returns the tangent of a vertex as two words, and its first texture coordinates.
fn tangent_and_uv(corner: u32) -> vec4<u32> {
    return four_words(pose[corner * POSE_PARTS + 1u]);
}
#else
fn tangent_and_uv(corner: u32) -> vec4<u32> {
    return vec4(vec2(0u), last_words(pose[corner * POSE_PARTS + 1u]));
}
#endif
#else
fn tangent_and_uv(corner: u32) -> vec4<u32> {
    return vec4(first_words(pose[corner * POSE_PARTS + 1u]), vec2(0u));
}
#endif

// Number of steps from 0 to 1 in a channel of the render target. The number is 0 if the steps are too small to be
// visible.
override STEPS: f32 = 0.0;

// Returns the colour of a surface times the fraction of the pixel that it covers. The results for both surfaces of a
// pixel are added later. Alpha is the coverage of both surfaces together, and is written with the first surface.
fn share_of_picture(color: vec3<f32>, surface: u32, pixel: vec2<i32>) -> vec4<f32> {
    let share = surface_coverage(surface);
    // If a first surface covers the whole pixel, the second surface may be left over from an earlier frame.
    let other = select(surface_coverage(textureLoad(other_surfaces, pixel, 0).r), 0.0, share == 1.0);
    let hidden = share + other;
    let is_first = pool.surface == 0u;
    var part = color * share;
    if STEPS > 0.0 && share < 1.0 {
        // The value is rounded to whole steps of the target, so that the shares of two surfaces with the same colour
        // add up to this colour. The value is slightly increased for render targets that truncate values.
        let whole = floor(saturate(color) * STEPS + 0.5);
        let first = floor(whole * share + 0.5);
        let second = whole - floor(whole * (1.0 - share) + 0.5);
        // `max` keeps the inverse finite in pipelines without steps, where the value is not used.
        part = (select(second, first, is_first) + 0.25) * (1.0 / max(STEPS, 1.0));
    }
    let alpha = select(0.0, hidden, is_first);
#ifdef UNLIT
#ifndef DISPLAY
    return vec4(part, alpha + NO_TONE_CURVE_ALPHA);
#endif
#endif
    return vec4(part, alpha);
}

@fragment
fn fs(given: ShadeOut) -> @location(0) vec4<f32> {
#ifdef MATERIAL_SET
    material = materials[given.material];
#endif
    let at = given.clip;
    let surface = textureLoad(surfaces, vec2<i32>(at.xy), 0).r;
    let to_next = vec2(2.0, -2.0) / frame.target_size;
    let place = at.xy - vec2<f32>(frame.canvas_origin) + middle_of_samples(surface_samples(surface));
    let ndc = place * to_next + vec2(-1.0, 1.0);
    let number = surface_triangle(surface) - pool.first_triangle;
#ifdef SPRITE
    let s = seen_sprite(number, place);
#else
    let s = seen_triangle(number, ndc);
#endif
    let c = s.corners;
    var b = s.weights;
    // If a surface consists of several triangles, the point may be outside the triangle that represents the surface.
    // Slightly outside, extrapolated attributes are close to those of the neighbouring triangles. Farther outside, or
    // for thin triangles, extrapolated attributes would be wrong.
    if any(b < vec3(-0.3)) {
        b = nearest_weights(s);
    }
    let facing_dx = s.g1.y * s.e2.z - s.e1.z * s.g2.y;
    let facing_dy = s.e1.z * s.g2.x - s.g1.x * s.e2.z;
    let share_dx = vec2(s.c0.z * s.g2.y - s.e2.z * s.d0.y, s.e1.z * s.d0.y - s.c0.z * s.g1.y) - b.yz * facing_dx;
    let share_dy = vec2(s.e2.z * s.d0.x - s.c0.z * s.g2.x, s.c0.z * s.g1.x - s.e1.z * s.d0.x) - b.yz * facing_dy;
    let right = share_dx * (s.inverse * to_next.x);
    let down = share_dy * (s.inverse * to_next.y);
    let dx = vec3(-right.x - right.y, right);
    let dy = vec3(-down.x - down.y, down);

    var v: SurfacePoint;
    v.world = grown(s.p0 * b.x + s.p1 * b.y + s.p2 * b.z);
    v.front = s.facing > 0.0;
    let rest_x = tangent_and_uv(c.x);
    let rest_y = tangent_and_uv(c.y);
    let rest_z = tangent_and_uv(c.z);
#ifdef UV
    let u0 = mat3x2(bitcast<vec2<f32>>(rest_x.zw), bitcast<vec2<f32>>(rest_y.zw), bitcast<vec2<f32>>(rest_z.zw));
    v.uv0 = u0 * b;
    v.uv1 = v.uv0;
    uv0_steps = vec4(u0 * dx, u0 * dy);
#endif
#ifdef UV1
    let u1 = mat3x2(uv_of(c.x, 1u), uv_of(c.y, 1u), uv_of(c.z, 1u));
    v.uv1 = u1 * b;
    uv1_steps = vec4(u1 * dx, u1 * dy);
#endif
#ifdef VERTEX_COLOR
    v.color = color_of(c.x) * b.x + color_of(c.y) * b.y + color_of(c.z) * b.z;
#endif
#ifdef LIT
    let n = corner_normals(s);
    let mean = n * b;
#ifdef SPRITE
    v.normal = normal_or(mean, frame.camera_position - v.world);
    // A sprite has no back face, so a normal that points away from the camera is reversed.
    v.front = is_front(v.normal, frame.camera_position - v.world);
#else
    v.normal = normal_or(mean, cross(s.p1 - s.p0, s.p2 - s.p0));
#endif
    let turn_x = n * dx;
    let turn_y = n * dy;
    v.normal_turn = (dot(turn_x, turn_x) + dot(turn_y, turn_y)) / max(dot(mean, mean), 1e-4);
#ifdef TANGENT
    let tangent = from_packed_octahedral(rest_x.x) * b.x + from_packed_octahedral(rest_y.x) * b.y
        + from_packed_octahedral(rest_z.x) * b.z;
    // The lower half of the second word is the handedness. The fragment needs only its sign.
    v.tangent = vec4(tangent, f32(sign(i32(rest_x.y << 16u))));
#endif
#ifdef SPRITE
    v.light = open_light();
#else
    v.light = gathered_light(number, c, b, v.front);
#endif
#endif
    var base = base_color(v);
    base.a = 1.0;
    let seen = surface_color(v, base);
#ifdef TRANSMISSION
    // This colour is not multiplied by the coverage: it will replace the colours of the samples that the surface
    // covers.
    return seen;
#else
    return share_of_picture(seen.rgb, surface, vec2<i32>(at.xy));
#endif
}
