// The vector with this direction and length 1. `normalize` divides each component, which takes longer on software drivers.
fn unit(v: vec3<f32>) -> vec3<f32> {
    return v * inverseSqrt(dot(v, v));
}
