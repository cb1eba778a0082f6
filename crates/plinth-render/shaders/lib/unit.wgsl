// Returns the unit vector in the direction of `v`. The builtin `normalize` divides each component, which takes longer
// on software drivers.
fn unit(v: vec3<f32>) -> vec3<f32> {
    return v * inverseSqrt(dot(v, v));
}
