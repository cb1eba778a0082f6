// Reads the vertex attributes that do not change with the pose. Vertices are addressed by their number. The buffer
// contains `SurfaceVertex` structs as 32-bit words.

@group(1) @binding(4) var<storage, read> attributes: array<u32>;

const ATTRIBUTE_WORDS: u32 = 6u;

fn uv_of(corner: u32, which: u32) -> vec2<f32> {
    let at = corner * ATTRIBUTE_WORDS + 2u * which;
    return vec2(bitcast<f32>(attributes[at]), bitcast<f32>(attributes[at + 1u]));
}

fn color_of(corner: u32) -> vec4<f32> {
    let at = corner * ATTRIBUTE_WORDS + 4u;
    return vec4(unpack2x16unorm(attributes[at]), unpack2x16unorm(attributes[at + 1u]));
}
