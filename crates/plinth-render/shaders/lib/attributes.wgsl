// Reads the vertex attributes that do not change with the pose. Vertices are addressed by their number. The buffer
// contains `SurfaceVertex` structs.

@group(1) @binding(4) var<storage, read> attributes: array<TwoWords>;

// Number of elements of `attributes` per vertex.
const ATTRIBUTE_PARTS: u32 = 3u;

fn uv_of(corner: u32, which: u32) -> vec2<f32> {
    return bitcast<vec2<f32>>(two_words(attributes[corner * ATTRIBUTE_PARTS + which]));
}

fn color_of(corner: u32) -> vec4<f32> {
    let color = two_words(attributes[corner * ATTRIBUTE_PARTS + 2u]);
    return vec4(unpack2x16unorm(color.x), unpack2x16unorm(color.y));
}
