// Writes the normal and the distance of the nearest surface at the centre of each pixel, aligned with the colours.
// Masked materials are alpha-tested. Blended materials are drawn where their opacity is at least one half. EXACT: the
// values are computed from the corners of the triangle. Otherwise the values come from the rasteriser, which moves
// corners by fractions of a pixel. Therefore they are inexact near the edges of triangles that are seen at a grazing
// angle.
#import types/frame.wgsl
#import types/posed.wgsl
#ifdef EXACT
#import lib/triangle.wgsl
#endif

@vertex
fn vs(
    in: PosedIn,
#ifdef EXACT
    @builtin(vertex_index) vertex: u32,
#endif
) -> PosedOut {
    var out = posed(in, frame.clip_from_world);
#ifdef EXACT
    out.triangle = vertex;
#endif
    return out;
}

// xyz: unit world-space normal on the visible side; w: distance along the camera's axis, or 0 if there is no surface.
@fragment
fn fs(
    v: PosedOut,
    @builtin(front_facing) front: bool,
) -> @location(0) vec4<f32> {
#ifdef ALPHA_TEST
    if tested_alpha(v) < alpha_cutoff() {
        discard;
    }
#endif
    let side = select(-1.0, 1.0, front);
#ifdef EXACT
    let s = seen_triangle(v.triangle, v.clip.xy * vec2(2.0, -2.0) / frame.target_size + vec2(-1.0, 1.0));
    var b = s.weights;
    let in_front = s.c0.z + min(0.0, min(s.e1.z, s.e2.z)) > 0.0;
    if in_front && (s.inverse == 0.0 || any(b < vec3(0.0))) {
        b = nearest_weights(s);
    }
    let normal = normal_or(corner_normals(s) * b, cross(s.p1 - s.p0, s.p2 - s.p0));
    let distance = s.c0.z + s.e1.z * b.y + s.e2.z * b.z;
#else
    let normal = normal_or(v.normal, -side * frame.camera_axis);
    let distance = v.distance;
#endif
    return vec4(normalize(normal) * side, distance);
}
