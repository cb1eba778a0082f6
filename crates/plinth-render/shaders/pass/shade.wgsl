// Shades the pixels of one batch, each once: the triangle is fetched by its number, and its attributes are
// interpolated at the middle of the samples it covers.
#import types/frame.wgsl
#import types/material.wgsl
#import types/surface_point.wgsl
#import types/visibility.wgsl
#import lib/full_screen.wgsl

struct Batch {
    // The number of its first triangle.
    first_triangle: u32,
    // Its place among the batches.
    number: u32,
}

@group(1) @binding(0) var surfaces: texture_2d<u32>;
@group(1) @binding(1) var<uniform> batch: Batch;
@group(1) @binding(2) var<storage, read> corners: array<u32>;
// Twin of `PoseVertex`, as words.
@group(1) @binding(3) var<storage, read> pose: array<u32>;
// Twin of `SurfaceVertex`, as words.
@group(1) @binding(4) var<storage, read> attributes: array<u32>;

const POSE_WORDS: u32 = 7u;
const ATTRIBUTE_WORDS: u32 = 14u;

// Change of the texture coordinates from this pixel to the next: xy to the right, zw downward.
var<private> uv0_steps: vec4<f32>;
var<private> uv1_steps: vec4<f32>;

//{material textures}
#import lib/surface.wgsl

@vertex
fn vs(@builtin(vertex_index) i: u32) -> @builtin(position) vec4<f32> {
    return vec4(full_screen_corner(i), batch_depth(batch.number), 1.0);
}

// Places of the four samples of a pixel (Vulkan's standard locations), from its middle.
fn middle_of_samples(samples: u32) -> vec2<f32> {
    if SAMPLES != 4u {
        return vec2(0.0);
    }
    var sum = vec2(0.0);
    sum += select(vec2(0.0), vec2(-0.125, -0.375), (samples & 1u) != 0u);
    sum += select(vec2(0.0), vec2(0.375, -0.125), (samples & 2u) != 0u);
    sum += select(vec2(0.0), vec2(-0.375, 0.125), (samples & 4u) != 0u);
    sum += select(vec2(0.0), vec2(0.125, 0.375), (samples & 8u) != 0u);
    return sum / f32(max(countOneBits(samples), 1u));
}

fn position_of(corner: u32) -> vec3<f32> {
    let at = corner * POSE_WORDS;
    return vec3(bitcast<f32>(pose[at]), bitcast<f32>(pose[at + 1u]), bitcast<f32>(pose[at + 2u]));
}

fn normal_of(corner: u32) -> vec3<f32> {
    let at = corner * POSE_WORDS + 3u;
    return vec3(unpack2x16snorm(pose[at]), unpack2x16snorm(pose[at + 1u]).x);
}

fn tangent_of(corner: u32) -> vec4<f32> {
    let at = corner * POSE_WORDS + 5u;
    return vec4(unpack2x16snorm(pose[at]), unpack2x16snorm(pose[at + 1u]));
}

fn uv_of(corner: u32, which: u32) -> vec2<f32> {
    let at = corner * ATTRIBUTE_WORDS + 2u * which;
    return vec2(bitcast<f32>(attributes[at]), bitcast<f32>(attributes[at + 1u]));
}

fn color_of(corner: u32) -> vec4<f32> {
    let at = corner * ATTRIBUTE_WORDS + 4u;
    return vec4(unpack2x16unorm(attributes[at]), unpack2x16unorm(attributes[at + 1u]));
}

// The k-th of the gathered values: 0 direct, 1 indirect, 2 visibility, 3 blocked.
fn light_of(corner: u32, k: u32) -> vec4<f32> {
    let at = corner * ATTRIBUTE_WORDS + 6u + 2u * k;
    return vec4(unpack2x16float(attributes[at]), unpack2x16float(attributes[at + 1u]));
}

fn cross2(a: vec2<f32>, b: vec2<f32>) -> f32 {
    return a.x * b.y - a.y * b.x;
}

// Place along an edge that is nearest to the origin, 0..1, and its squared distance.
fn nearest_on_edge(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let along = b - a;
    let t = clamp(-dot(a, along) / max(dot(along, along), 1e-20), 0.0, 1.0);
    let p = a + along * t;
    return vec2(t, dot(p, p));
}

// Weights of the corners at the point of a triangle's edges that is nearest to the origin on the screen; `w` are the
// distances by which perspective divides.
fn nearest_weights(q0: vec2<f32>, q1: vec2<f32>, q2: vec2<f32>, w: vec3<f32>) -> vec3<f32> {
    let pixels = frame.target_size.xy;
    let n01 = nearest_on_edge(q0 * pixels, q1 * pixels);
    let n12 = nearest_on_edge(q1 * pixels, q2 * pixels);
    let n20 = nearest_on_edge(q2 * pixels, q0 * pixels);
    var on_screen = vec3(1.0 - n01.x, n01.x, 0.0);
    on_screen = select(on_screen, vec3(0.0, 1.0 - n12.x, n12.x), n12.y < n01.y);
    on_screen = select(on_screen, vec3(n20.x, 0.0, 1.0 - n20.x), n20.y < min(n01.y, n12.y));
    let weights = on_screen / max(w, vec3(1e-6));
    return weights / max(weights.x + weights.y + weights.z, 1e-20);
}

@fragment
fn fs(@builtin(position) at: vec4<f32>) -> @location(0) vec4<f32> {
    let surface = textureLoad(surfaces, vec2<i32>(at.xy), 0).r;
    let first = (surface_triangle(surface) - batch.first_triangle) * 3u;
    let c = vec3(corners[first], corners[first + 1u], corners[first + 2u]);

    // Perspective-correct weights of the corners, from homogeneous coordinates relative to the pixel (Olano and
    // Greer 1997, "Triangle Scan Conversion using 2D Homogeneous Coordinates").
    let p0 = grown(position_of(c.x));
    let p1 = grown(position_of(c.y));
    let p2 = grown(position_of(c.z));
    let to_next = vec2(2.0, -2.0) / frame.target_size.xy;
    let ndc = (at.xy + middle_of_samples(surface_samples(surface))) * to_next + vec2(-1.0, 1.0);
    // Differences are taken before they are projected: slivers would lose their shape to rounding.
    let c0 = (frame.clip_from_world * vec4(p0, 1.0)).xyw;
    let e1 = (frame.clip_from_world * vec4((position_of(c.y) - position_of(c.x)) * frame.camera.w, 0.0)).xyw;
    let e2 = (frame.clip_from_world * vec4((position_of(c.z) - position_of(c.x)) * frame.camera.w, 0.0)).xyw;
    let d0 = c0.xy - ndc * c0.z;
    let g1 = e1.xy - ndc * e1.z;
    let g2 = e2.xy - ndc * e2.z;
    let total = cross2(g1, g2);
    let inverse = select(0.0, 1.0 / total, abs(total) > 1e-30);
    let share = vec2(cross2(g2, d0), cross2(d0, g1)) * inverse;
    var b = vec3(1.0 - share.x - share.y, share);
    // Of a surface of several triangles the point may be outside of the one that stands for it. Just outside its values
    // go on as those of its neighbours do; those of a sliver would run far off.
    if any(b < vec3(-0.3)) {
        let w = vec3(c0.z, c0.z + e1.z, c0.z + e2.z);
        b = nearest_weights(d0 / w.x, (d0 + g1) / w.y, (d0 + g2) / w.z, w);
    }
    let total_dx = g1.y * e2.z - e1.z * g2.y;
    let total_dy = e1.z * g2.x - g1.x * e2.z;
    let share_dx = vec2(c0.z * g2.y - e2.z * d0.y, e1.z * d0.y - c0.z * g1.y) - b.yz * total_dx;
    let share_dy = vec2(e2.z * d0.x - c0.z * g2.x, c0.z * g1.x - e1.z * d0.x) - b.yz * total_dy;
    let right = share_dx * (inverse * to_next.x);
    let down = share_dy * (inverse * to_next.y);
    let dx = vec3(-right.x - right.y, right);
    let dy = vec3(-down.x - down.y, down);

    var v: SurfacePoint;
    v.world = p0 * b.x + p1 * b.y + p2 * b.z;
    v.front = total > 0.0;
#ifdef UV
    let u0 = mat3x2(uv_of(c.x, 0u), uv_of(c.y, 0u), uv_of(c.z, 0u));
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
    let n = mat3x3(normal_of(c.x), normal_of(c.y), normal_of(c.z));
    v.normal = n * b;
    let turn_x = n * dx;
    let turn_y = n * dy;
    v.normal_turn = (dot(turn_x, turn_x) + dot(turn_y, turn_y)) / max(dot(v.normal, v.normal), 1e-4);
#ifdef TANGENT
    let t0 = tangent_of(c.x);
    v.tangent = vec4(t0.xyz * b.x + tangent_of(c.y).xyz * b.y + tangent_of(c.z).xyz * b.z, sign(t0.w));
#endif
    v.direct = light_of(c.x, 0u).rgb * b.x + light_of(c.y, 0u).rgb * b.y + light_of(c.z, 0u).rgb * b.z;
    v.indirect = light_of(c.x, 1u).rgb * b.x + light_of(c.y, 1u).rgb * b.y + light_of(c.z, 1u).rgb * b.z;
    v.visibility = light_of(c.x, 2u) * b.x + light_of(c.y, 2u) * b.y + light_of(c.z, 2u) * b.z;
    v.blocked = light_of(c.x, 3u) * b.x + light_of(c.y, 3u) * b.y + light_of(c.z, 3u) * b.z;
#endif
    var base = base_color(v);
    base.a = 1.0;
    return surface_color(v, base);
}
