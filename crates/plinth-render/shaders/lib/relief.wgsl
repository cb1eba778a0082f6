// Light on the bumps of a normal map. Bumps that face away from the light are shadowed by neighbouring bumps, and light
// from below the surface reaches no bumps (Chiang, Li and Burley 2019, "Taming the Shadow Terminator", eq. 3). Needs
// lib/layers.wgsl.

// Returns the fraction of a beam's light that reaches the bump with the normal `s.n`.
fn relief_share(s: Surface, to_light: vec3<f32>) -> f32 {
    let leveled = dot(s.n, to_light) * max(dot(s.n, s.geometric), 1e-3);
    let x = clamp(dot(s.geometric, to_light) / max(leveled, 1e-4), 0.0, 1.0);
    return x + x * x - x * x * x;
}

// Returns two values for light that is the same from all directions. w is the fraction of the light that reaches the
// bump. xyz is the normal of a flat surface that receives this fraction. Both values are fits to integrals over all
// directions: the sum and the first moment of the cosine times `relief_share`.
fn relief(n: vec3<f32>, geometric: vec3<f32>) -> vec4<f32> {
    let lean = sqrt(max(1.0 - dot(n, geometric), 0.0));
    let facing = unit(n + geometric * (0.705 * lean / (lean + 0.1)));
    return vec4(facing, 1.0 - lean * (0.444 + 0.056 * lean));
}

// Returns the direction itself if it points above the surface, otherwise a direction slightly above the surface.
fn raised(s: Surface, direction: vec3<f32>) -> vec3<f32> {
    let below = max(0.01 - dot(direction, s.geometric), 0.0);
    return unit(direction + s.geometric * below);
}
