// Unit vectors as two numbers from −1 to 1 (Cigolle et al. 2014, "A Survey of Efficient Representations for Independent
// Unit Vectors"). Rust counterpart: `upload/octahedral.rs`.
#import lib/unit.wgsl

fn from_octahedral(e: vec2<f32>) -> vec3<f32> {
    var v = vec3(e, 1.0 - abs(e.x) - abs(e.y));
    let fold = max(-v.z, 0.0);
    v.x += select(fold, -fold, v.x >= 0.0);
    v.y += select(fold, -fold, v.y >= 0.0);
    return unit(v);
}
