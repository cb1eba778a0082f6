// Light on bumps that a normal map draws on a surface: what leans away from its surface stands in the shadow of its
// neighbours, and light from below the surface does not reach it (Chiang, Li and Burley 2019, "Taming the Shadow
// Terminator", eq. 3). Needs layers.

// Share of a beam's light that reaches the bump.
fn relief_share(s: Surface, to_light: vec3<f32>) -> f32 {
    let leveled = dot(s.n, to_light) * max(dot(s.n, s.geometric), 1e-3);
    let x = clamp(dot(s.geometric, to_light) / max(leveled, 1e-4), 0.0, 1.0);
    return x + x * x - x * x * x;
}

// xyz: where a surface faces that takes as much of light from all around; w: the share of it that arrives. Fits to the
// integrals of the cosine times `relief_share` over all directions: their sum and their first moment.
fn relief(n: vec3<f32>, geometric: vec3<f32>) -> vec4<f32> {
    let lean = sqrt(max(1.0 - dot(n, geometric), 0.0));
    let facing = normalize(n + geometric * (0.705 * lean / (lean + 0.1)));
    return vec4(facing, 1.0 - lean * (0.444 + 0.056 * lean));
}

// A mirrored direction, not below the surface.
fn raised(s: Surface, direction: vec3<f32>) -> vec3<f32> {
    let below = max(0.01 - dot(direction, s.geometric), 0.0);
    return normalize(direction + s.geometric * below);
}
