// Groups the samples of each pixel to surfaces. A pixel has one surface, or two surfaces at an edge. Each surface is
// shaded only once. A batch is geometry that has the same material.
//
// There are four draws. The first draw writes the surface of each pixel that shows only one triangle. The first draw
// also writes the number of the batch of each pixel's first surface as a depth value, and records the tiles that
// contain pixels with several triangles ("edge pixels"). The other three draws cover only these tiles. The second draw
// (MARK) marks the edge pixels in another depth buffer. The third draw (EDGE_PIXELS) determines both surfaces of the
// marked pixels, which the depth test selects. The fourth draw (ONE_SURFACE without MARK) replaces each mark by the
// number of the batch of the second surface. The depth test selects the marked pixels again, because the other pixels of
// the second surfaces may be left over from an earlier frame.
#import types/frame.wgsl
#import types/visibility.wgsl
#import lib/full_screen.wgsl
#import lib/octahedral.wgsl

#ifdef ONE_SURFACE
@group(1) @binding(0) var surface_map: texture_2d<u32>;
#else
#ifdef MULTISAMPLED
@group(1) @binding(0) var samples_map: texture_multisampled_2d<u32>;
@group(1) @binding(2) var depth_map: texture_depth_multisampled_2d;
#else
@group(1) @binding(0) var samples_map: texture_2d<u32>;
@group(1) @binding(2) var depth_map: texture_depth_2d;
#endif
#endif
// One word per triangle. The low 16 bits are the number of the triangle's batch. The high 16 bits are its mean normal
// as two 8-bit octahedral coordinates.
@group(1) @binding(1) var<storage, read> triangles: array<u32>;

#ifdef AT_EDGES
@group(1) @binding(3) var<storage, read> edge_tiles: array<u32>;
#ifdef MARK
@group(1) @binding(4) var<storage, read> previous_edge_tiles: array<u32>;
#endif
#import lib/edge_runs.wgsl

@vertex
fn vs(@builtin(vertex_index) i: u32) -> @builtin(position) vec4<f32> {
    return vec4(edge_run_corner(i), 0.5, 1.0);
}
#else
#ifdef MULTISAMPLED
@group(1) @binding(3) var<storage, read_write> edge_tiles: array<u32>;
#import lib/edge_tiles.wgsl
// The number of tiles in a row, which is the first word of `edge_tiles`.
override ROW_TILES: u32 = 1u;
#endif

@vertex
fn vs(@builtin(vertex_index) i: u32) -> @builtin(position) vec4<f32> {
    return vec4(full_screen_corner(i), 0.5, 1.0);
}
#endif

fn batch_of(triangle: u32) -> u32 {
    return triangles[triangle - 1u] & 0xffffu;
}

#ifdef ONE_SURFACE
@fragment
fn fs(@builtin(position) at: vec4<f32>) -> @builtin(frag_depth) f32 {
    let surface = textureLoad(surface_map, vec2<i32>(at.xy), 0).r;
#ifdef MARK
    return select(0.0, 1.0, surface != 0u && surface_samples(surface) == 0u);
#else
    if surface == 0u {
        return 0.0;
    }
    return batch_depth(batch_of(surface_triangle(surface)));
#endif
}
#else
struct Classified {
    @location(0) first: u32,
#ifdef EDGE_PIXELS
    @location(1) second: u32,
#else
    @builtin(frag_depth) batch: f32,
#endif
}

#ifdef MULTISAMPLED
fn triangle_at(pixel: vec2<i32>, i: i32) -> u32 {
    let halves = textureLoad(samples_map, pixel, i).rg;
    return halves.x | (halves.y << 16u);
}

fn triangles_at(pixel: vec2<i32>) -> vec4<u32> {
    return vec4(triangle_at(pixel, 0), triangle_at(pixel, 1), triangle_at(pixel, 2), triangle_at(pixel, 3));
}

// Returns the triangle that most samples show. Returns 0 only if no sample shows a triangle.
fn most_seen(ids: vec4<u32>) -> u32 {
    let one = vec4(1u);
    let counts = select(vec4(0u), one, ids == vec4(ids.x)) + select(vec4(0u), one, ids == vec4(ids.y))
        + select(vec4(0u), one, ids == vec4(ids.z)) + select(vec4(0u), one, ids == vec4(ids.w));
    let votes = select(counts, vec4(0u), ids == vec4(0u));
    var best = vec2(ids.x, votes.x);
    best = select(best, vec2(ids.y, votes.y), votes.y > best.y);
    best = select(best, vec2(ids.z, votes.z), votes.z > best.y);
    best = select(best, vec2(ids.w, votes.w), votes.w > best.y);
    return best.x;
}
#endif

fn model_pixel(at: vec4<f32>) -> vec2<i32> {
    return vec2<i32>(at.xy) - vec2<i32>(frame.canvas_origin);
}

#ifdef EDGE_PIXELS
// Two triangles of a batch belong to different surfaces if the cosine between their normals is below this.
const SAME_NORMAL: f32 = 0.85;
// Two triangles also belong to different surfaces if their depths differ by more than the depth of a plane changes over
// this number of pixels.
const SAME_DEPTH_PIXELS: f32 = 3.0;

fn triangle_normal(info: u32) -> vec3<f32> {
    return from_octahedral(vec2<f32>(vec2((info >> 16u) & 0xffu, info >> 24u)) / 127.5 - 1.0);
}

fn info_of(triangle: u32) -> u32 {
    return triangles[max(triangle, 1u) - 1u];
}

// Returns the surface with the most samples. `same` contains for each sample the samples of the same surface. Only the
// samples in `among` are considered. Sets of samples are bit masks. In the result, x is the triangle that represents
// the surface, and y are the surface's samples.
fn largest(ids: vec4<u32>, same: vec4<u32>, among: u32) -> vec2<u32> {
    let members = select(vec4(0u), same & vec4(among), (vec4(among) & vec4(1u, 2u, 4u, 8u)) != vec4(0u));
    let counts = countOneBits(members);
    var best = vec3(ids.x, members.x, counts.x);
    best = select(best, vec3(ids.y, members.y, counts.y), counts.y > best.z);
    best = select(best, vec3(ids.z, members.z, counts.z), counts.z > best.z);
    best = select(best, vec3(ids.w, members.w, counts.w), counts.w > best.z);
    return best.xy;
}

@fragment
fn fs(@builtin(position) at: vec4<f32>) -> Classified {
    let pixel = model_pixel(at);
    let ids = triangles_at(pixel);
    let infos = vec4(info_of(ids.x), info_of(ids.y), info_of(ids.z), info_of(ids.w));
    let depths = vec4(
        textureLoad(depth_map, pixel, 0), textureLoad(depth_map, pixel, 1),
        textureLoad(depth_map, pixel, 2), textureLoad(depth_map, pixel, 3),
    );
    let normals = mat4x3(
        triangle_normal(infos.x), triangle_normal(infos.y), triangle_normal(infos.z), triangle_normal(infos.w),
    );
    let distances = frame.distance_numerator / (frame.depth_range - depths);
    let reach = distances * frame.pixel_size * SAME_DEPTH_PIXELS / max(abs(frame.camera_axis * normals), vec4(0.1));
    // For each sample, finds the other samples that show the same batch with a similar normal and depth.
    let covered_vector = select(vec4(0u), vec4(1u, 2u, 4u, 8u), ids != vec4(0u));
    let covered = covered_vector.x | covered_vector.y | covered_vector.z | covered_vector.w;
    var same: vec4<u32>;
    for (var i = 0; i < 4; i++) {
        let alike = (vec4(infos[i] & 0xffffu) == (infos & vec4(0xffffu))) & (normals[i] * normals > vec4(SAME_NORMAL))
            & (abs(vec4(distances[i]) - distances) < max(vec4(reach[i]), reach));
        let samples = select(vec4(0u), covered_vector, alike | (ids == vec4(ids[i])));
        same[i] = samples.x | samples.y | samples.z | samples.w;
    }
    // The first surface contains the triangle that most samples show. The second surface is the surface with most of
    // the remaining samples. All other samples are added to the second surface.
    let triangle = most_seen(ids);
    let of_triangle = select(vec4(0u), same, ids == vec4(triangle));
    let first = of_triangle.x | of_triangle.y | of_triangle.z | of_triangle.w;
    let rest = covered & ~first;
    let second = largest(ids, same, rest);
    var out: Classified;
    out.first = pack_surface(triangle, first);
    out.second = select(0u, pack_surface(second.x, rest), rest != 0u);
    return out;
}
#else
@fragment
fn fs(@builtin(position) at: vec4<f32>) -> Classified {
#ifdef MULTISAMPLED
    let ids = triangles_at(model_pixel(at));
    let triangle = most_seen(ids);
    let edge = any(ids != vec4(ids.x));
    if edge {
        let tile = vec2<u32>(at.xy) / TILE_SIDE;
        edge_tiles[TILE_HEADER + tile.y * ROW_TILES + tile.x] = 1u;
    }
#else
    let halves = textureLoad(samples_map, model_pixel(at), 0).rg;
    let triangle = halves.x | (halves.y << 16u);
    let edge = false;
#endif
    var out: Classified;
    if triangle != 0u {
        out.first = pack_surface(triangle, select((1u << SAMPLES) - 1u, 0u, edge));
        out.batch = batch_depth(batch_of(triangle));
    }
    return out;
}
#endif
#endif
