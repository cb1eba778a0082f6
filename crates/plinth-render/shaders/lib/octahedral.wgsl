// Unit vectors as two numbers from −1 to 1 (Cigolle et al. 2014, "A Survey of Efficient Representations for Independent
// Unit Vectors"). Rust counterpart: `upload/octahedral.rs`.
#import lib/unit.wgsl

fn from_octahedral(e: vec2<f32>) -> vec3<f32> {
    return from_scaled_octahedral(e, 1.0);
}

// Returns the unit vector whose coordinates are signed normalised 16-bit integers.
fn from_packed_octahedral(word: u32) -> vec3<f32> {
    // The integers are not divided by 32767, because divisions take longer on software drivers.
    let e = vec2<i32>(vec2(word << 16u, word)) >> vec2(16u);
    return from_scaled_octahedral(vec2<f32>(e), 32767.0);
}

// Returns the unit vector whose coordinates, multiplied by `scale`, are `e`.
fn from_scaled_octahedral(e: vec2<f32>, scale: f32) -> vec3<f32> {
    var v = vec3(e, scale - abs(e.x) - abs(e.y));
    let fold = max(-v.z, 0.0);
    v.x += select(fold, -fold, v.x >= 0.0);
    v.y += select(fold, -fold, v.y >= 0.0);
    return unit(v);
}
