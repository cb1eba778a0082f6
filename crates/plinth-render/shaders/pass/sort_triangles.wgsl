// Sorts the triangles of a batch from back to front, if a graphics card draws (bitonic sort; Batcher 1968, "Sorting Networks
// and their Applications"). KEYS computes a key for each triangle, BLOCKS sorts the keys of each block, APART and BLOCKS
// MERGE merge sorted sequences, and INDICES writes the triangles in the order of their keys. The Rust counterpart, which sorts on
// the processor, is `Sortable::back_to_front`.

struct SortedTriangles {
    triangles: u32,
    // Number of keys: a power of two that is not smaller than the number of triangles or than `BLOCK`.
    keys: u32,
    unused: vec2<u32>,
    // The axis of the camera in world space.
    forward: vec3<f32>,
    unused_end: u32,
}

// One step of the sorting network.
struct SortingStep {
    // Length of the sequences that are merged. Every second sequence is sorted in reverse.
    length: u32,
    // Distance of the keys that are compared.
    stride: u32,
}

@group(0) @binding(0) var<uniform> batch: SortedTriangles;
// The keys, whose first word decides and whose second word is the number of the triangle.
@group(0) @binding(1) var<storage, read_write> keys: array<vec2<u32>>;

// Number of invocations of a workgroup, and number of keys that a workgroup sorts.
const WORKGROUP: u32 = 256u;
const BLOCK: u32 = 512u;

// Returns the index of the workgroup. Workgroups are in rows, because the number of workgroups in a row is limited.
fn workgroup_index(id: vec3<u32>, groups: vec3<u32>) -> u32 {
    return id.y * groups.x + id.x;
}

fn is_after(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.x > b.x || (a.x == b.x && a.y > b.y);
}

// Returns the first of the two keys that an invocation compares.
fn compared(invocation: u32, stride: u32) -> u32 {
    return 2u * stride * (invocation / stride) + invocation % stride;
}

#ifdef KEYS
#import lib/corners.wgsl
// The vertices of the current pose: `PoseVertex` structs.
@group(1) @binding(0) var<storage, read> pose: array<u32>;
// The packed corners of each triangle.
@group(1) @binding(1) var<storage, read> corners: array<vec2<u32>>;

fn posed_position(corner: u32) -> vec3<f32> {
    let at = corner * 8u;
    return bitcast<vec3<f32>>(vec3(pose[at], pose[at + 1u], pose[at + 2u]));
}

// Returns a number for each number, with the same order.
fn ordered_bits(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    return select(bits | (1u << 31u), ~bits, (bits >> 31u) == 1u);
}

@compute @workgroup_size(256)
fn cs(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = workgroup_index(id, groups) * WORKGROUP + local;
    if i >= batch.keys {
        return;
    }
    // Keys without a triangle are last.
    var key = vec2(0xffffffffu);
    if i < batch.triangles {
        let corner = unpacked_corners(corners[i]);
        let sum = posed_position(corner.x) + posed_position(corner.y) + posed_position(corner.z);
        key = vec2(~ordered_bits(dot(sum, batch.forward)), i);
    }
    keys[i] = key;
}
#endif

#ifdef BLOCKS
var<workgroup> block: array<vec2<u32>, 512>;

fn compare_in_block(first: u32, step: SortingStep, local: u32) {
    let a = compared(local, step.stride);
    let b = a + step.stride;
    let is_reversed = ((first + a) & step.length) != 0u;
    let low = block[a];
    let high = block[b];
    if is_after(low, high) != is_reversed {
        block[a] = high;
        block[b] = low;
    }
}

#ifdef MERGE
@group(1) @binding(0) var<uniform> stage: SortingStep;
#endif

@compute @workgroup_size(256)
fn cs(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    // All invocations of a workgroup are in the same block, so that all of them reach the barriers or none does.
    let first = workgroup_index(id, groups) * BLOCK;
    if first >= batch.keys {
        return;
    }
    block[local] = keys[first + local];
    block[local + WORKGROUP] = keys[first + local + WORKGROUP];
#ifdef MERGE
    for (var stride = WORKGROUP; stride > 0u; stride /= 2u) {
        workgroupBarrier();
        compare_in_block(first, SortingStep(stage.length, stride), local);
    }
#else
    for (var length = 2u; length <= BLOCK; length *= 2u) {
        for (var stride = length / 2u; stride > 0u; stride /= 2u) {
            workgroupBarrier();
            compare_in_block(first, SortingStep(length, stride), local);
        }
    }
#endif
    workgroupBarrier();
    keys[first + local] = block[local];
    keys[first + local + WORKGROUP] = block[local + WORKGROUP];
}
#endif

#ifdef APART
@group(1) @binding(0) var<uniform> stage: SortingStep;

@compute @workgroup_size(256)
fn cs(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let a = compared(workgroup_index(id, groups) * WORKGROUP + local, stage.stride);
    let b = a + stage.stride;
    if b >= batch.keys {
        return;
    }
    let low = keys[a];
    let high = keys[b];
    if is_after(low, high) != ((a & stage.length) != 0u) {
        keys[a] = high;
        keys[b] = low;
    }
}
#endif

#ifdef INDICES
#import lib/corners.wgsl
@group(1) @binding(0) var<storage, read> corners: array<vec2<u32>>;
@group(1) @binding(1) var<storage, read_write> indices: array<u32>;

@compute @workgroup_size(256)
fn cs(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = workgroup_index(id, groups) * WORKGROUP + local;
    if i >= batch.triangles {
        return;
    }
    let corner = unpacked_corners(corners[keys[i].y]);
    indices[3u * i] = corner.x;
    indices[3u * i + 1u] = corner.y;
    indices[3u * i + 2u] = corner.z;
}
#endif
