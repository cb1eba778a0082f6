// Bind group 2, binding 0: a material, or a set of materials. Rust counterpart: `gpu_types.rs`. The textures of
// materials are declared in `shader/material_source.rs`, so that a variant binds only the textures that it reads.

//{uv_row_count}

struct Material {
    // Linear base colour with alpha.
    base_color: vec4<f32>,
    // Emitted radiance.
    emissive: vec3<f32>,
    alpha_cutoff: f32,
    metallic: f32,
    // Perceptual roughness. All other roughnesses in this structure are perceptual, too.
    roughness: f32,
    normal_scale: f32,
    occlusion_strength: f32,
    specular_color: vec3<f32>,
    specular_factor: f32,
    // Reflectance of a dielectric at normal incidence, computed from its index of refraction.
    dielectric_f0: f32,
    coat: f32,
    coat_roughness: f32,
    coat_normal_scale: f32,
    sheen_color: vec3<f32>,
    sheen_roughness: f32,
    transmission: f32,
    // Thickness of the volume in world units.
    thickness: f32,
    // Index of refraction.
    ior: f32,
    dispersion: f32,
    // Absorption coefficients per world unit.
    absorption: vec3<f32>,
    iridescence: f32,
    // Thickness of the thin film in nanometres where its texture is 0, and where it is 1.
    film_thickness: vec2<f32>,
    // Index of refraction of the thin film.
    film_ior: f32,
    // Strength of the anisotropy. `anisotropy_turn` is the cosine and the sine of the rotation of the anisotropy.
    anisotropy: f32,
    anisotropy_turn: vec2<f32>,
    // Factor for the light of the environment.
    environment_factor: f32,
    diffuse_transmission: f32,
    diffuse_transmission_color: vec3<f32>,
    // Two rows for each texture slot. The transformed coordinates are u' = dot(row0.xyz, (u, v, 1)) and v' =
    // dot(row1.xyz, (u, v, 1)).
    uv_rows: array<vec4<f32>, UV_ROW_COUNT>,
}

#ifdef MATERIAL_SET
// A set of materials that have the same textures.
const MAX_MATERIALS: u32 = 64u;
@group(2) @binding(0) var<uniform> materials: array<Material, MAX_MATERIALS>;
// The material of the batch that is drawn.
var<private> material: Material;
#else
@group(2) @binding(0) var<uniform> material: Material;
#endif
