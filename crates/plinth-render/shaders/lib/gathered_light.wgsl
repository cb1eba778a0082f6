// Light that was gathered on surfaces before the first frame. Twin: `upload/gathered_light.rs`.

// Where the light of back sides begins among that of vertices, 0 where there is none; then for each triangle 0, or where
// the light of its lattice begins (28 bits) and how often its sides are halved (4 bits).
@group(3) @binding(0) var<storage, read> light_words: array<u32>;
@group(3) @binding(1) var<storage, read> light_samples: array<u32>;

const LIGHT_SAMPLE_WORDS: u32 = 8u;

struct GatheredLight {
    // Share of the environment's light that arrives.
    direct: vec3<f32>,
    // Irradiance from other surfaces.
    indirect: vec3<f32>,
    // Degree-1 spherical harmonics: visibility of the environment, and luminance of what blocks it.
    visibility: vec4<f32>,
    blocked: vec4<f32>,
}

// Where nothing is in the way.
fn open_light() -> GatheredLight {
    return GatheredLight(vec3(1.0), vec3(0.0), vec4(1.0, 0.0, 0.0, 0.0), vec4(0.0));
}

fn light_value(place: u32, k: u32) -> vec4<f32> {
    let at = place * LIGHT_SAMPLE_WORDS + 2u * k;
    return vec4(unpack2x16float(light_samples[at]), unpack2x16float(light_samples[at + 1u]));
}

fn light_mean(places: vec3<u32>, shares: vec3<f32>, k: u32) -> vec4<f32> {
    return light_value(places.x, k) * shares.x + light_value(places.y, k) * shares.y + light_value(places.z, k) * shares.z;
}

// Light on one side of a triangle of the batch: `corners` are its vertices, `weights` the shares of them at the point.
fn gathered_light(triangle: u32, corners: vec3<u32>, weights: vec3<f32>, front: bool) -> GatheredLight {
    let back = select(light_words[0], 0u, front);
    let word = light_words[1u + triangle];
    var places = corners + back;
    var shares = weights;
    if word != 0u {
        // The point (i, j) of a lattice of n parts lies at the weights (1 − (i + j) / n, i / n, j / n); rows of equal j
        // follow each other (`plinth_bake::Lattice`).
        let n = 1u << (word & 15u);
        let inside = max(weights.yz, vec2(0.0));
        let scaled = inside / max(inside.x + inside.y, 1.0) * f32(n);
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
    return GatheredLight(
        light_mean(places, shares, 0u).rgb,
        light_mean(places, shares, 1u).rgb,
        light_mean(places, shares, 2u),
        light_mean(places, shares, 3u),
    );
}
