// Computes the vertices of a moving pool in a pose, if a graphics card draws. There are three dispatches: VERTICES computes
// the vertices, NUMBERED copies their positions to the order in which vertex i is the first corner of triangle i, and
// TRIANGLES updates the normals of triangles. The Rust counterpart, which poses vertices on the processor, is
// `plinth_scene::Scene::pose`.
#import lib/corners.wgsl
#import lib/octahedral.wgsl

struct PoseCounts {
    vertices: u32,
    // Number of vertices in the order of triangle numbers.
    numbered: u32,
    triangles: u32,
    // Index of the word of the first triangle, or `NO_WORDS` if the triangles are sorted and therefore have none.
    first_word: u32,
}

// A vertex before it is posed.
struct RestVertex {
    // Relative to the centre of the primitive, because numbers with single precision are less exact far from the origin.
    position: vec3<f32>,
    // Index of the vertex's primitive in `pieces`.
    piece: u32,
    // Zero if the primitive has no normals.
    normal: vec3<f32>,
    handedness: f32,
    // Zero if the primitive has no tangents.
    tangent: vec3<f32>,
    // Index of the vertex in its primitive.
    number: u32,
    weights: vec4<f32>,
    // Four 16-bit numbers.
    joints: vec2<u32>,
    uv0: vec2<f32>,
}

// A primitive in the current pose.
struct PosedPiece {
    // Index in `transforms` of the only transform, or of that of the first joint.
    first_transform: u32,
    // Number of joints, or 0 without a skin. The transform after those of the joints leaves vertices in their places.
    joints: u32,
    // Index in `displacements` of the first displacement of the first morph target.
    first_displacement: u32,
    vertices: u32,
    // Index in `morph_weights` of the weight of the first morph target.
    first_weight: u32,
    targets: u32,
    // −1 if the transform mirrors, 1 otherwise.
    flip: f32,
    // 1 if the normals are those of the posed triangles, 0 otherwise.
    is_flat: u32,
    // 1 if the primitive has tangents, 0 otherwise.
    has_tangents: u32,
}

@group(0) @binding(0) var<uniform> counts: PoseCounts;
@group(0) @binding(1) var<storage, read> rest: array<RestVertex>;
@group(0) @binding(2) var<storage, read> pieces: array<PosedPiece>;
// `PoseVertex` structs.
@group(0) @binding(3) var<storage, read_write> pose: array<u32>;

// Number of elements of `pose` per vertex.
const POSE_WORDS: u32 = 8u;
const NORMAL_WORD: u32 = 3u;

// Returns the index of the invocation. Its workgroups are in rows, because the number of workgroups in a row is limited.
fn invocation(id: vec3<u32>, groups: vec3<u32>) -> u32 {
    return id.y * groups.x * 256u + id.x;
}

// Returns the octahedral coordinates of a direction. The zero vector has the coordinates of +Z.
fn octahedral(direction: vec3<f32>) -> vec2<f32> {
    let sum = abs(direction.x) + abs(direction.y) + abs(direction.z);
    let d = select(vec3(0.0, 0.0, 1.0), direction / sum, sum > 0.0);
    let folded = (1.0 - abs(d.yx)) * select(vec2(-1.0), vec2(1.0), d.xy >= vec2(0.0));
    return select(d.xy, folded, d.z < 0.0);
}

// Returns octahedral coordinates as two signed normalised 16-bit integers.
fn packed_octahedral(direction: vec3<f32>) -> u32 {
    let e = vec2<i32>(round(octahedral(direction) * 32767.0));
    return (bitcast<u32>(e.x) & 0xffffu) | (bitcast<u32>(e.y) << 16u);
}

// Returns a vector of length 1. Vectors without a direction become +Y. The vector is scaled first, because the squared
// length of a tiny vector would underflow.
fn unit_or_up(v: vec3<f32>) -> vec3<f32> {
    let largest = max(abs(v.x), max(abs(v.y), abs(v.z)));
    return select(vec3(0.0, 1.0, 0.0), normalize(v / largest), largest > 0.0);
}

#ifdef VERTICES
// The rows of affine transforms to world space.
@group(1) @binding(0) var<storage, read> transforms: array<mat3x4<f32>>;
// Three vectors (position, normal, tangent) per vertex and morph target. All vertices of a target are together.
@group(1) @binding(1) var<storage, read> displacements: array<f32>;
@group(1) @binding(2) var<storage, read> morph_weights: array<f32>;

// Returns a vector, three elements of `displacements`.
fn displacement(at: u32) -> vec3<f32> {
    return vec3(displacements[at], displacements[at + 1u], displacements[at + 2u]);
}

// Returns the transform of a vertex: the weighted sum of the transforms of its joints.
fn transform_of(piece: PosedPiece, vertex: RestVertex) -> mat3x4<f32> {
    if piece.joints == 0u {
        return transforms[piece.first_transform];
    }
    let joints = vec4(vertex.joints.x & 0xffffu, vertex.joints.x >> 16u, vertex.joints.y & 0xffffu, vertex.joints.y >> 16u);
    var sum = mat3x4<f32>();
    for (var i = 0u; i < 4u; i++) {
        if vertex.weights[i] > 0.0 {
            sum += transforms[piece.first_transform + min(joints[i], piece.joints)] * vertex.weights[i];
        }
    }
    return sum;
}

@compute @workgroup_size(256)
fn cs(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let v = invocation(id, groups);
    if v >= counts.vertices {
        return;
    }
    let vertex = rest[v];
    let piece = pieces[vertex.piece];
    var position = vertex.position;
    var normal = vertex.normal;
    var tangent = vertex.tangent;
    for (var target_number = 0u; target_number < piece.targets; target_number++) {
        let weight = morph_weights[piece.first_weight + target_number];
        if weight != 0.0 {
            let at = piece.first_displacement + 9u * (target_number * piece.vertices + vertex.number);
            position += displacement(at) * weight;
            normal += displacement(at + 3u) * weight;
            tangent += displacement(at + 6u) * weight;
        }
    }
    let transform = transform_of(piece, vertex);
    let world = vec4(position, 1.0) * transform;
    // The linear part is divided by its largest entry, because its cofactors could exceed the range of numbers.
    let size = max(abs(transform[0].xyz), max(abs(transform[1].xyz), abs(transform[2].xyz)));
    let largest = max(size.x, max(size.y, size.z));
    let inverse = select(0.0, 1.0 / largest, largest > 0.0);
    let x = transform[0].xyz * inverse;
    let y = transform[1].xyz * inverse;
    let z = transform[2].xyz * inverse;
    // Normals are transformed by the cofactor matrix, which also exists if the transform flattens.
    let turned = vec3(dot(cross(y, z), normal), dot(cross(z, x), normal), dot(cross(x, y), normal));
    let outward = unit_or_up(select(turned, -turned, dot(x, cross(y, z)) < 0.0));
    let along = unit_or_up(vec3(dot(x, tangent), dot(y, tangent), dot(z, tangent)));
    let shown_tangent = select(vec3(1.0, 0.0, 0.0), along, piece.has_tangents == 1u);
    let to = v * POSE_WORDS;
    pose[to] = bitcast<u32>(world.x);
    pose[to + 1u] = bitcast<u32>(world.y);
    pose[to + 2u] = bitcast<u32>(world.z);
    pose[to + NORMAL_WORD] = packed_octahedral(outward);
    pose[to + 4u] = packed_octahedral(shown_tangent);
    pose[to + 5u] = bitcast<u32>(i32(round(clamp(vertex.handedness * piece.flip, -1.0, 1.0) * 32767.0))) & 0xffffu;
    pose[to + 6u] = bitcast<u32>(vertex.uv0.x);
    pose[to + 7u] = bitcast<u32>(vertex.uv0.y);
}
#endif

#ifdef NUMBERED
// For each vertex of the order, its index in the pool.
@group(1) @binding(0) var<storage, read> order: array<u32>;
// Three numbers per vertex of the order.
@group(1) @binding(1) var<storage, read_write> positions: array<u32>;

@compute @workgroup_size(256)
fn cs(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let v = invocation(id, groups);
    if v >= counts.numbered {
        return;
    }
    let vertex = order[v] * POSE_WORDS;
    for (var i = 0u; i < 3u; i++) {
        positions[3u * v + i] = pose[vertex + i];
    }
}
#endif

#ifdef TRIANGLES
// The packed corners of each triangle.
@group(1) @binding(0) var<storage, read> corners: array<vec2<u32>>;
// One word per triangle of the model, as in pass/classify.wgsl.
@group(1) @binding(1) var<storage, read_write> triangles: array<u32>;

const NO_WORDS: u32 = 0xffffffffu;

fn posed_position(corner: u32) -> vec3<f32> {
    let at = corner * POSE_WORDS;
    return bitcast<vec3<f32>>(vec3(pose[at], pose[at + 1u], pose[at + 2u]));
}

fn posed_normal(corner: u32) -> vec3<f32> {
    return from_packed_octahedral(pose[corner * POSE_WORDS + NORMAL_WORD]);
}

@compute @workgroup_size(256)
fn cs(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let triangle = invocation(id, groups);
    if triangle >= counts.triangles {
        return;
    }
    let corner = unpacked_corners(corners[triangle]);
    if pieces[rest[corner.x].piece].is_flat == 1u {
        // No other triangle has these corners. Their order follows the winding, so mirrored triangles need no other sign.
        let first = posed_position(corner.x);
        let u = posed_position(corner.y) - first;
        let v = posed_position(corner.z) - first;
        let size = max(max(abs(u.x), max(abs(u.y), abs(u.z))), 1.1754944e-38);
        let across = cross(u / size, v / size);
        let area = dot(across, across);
        // A triangle without an area keeps its normals.
        if area > 0.0 {
            let normal = packed_octahedral(across);
            pose[corner.x * POSE_WORDS + NORMAL_WORD] = normal;
            pose[corner.y * POSE_WORDS + NORMAL_WORD] = normal;
            pose[corner.z * POSE_WORDS + NORMAL_WORD] = normal;
        }
    }
    if counts.first_word == NO_WORDS {
        return;
    }
    let mean = posed_normal(corner.x) + posed_normal(corner.y) + posed_normal(corner.z);
    let e = vec2<u32>(round((octahedral(mean) * 0.5 + 0.5) * 255.0));
    let at = counts.first_word + triangle;
    triangles[at] = (triangles[at] & 0xffffu) | (e.x << 16u) | (e.y << 24u);
}
#endif
