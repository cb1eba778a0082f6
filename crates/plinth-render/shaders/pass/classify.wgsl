// From samples to surfaces: what a pixel shows becomes one surface, or two at an edge, so that each is shaded once.
//
// First draw: both surfaces, and the batch of the first as depth. Second draw (SECOND): the batch of the second.
#import types/frame.wgsl
#import types/visibility.wgsl
#import lib/full_screen.wgsl

#ifdef SECOND
@group(1) @binding(0) var second_surface: texture_2d<u32>;
#else
#ifdef MULTISAMPLED
@group(1) @binding(0) var samples_map: texture_multisampled_2d<u32>;
@group(1) @binding(2) var depth_map: texture_depth_multisampled_2d;
#else
@group(1) @binding(0) var samples_map: texture_2d<u32>;
@group(1) @binding(2) var depth_map: texture_depth_2d;
#endif
#endif
// Per triangle: batch in the low 16 bits, then its mean normal, octahedral, 8 bits a coordinate.
@group(1) @binding(1) var<storage, read> triangles: array<u32>;

@vertex
fn vs(@builtin(vertex_index) i: u32) -> @builtin(position) vec4<f32> {
    return vec4(full_screen_corner(i), 0.0, 1.0);
}

fn batch_of(triangle: u32) -> u32 {
    return triangles[triangle - 1u] & 0xffffu;
}

#ifdef SECOND
@fragment
fn fs(@builtin(position) at: vec4<f32>) -> @builtin(frag_depth) f32 {
    let surface = textureLoad(second_surface, vec2<i32>(at.xy), 0).r;
    if surface == 0u {
        return 0.0;
    }
    return batch_depth(batch_of(surface_triangle(surface)));
}
#else
struct Classified {
    @location(0) first: u32,
    @location(1) second: u32,
    @builtin(frag_depth) batch: f32,
}

// Surfaces of one batch are told apart by normals that differ by more than this cosine,
const SAME_NORMAL: f32 = 0.85;
// or by depths further apart than a plane spans in so many pixels.
const SAME_DEPTH_PIXELS: f32 = 3.0;

fn triangle_normal(info: u32) -> vec3<f32> {
    let e = vec2<f32>(vec2((info >> 16u) & 0xffu, info >> 24u)) / 127.5 - 1.0;
    var n = vec3(e, 1.0 - abs(e.x) - abs(e.y));
    let fold = max(-n.z, 0.0);
    n.x += select(fold, -fold, n.x >= 0.0);
    n.y += select(fold, -fold, n.y >= 0.0);
    return normalize(n);
}

struct Sample {
    triangle: u32,
    batch: u32,
    normal: vec3<f32>,
    distance: f32,
    // How far a plane like this one recedes within the allowed pixels.
    reach: f32,
}

fn same_surface(a: Sample, b: Sample) -> bool {
    return a.triangle == b.triangle
        || (a.triangle != 0u && b.triangle != 0u && a.batch == b.batch && dot(a.normal, b.normal) > SAME_NORMAL
            && abs(a.distance - b.distance) < max(a.reach, b.reach));
}

@fragment
fn fs(@builtin(position) at: vec4<f32>) -> Classified {
    let pixel = vec2<i32>(at.xy);
#ifdef MULTISAMPLED
    var ids: array<u32, 4>;
    var alike = true;
    for (var i = 0u; i < SAMPLES; i++) {
        let halves = textureLoad(samples_map, pixel, i32(i)).rg;
        ids[i] = halves.x | (halves.y << 16u);
        alike = alike && ids[i] == ids[0];
    }
    if alike {
        return whole(ids[0]);
    }
    var list: array<Sample, 4>;
    for (var i = 0u; i < SAMPLES; i++) {
        var one: Sample;
        one.triangle = ids[i];
        if one.triangle != 0u {
            let info = triangles[one.triangle - 1u];
            one.batch = info & 0xffffu;
            one.normal = triangle_normal(info);
            let depth = textureLoad(depth_map, pixel, i32(i));
            one.distance = frame.camera_axis.w / (frame.target_size.z - depth);
            let facing = max(abs(dot(one.normal, frame.camera_axis.xyz)), 0.1);
            one.reach = one.distance * frame.target_size.w * SAME_DEPTH_PIXELS / facing;
        }
        list[i] = one;
    }
    // The surface with the most samples comes first, then the one with the most of the rest.
    let covered = covered_samples(list);
    let first = largest(list, covered);
    let second = largest(list, covered & ~first.y);
    let rest = covered & ~first.y & ~second.y;
    var out: Classified;
    out.first = pack_surface(first.x, first.y);
    out.second = select(0u, pack_surface(second.x, second.y | rest), second.x != 0u);
    out.batch = batch_depth(batch_of(first.x));
    return out;
#else
    let halves = textureLoad(samples_map, pixel, 0).rg;
    return whole(halves.x | (halves.y << 16u));
#endif
}

fn whole(triangle: u32) -> Classified {
    var out: Classified;
    if triangle != 0u {
        out.first = pack_surface(triangle, (1u << SAMPLES) - 1u);
        out.batch = batch_depth(batch_of(triangle));
    }
    return out;
}

#ifdef MULTISAMPLED
fn covered_samples(list: array<Sample, 4>) -> u32 {
    var samples = list;
    var covered = 0u;
    for (var i = 0u; i < SAMPLES; i++) {
        covered |= select(0u, 1u << i, samples[i].triangle != 0u);
    }
    return covered;
}

// x: triangle that stands for the largest surface among some samples; y: the samples of that surface.
fn largest(list: array<Sample, 4>, among: u32) -> vec2<u32> {
    var samples = list;
    var best = vec2(0u);
    for (var i = 0u; i < SAMPLES; i++) {
        if (among & (1u << i)) == 0u {
            continue;
        }
        var alike = 0u;
        for (var k = 0u; k < SAMPLES; k++) {
            if (among & (1u << k)) != 0u && same_surface(samples[i], samples[k]) {
                alike |= 1u << k;
            }
        }
        if countOneBits(alike) > countOneBits(best.y) {
            best = vec2(samples[i].triangle, alike);
        }
    }
    return best;
}
#endif
#endif
