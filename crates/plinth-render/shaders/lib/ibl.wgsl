// Light from all around. Needs types/frame.wgsl, and types/material.wgsl where a surface takes more or less of it.

// How much of the environment's light a surface takes.
fn environment_strength() -> f32 {
#ifdef ENVIRONMENT_STRENGTH
    return material.anisotropy.w;
#else
    return 1.0;
#endif
}

// Irradiance from degree-2 spherical harmonics (Ramamoorthi and Hanrahan 2001, eq. 13), the constants multiplied in.
fn environment_irradiance(n: vec3<f32>) -> vec3<f32> {
    let e = frame.irradiance_sh[0].rgb
        + frame.irradiance_sh[1].rgb * n.y + frame.irradiance_sh[2].rgb * n.z + frame.irradiance_sh[3].rgb * n.x
        + frame.irradiance_sh[4].rgb * (n.x * n.y) + frame.irradiance_sh[5].rgb * (n.y * n.z)
        + frame.irradiance_sh[6].rgb * (3.0 * n.z * n.z - 1.0) + frame.irradiance_sh[7].rgb * (n.x * n.z)
        + frame.irradiance_sh[8].rgb * (n.x * n.x - n.y * n.y);
    return max(e, vec3(0.0)) * environment_strength();
}

// Where a direction is in an octahedral map: +Y in the middle, −Y in the corners (Cigolle et al. 2014).
fn octahedral_uv(direction: vec3<f32>) -> vec2<f32> {
    let d = direction / (abs(direction.x) + abs(direction.y) + abs(direction.z));
    let folded = (1.0 - abs(d.zx)) * select(vec2(-1.0), vec2(1.0), d.xz >= vec2(0.0));
    return select(d.xz, folded, d.y < 0.0) * 0.5 + 0.5;
}

// Radiance of the environment in a direction, filtered for a perceptual roughness.
fn environment_radiance(direction: vec3<f32>, perceptual_roughness: f32) -> vec3<f32> {
    // The inverse of the roughness that each mip is filtered for (`ibl/specular.rs`).
    let share = select(0.2 + 0.8 * perceptual_roughness, 0.8 * sqrt(perceptual_roughness), perceptual_roughness < 0.25);
    let mip = share * frame.ambient.w;
    return textureSampleLevel(specular_map, linear_sampler, octahedral_uv(direction), mip).rgb
        * (frame.grow_origin.w * environment_strength());
}
