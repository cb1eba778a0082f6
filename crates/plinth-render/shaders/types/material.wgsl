// Group 2, binding 0: one material. Rust twin: `gpu_types.rs`. The textures that a material has are declared by
// `shader/material_source.rs`, so that a variant binds what it reads and nothing else.

struct Material {
    base_color: vec4<f32>,
    // rgb: emitted radiance; w: alpha cutoff.
    emissive: vec4<f32>,
    // x: metallic, y: perceptual roughness, z: normal scale, w: occlusion strength.
    surface: vec4<f32>,
    // rgb: specular colour, w: specular factor.
    specular: vec4<f32>,
    // x: reflectance at normal incidence from the index of refraction, y: clearcoat, z: its perceptual roughness,
    // w: scale of its normal map.
    coat: vec4<f32>,
    // rgb: sheen colour, w: its perceptual roughness.
    sheen: vec4<f32>,
    // x: transmission, y: thickness in world units, z: index of refraction, w: dispersion.
    transmission: vec4<f32>,
    // rgb: absorption coefficients per world unit; w: 1 when the volume is bounded by a closed surface.
    absorption: vec4<f32>,
    // x: iridescence, y: index of refraction of the film, z, w: thickness in nm where the map is 0 and 1.
    iridescence: vec4<f32>,
    // x: anisotropy strength, y, z: cosine and sine of its rotation; w: factor on the environment's light.
    anisotropy: vec4<f32>,
    // rgb: diffuse transmission colour, w: its factor.
    diffuse_transmission: vec4<f32>,
    // Two rows per texture slot: u' = dot(row0.xyz, (u, v, 1)), v' likewise.
    uv_rows: array<vec4<f32>, 38>,
}

@group(2) @binding(0) var<uniform> material: Material;
