// Returns the unit vector in the direction of `v`. The builtin `normalize` divides each component, which takes longer
// on software drivers.
fn unit(v: vec3<f32>) -> vec3<f32> {
    return v * inverseSqrt(dot(v, v));
}

// Returns a normal that was interpolated between vertices, which is not normalised. Where the normals of the vertices
// cancel each other, returns `instead`.
fn normal_or(normal: vec3<f32>, instead: vec3<f32>) -> vec3<f32> {
    return select(instead, normal, dot(normal, normal) > 1e-8);
}
