// Unpacks the three corners of a triangle, which are indices of its vertices with 21 bits each. The first corner has the
// lowest bits. `upload/triangles.rs` packs them.
const CORNER_BITS: u32 = 21u;

fn unpacked_corners(packed: vec2<u32>) -> vec3<u32> {
    let mask = (1u << CORNER_BITS) - 1u;
    let middle = (packed.x >> CORNER_BITS) | (packed.y << (32u - CORNER_BITS));
    return vec3(packed.x, middle, packed.y >> (2u * CORNER_BITS - 32u)) & vec3(mask);
}
