// Fetches triangles by number and computes the position of a pixel on them. Needs types/frame.wgsl.

@group(1) @binding(0) var<storage, read> corners: array<u32>;
// The words of `PoseVertex`.
@group(1) @binding(1) var<storage, read> pose: array<u32>;

const POSE_WORDS: u32 = 7u;

fn position_of(corner: u32) -> vec3<f32> {
    let at = corner * POSE_WORDS;
    return vec3(bitcast<f32>(pose[at]), bitcast<f32>(pose[at + 1u]), bitcast<f32>(pose[at + 2u]));
}

fn normal_of(corner: u32) -> vec3<f32> {
    let at = corner * POSE_WORDS + 3u;
    return vec3(unpack2x16snorm(pose[at]), unpack2x16snorm(pose[at + 1u]).x);
}

// A triangle in homogeneous coordinates (x, y, w), and a pixel on it (Olano and Greer 1997, "Triangle Scan Conversion
// using 2D Homogeneous Coordinates").
struct Seen {
    corners: vec3<u32>,
    // World positions of the corners, before the model is scaled.
    p0: vec3<f32>,
    p1: vec3<f32>,
    p2: vec3<f32>,
    // The first corner, and the edges that start at it.
    c0: vec3<f32>,
    e1: vec3<f32>,
    e2: vec3<f32>,
    // The same on the screen relative to the pixel, before the perspective division.
    d0: vec2<f32>,
    g1: vec2<f32>,
    g2: vec2<f32>,
    // Positive if the front is visible, and its inverse; 0 if the triangle is seen edge-on.
    facing: f32,
    inverse: f32,
    // Weights of the corners at the point of the triangle's plane that the pixel shows. Outside of the triangle some
    // are negative.
    weights: vec3<f32>,
}

fn cross2(a: vec2<f32>, b: vec2<f32>) -> f32 {
    return a.x * b.y - a.y * b.x;
}

// The triangle with this number as seen at `ndc`.
fn seen_triangle(number: u32, ndc: vec2<f32>) -> Seen {
    var s: Seen;
    s.corners = vec3(corners[3u * number], corners[3u * number + 1u], corners[3u * number + 2u]);
    s.p0 = position_of(s.corners.x);
    s.p1 = position_of(s.corners.y);
    s.p2 = position_of(s.corners.z);
    // Differences are computed before the projection, because rounding would distort thin triangles.
    s.c0 = (frame.clip_from_world * vec4(grown(s.p0), 1.0)).xyw;
    s.e1 = (frame.clip_from_world * vec4((s.p1 - s.p0) * frame.grow, 0.0)).xyw;
    s.e2 = (frame.clip_from_world * vec4((s.p2 - s.p0) * frame.grow, 0.0)).xyw;
    s.d0 = s.c0.xy - ndc * s.c0.z;
    s.g1 = s.e1.xy - ndc * s.e1.z;
    s.g2 = s.e2.xy - ndc * s.e2.z;
    s.facing = cross2(s.g1, s.g2);
    s.inverse = select(0.0, 1.0 / s.facing, abs(s.facing) > 1e-30);
    let shares = vec2(cross2(s.g2, s.d0), cross2(s.d0, s.g1)) * s.inverse;
    s.weights = vec3(1.0 - shares.x - shares.y, shares);
    return s;
}

// Position of the point of an edge nearest to the origin, 0..1, and its squared distance.
fn nearest_on_edge(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let along = b - a;
    let t = clamp(-dot(a, along) / max(dot(along, along), 1e-20), 0.0, 1.0);
    let p = a + along * t;
    return vec2(t, dot(p, p));
}

// Weights of the corners at the point of the triangle's edges that is nearest to the pixel on the screen. All corners
// are in front of the camera.
fn nearest_weights(s: Seen) -> vec3<f32> {
    let pixels = frame.target_size;
    let w = vec3(s.c0.z, s.c0.z + s.e1.z, s.c0.z + s.e2.z);
    let q0 = s.d0 / w.x * pixels;
    let q1 = (s.d0 + s.g1) / w.y * pixels;
    let q2 = (s.d0 + s.g2) / w.z * pixels;
    let n01 = nearest_on_edge(q0, q1);
    let n12 = nearest_on_edge(q1, q2);
    let n20 = nearest_on_edge(q2, q0);
    var on_screen = vec3(1.0 - n01.x, n01.x, 0.0);
    on_screen = select(on_screen, vec3(0.0, 1.0 - n12.x, n12.x), n12.y < n01.y);
    on_screen = select(on_screen, vec3(n20.x, 0.0, 1.0 - n20.x), n20.y < min(n01.y, n12.y));
    let weights = on_screen / max(w, vec3(1e-6));
    return weights / max(weights.x + weights.y + weights.z, 1e-20);
}
