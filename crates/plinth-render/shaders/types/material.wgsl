// Group 2, binding 0: one material. Rust counterpart: `gpu_types.rs`. `shader/material_source.rs` declares the textures
// of a material, so that a variant binds only what it reads.

struct Material {
    // Linear colour and alpha.
    base_color: vec4<f32>,
    // Emitted radiance.
    emissive: vec3<f32>,
    alpha_cutoff: f32,
    metallic: f32,
    // Perceptual roughness, like all roughnesses here.
    roughness: f32,
    normal_scale: f32,
    occlusion_strength: f32,
    specular_color: vec3<f32>,
    specular_factor: f32,
    // Reflectance at normal incidence from the index of refraction.
    dielectric_f0: f32,
    coat: f32,
    coat_roughness: f32,
    coat_normal_scale: f32,
    sheen_color: vec3<f32>,
    sheen_roughness: f32,
    transmission: f32,
    // In world units.
    thickness: f32,
    // Index of refraction.
    ior: f32,
    dispersion: f32,
    // Absorption coefficients per world unit.
    absorption: vec3<f32>,
    iridescence: f32,
    // Thickness of the iridescent film in nm for the map values 0 and 1.
    film_thickness: vec2<f32>,
    // Index of refraction of the film.
    film_ior: f32,
    // Strength of the anisotropy, and cosine and sine of its rotation.
    anisotropy: f32,
    anisotropy_turn: vec2<f32>,
    // Factor on the environment's light.
    environment_factor: f32,
    diffuse_transmission: f32,
    diffuse_transmission_color: vec3<f32>,
    // Two rows per texture slot: u' = dot(row0.xyz, (u, v, 1)), v' likewise.
    uv_rows: array<vec4<f32>, 38>,
}

@group(2) @binding(0) var<uniform> material: Material;
