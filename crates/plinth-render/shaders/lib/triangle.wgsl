// Reads triangles by their number, and computes the position of a pixel on a triangle. Needs types/frame.wgsl.
#import lib/corners.wgsl
#import lib/grown.wgsl
#import lib/octahedral.wgsl

// The packed corners of each triangle.
@group(1) @binding(0) var<storage, read> corners: array<TwoWords>;
// The vertices of the current pose: `PoseVertex` structs.
@group(1) @binding(1) var<storage, read> pose: array<FourWords>;

// Number of elements of `pose` per vertex. The first element contains the position and the normal.
const POSE_PARTS: u32 = 2u;

fn corners_of(number: u32) -> vec3<u32> {
    return unpacked_corners(two_words(corners[number]));
}

struct PosedVertex {
    position: vec3<f32>,
    // Octahedral coordinates as two 16-bit numbers.
    normal: u32,
}

fn posed_vertex(corner: u32) -> PosedVertex {
    let packed = four_words(pose[corner * POSE_PARTS]);
    return PosedVertex(bitcast<vec3<f32>>(packed.xyz), packed.w);
}

fn position_of(corner: u32) -> vec3<f32> {
    return posed_vertex(corner).position;
}

fn normal_of(corner: u32) -> vec3<f32> {
    return from_packed_octahedral(posed_vertex(corner).normal);
}

// A triangle in homogeneous coordinates (x, y, w), and the point of the triangle that a pixel shows (Olano and Greer
// 1997, "Triangle Scan Conversion using 2D Homogeneous Coordinates").
struct Seen {
    corners: vec3<u32>,
    // World-space positions of the corners, before the overall scale of the frame is applied.
    p0: vec3<f32>,
    p1: vec3<f32>,
    p2: vec3<f32>,
    // Normals of the corners: octahedral coordinates as two 16-bit numbers.
    normals: vec3<u32>,
    // The first corner in homogeneous coordinates, and the edges that start at this corner.
    c0: vec3<f32>,
    e1: vec3<f32>,
    e2: vec3<f32>,
    // The first corner and the edges on the screen, relative to the pixel and before the perspective division.
    d0: vec2<f32>,
    g1: vec2<f32>,
    g2: vec2<f32>,
    // A value that is positive if the front of the triangle is visible, and its inverse. Both values are 0 if the
    // triangle is seen edge-on.
    facing: f32,
    inverse: f32,
    // Barycentric weights of the point that the pixel shows in the plane of the triangle. If the point is outside the
    // triangle, some weights are negative.
    weights: vec3<f32>,
}

fn cross2(a: vec2<f32>, b: vec2<f32>) -> f32 {
    return a.x * b.y - a.y * b.x;
}

// Returns the triangle with this number as seen at the screen position `ndc`.
fn seen_triangle(number: u32, ndc: vec2<f32>) -> Seen {
    var s: Seen;
    s.corners = corners_of(number);
    let a = posed_vertex(s.corners.x);
    let b = posed_vertex(s.corners.y);
    let c = posed_vertex(s.corners.z);
    s.p0 = a.position;
    s.p1 = b.position;
    s.p2 = c.position;
    s.normals = vec3(a.normal, b.normal, c.normal);
    // The edges are computed before the projection. Rounding errors of projected positions would distort thin
    // triangles.
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

// Returns the unit normals of the corners.
fn corner_normals(s: Seen) -> mat3x3<f32> {
    return mat3x3(
        from_packed_octahedral(s.normals.x),
        from_packed_octahedral(s.normals.y),
        from_packed_octahedral(s.normals.z),
    );
}

// Returns the position, 0..1, of the point of an edge that is nearest to the origin, and its squared distance.
fn nearest_on_edge(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let along = b - a;
    let t = clamp(-dot(a, along) / max(dot(along, along), 1e-20), 0.0, 1.0);
    let p = a + along * t;
    return vec2(t, dot(p, p));
}

// Returns the barycentric weights of the point on the triangle's edges that is nearest to the pixel on the screen. All
// corners must be in front of the camera.
fn nearest_weights(s: Seen) -> vec3<f32> {
    let pixels = frame.target_size;
    let w = vec3(s.c0.z, s.c0.z + s.e1.z, s.c0.z + s.e2.z);
    // One division for each corner takes less time on software drivers than one for each component.
    let inverse_w = 1.0 / w;
    let q0 = s.d0 * inverse_w.x * pixels;
    let q1 = (s.d0 + s.g1) * inverse_w.y * pixels;
    let q2 = (s.d0 + s.g2) * inverse_w.z * pixels;
    let n01 = nearest_on_edge(q0, q1);
    let n12 = nearest_on_edge(q1, q2);
    let n20 = nearest_on_edge(q2, q0);
    var on_screen = vec3(1.0 - n01.x, n01.x, 0.0);
    on_screen = select(on_screen, vec3(0.0, 1.0 - n12.x, n12.x), n12.y < n01.y);
    on_screen = select(on_screen, vec3(n20.x, 0.0, 1.0 - n20.x), n20.y < min(n01.y, n12.y));
    let weights = on_screen * select(vec3(1e6), inverse_w, w > vec3(1e-6));
    return weights * (1.0 / max(weights.x + weights.y + weights.z, 1e-20));
}
