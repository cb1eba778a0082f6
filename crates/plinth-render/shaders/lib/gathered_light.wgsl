// Reads the baked light of surfaces. `upload/gathered_light.rs` packs the data.
#import lib/color.wgsl
#import lib/light_samples.wgsl

// Two words per triangle. The first word is 0 if the triangle has no lattice. Otherwise its upper 28 bits are the index
// of the lattice's first sample in `light_samples`, and its lower 4 bits are the number of times that the edges are
// halved. The second word is the index of the first sample of back faces, or 0 if the batch has no light on back faces.
// The second word is the same for all triangles of a batch.
@group(3) @binding(0) var<storage, read> light_words: array<TwoWords>;
@group(3) @binding(1) var<storage, read> light_samples: array<FourWords>;

struct GatheredLight {
    // Fraction of the environment's light that arrives at the surface.
    direct: vec3<f32>,
    // Irradiance from other surfaces of the model.
    indirect: vec3<f32>,
    // Visibility of the environment as spherical harmonics of degree 1. `blocked` is the luminance of the surfaces that
    // block the environment, in the same form.
    visibility: vec4<f32>,
    blocked: vec4<f32>,
}

// Returns the light on a surface from which nothing blocks the environment.
fn open_light() -> GatheredLight {
    return GatheredLight(vec3(1.0), vec3(0.0), vec4(1.0, 0.0, 0.0, 0.0), vec4(0.0));
}

// Adds the light of one stored point, multiplied by its weight `share`, to a sum.
fn add_light(sum: ptr<function, GatheredLight>, place: u32, share: f32) {
    let sample = four_words(light_samples[place]);
    let indirect = light_color(sample.y);
    (*sum).direct += light_color(sample.x) * share;
    (*sum).indirect += indirect * share;
    (*sum).visibility += light_bytes(sample.z) * share;
    (*sum).blocked += light_bytes(sample.w) * (luminance(indirect) * share);
}

// Returns the light on one side of a triangle of the pool. `corners` are the triangle's vertices, and `weights` are
// the barycentric weights of the point.
fn gathered_light(triangle: u32, corners: vec3<u32>, weights: vec3<f32>, front: bool) -> GatheredLight {
    let light_places = two_words(light_words[triangle]);
    let back = select(light_places.y, 0u, front);
    let word = light_places.x;
    var places = corners + back;
    var shares = weights;
    if word != 0u {
        // In a lattice with n segments per edge, the point (i, j) has the barycentric weights (1 − (i + j) / n, i / n,
        // j / n). The points are stored in rows of equal j (`plinth_bake::Lattice`).
        let n = 1u << (word & 15u);
        let inside = max(weights.yz, vec2(0.0));
        let scaled = inside * (f32(n) / max(inside.x + inside.y, 1.0));
        let j = min(u32(scaled.y), n - 1u);
        let i = min(u32(scaled.x), n - 1u - j);
        let f = scaled - vec2(f32(i), f32(j));
        let first = (word >> 4u) + select(0u, (n + 1u) * (n + 2u) / 2u, back != 0u);
        let row = first + j * (2u * n + 3u - j) / 2u + i;
        let above = first + (j + 1u) * (2u * n + 2u - j) / 2u + i;
        if f.x + f.y <= 1.0 || i + j + 2u > n {
            places = vec3(row, row + 1u, above);
            shares = vec3(1.0 - f.x - f.y, f.x, f.y);
        } else {
            places = vec3(above + 1u, above, row + 1u);
            shares = vec3(f.x + f.y - 1.0, 1.0 - f.x, 1.0 - f.y);
        }
    }
    var sum = GatheredLight(vec3(0.0), vec3(0.0), vec4(0.0), vec4(0.0));
    add_light(&sum, places.x, shares.x);
    add_light(&sum, places.y, shares.y);
    add_light(&sum, places.z, shares.z);
    return sum;
}
