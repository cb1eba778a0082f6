// Image-based light. Needs types/frame.wgsl, and types/material.wgsl for materials that scale the light of the
// environment.

// Returns the factor by which the material scales the light of the environment.
fn environment_strength() -> f32 {
#ifdef ENVIRONMENT_STRENGTH
    return material.environment_factor;
#else
    return 1.0;
#endif
}

// Returns the position of a direction in an octahedral map. +Y is in the middle, and −Y is in the corners (Cigolle et
// al. 2014).
fn octahedral_uv(direction: vec3<f32>) -> vec2<f32> {
    let d = direction * (1.0 / (abs(direction.x) + abs(direction.y) + abs(direction.z)));
    let folded = (1.0 - abs(d.zx)) * select(vec2(-1.0), vec2(1.0), d.xz >= vec2(0.0));
    return select(d.xz, folded, d.y < 0.0) * 0.5 + 0.5;
}

// Returns the irradiance of a surface with this normal.
fn environment_irradiance(n: vec3<f32>) -> vec3<f32> {
    // The centres of the outermost texels are on the border of the map (see `ibl/irradiance.rs`).
    let side = f32(textureDimensions(irradiance_map).x);
    // One division takes less time on software drivers than one for each component.
    let uv = (octahedral_uv(n) * (side - 1.0) + 0.5) * (1.0 / side);
    return textureSampleLevel(irradiance_map, linear_sampler, uv, 0.0).rgb * environment_strength();
}

// Width of the margin around the specular map, as a fraction of the side of the map (`MARGIN` in `ibl/specular.rs`).
const SPECULAR_MARGIN: f32 = 1.0 / 34.0;

// Returns the radiance of the environment in a direction, filtered for a perceptual roughness, as it is seen through glass.
fn seen_environment(direction: vec3<f32>, perceptual_roughness: f32) -> vec3<f32> {
    // This line is the inverse of the function `roughness_of_mip` in `ibl/specular.rs`.
    let share = select(0.2 + 0.8 * perceptual_roughness, 0.8 * sqrt(perceptual_roughness), perceptual_roughness < 0.25);
    let mip = share * frame.last_specular_mip;
    let uv = octahedral_uv(direction) * (1.0 - 2.0 * SPECULAR_MARGIN) + SPECULAR_MARGIN;
    return textureSampleLevel(specular_map, linear_sampler, uv, mip).rgb * environment_strength();
}

// Returns the radiance of the environment that a surface reflects, which the settings scale.
fn environment_radiance(direction: vec3<f32>, perceptual_roughness: f32) -> vec3<f32> {
    return seen_environment(direction, perceptual_roughness) * frame.gloss;
}
