// The layers of a glTF surface, and their reflection of the environment's light. Needs types/frame.wgsl, lib/brdf.wgsl
// and lib/ibl.wgsl.

struct Surface {
    world: vec3<f32>,
    // Unit vectors: the direction to the camera, the shading normal, and the geometric normal on the side of the
    // camera.
    v: vec3<f32>,
    n: vec3<f32>,
    geometric: vec3<f32>,
    n_dot_v: f32,
    // Squared length of the difference between the geometric normals of this pixel and its neighbours.
    normal_turn: f32,
    // Perceptual roughness. `alpha_roughness` is the square of this roughness, increased where the normal changes
    // within a pixel.
    roughness: f32,
    alpha_roughness: f32,
    metallic: f32,
    base: vec3<f32>,
    // Reflectances of the dielectric and of the metal at normal incidence, and of the dielectric at grazing incidence,
    // with the effect of a thin film.
    dielectric_f0: vec3<f32>,
    metal_f0: vec3<f32>,
    dielectric_f90: f32,
    // Fraction of the environment's light that arrives. `irradiance` is the irradiance of a surface with the normal
    // `n`, without the light of beams (`lib/direct_light.wgsl`).
    direct: vec3<f32>,
    irradiance: vec3<f32>,
    // Visibility of the environment as spherical harmonics of degree 1.
    visibility: vec4<f32>,
    // Luminance of the surfaces that block the environment, as spherical harmonics of degree 1, and the colour of these
    // surfaces.
    blocked: vec4<f32>,
    blocked_color: vec3<f32>,
#ifdef ANISOTROPY
    anisotropic_t: vec3<f32>,
    anisotropic_b: vec3<f32>,
    anisotropy: f32,
#endif
#ifdef DIFFUSE_TRANSMISSION
    diffuse_transmission: f32,
    diffuse_transmission_color: vec3<f32>,
#endif
}

// Radiance that each layer reflects. `transmittance` is the fraction of light that the specular layer lets through.
struct Layered {
    diffuse: vec3<f32>,
    specular: vec3<f32>,
    transmittance: vec3<f32>,
}

// Returns a larger roughness where the normal changes within a pixel, so that highlights do not flicker (Tokuyoshi and
// Kaplanyan 2019, "Improved Geometric Specular Antialiasing", eq. 5).
fn widened_roughness(normal_turn: f32, perceptual_roughness: f32) -> f32 {
    let kernel = min(2.0 * 0.15915494 * normal_turn, 0.18);
    let alpha = perceptual_roughness * perceptual_roughness;
    return sqrt(sqrt(clamp(alpha * alpha + kernel, 0.0, 1.0)));
}

// Weight of the visibility that the spherical harmonics describe, for narrow lobes. The weight increases to 1 with the
// roughness, because only wide lobes are as smooth as the spherical harmonics.
const MAX_SH_WEIGHT: f32 = 0.9;

// Returns where the centre of a lobe times the cosine lies between the normal (0) and the mirror direction (1). The
// formula is a fit to the numerical integral (after Lagarde and de Rousiers 2014, "Moving Frostbite to PBR", section
// 4.9.3).
fn toward_mirror(alpha: f32, n_dot_v: f32) -> f32 {
    return clamp(1.0 - alpha * mix(1.6 - 1.35 * n_dot_v, 1.0, alpha), 0.0, 1.0);
}

// Returns the radiance within a lobe around the direction `r`. The result is the light of the visible part of the
// environment, and the light of the surfaces that block the rest of the environment. The spherical harmonics determine
// which part is visible.
fn smoothed_radiance(s: Surface, r: vec3<f32>, perceptual_roughness: f32) -> vec3<f32> {
    return partly_blocked(s, r, perceptual_roughness, environment_radiance(r, perceptual_roughness));
}

// Returns the radiance within a lobe like `smoothed_radiance`, for a known radiance of the environment.
fn partly_blocked(s: Surface, r: vec3<f32>, perceptual_roughness: f32, environment: vec3<f32>) -> vec3<f32> {
    // The spherical harmonics are too smooth for a mirror. Therefore a mirror shows the environment without occlusion.
    let known = mix(MAX_SH_WEIGHT, 1.0, perceptual_roughness * perceptual_roughness) * smoothstep(0.05, 0.4, perceptual_roughness);
    let visible = mix(1.0, clamp(s.visibility.x + dot(s.visibility.yzw, r), 0.0, 1.0), known);
    let blocked = s.blocked_color * (known * max(s.blocked.x + dot(s.blocked.yzw, r), 0.0));
    return blocked + environment * visible;
}

// Returns the radiance within a lobe like `smoothed_radiance`. If the lobe is narrow and the surface reflects much
// light, the surfaces that block the environment are found by tracing the lobe.
fn reflected_radiance(s: Surface, r: vec3<f32>, perceptual_roughness: f32, reflectance: vec3<f32>) -> vec3<f32> {
    let environment = environment_radiance(r, perceptual_roughness);
    let smoothed = partly_blocked(s, r, perceptual_roughness, environment);
#ifdef POLISHED
    if !is_self_reflecting(s, r, perceptual_roughness, reflectance) {
        return smoothed;
    }
    let seen = trace_self_reflection(s, r, perceptual_roughness);
    let sharp = mix(environment, seen.radiance, seen.filled);
    return mix(sharp, smoothed, smoothstep(FULLY_TRACED_ROUGHNESS, MAX_TRACED_ROUGHNESS, perceptual_roughness));
#else
    return smoothed;
#endif
}

#ifdef ANISOTROPY
// Returns the mean of seven lookups along the stretched lobe. Each lookup uses the roughness across the stretched
// direction.
fn anisotropic_radiance(s: Surface) -> vec3<f32> {
    let wide = mix(s.alpha_roughness, 1.0, s.anisotropy * s.anisotropy);
    let narrow = sqrt(s.alpha_roughness);
    var sum = vec3(0.0);
    var weights = 0.0;
    for (var i = -3; i <= 3; i++) {
        // Slopes of the GGX lobe along the tangent, at evenly spaced quantiles of the distribution.
        let q = f32(i) / 3.5;
        let slope = wide * q / sqrt(max(1.0 - q * q, 1e-3));
        let h = unit(s.n - s.anisotropic_t * slope);
        let r = reflect(-s.v, h);
        let w = max(dot(s.n, r), 0.0);
        sum += w * smoothed_radiance(s, r, narrow);
        weights += w;
    }
    return sum / max(weights, 1e-4);
}
#endif

// Albedo of a layer with split-sum specular reflection, separately for single and multiple scattering (Fdez-Agüera
// 2019, "A Multiple-Scattering Microfacet Model for Real-Time Image-based Lighting").
struct SpecularAlbedo {
    single: vec3<f32>,
    multiple: vec3<f32>,
}

fn specular_albedo(f0: vec3<f32>, f90: f32, split_sum: vec2<f32>) -> SpecularAlbedo {
    let single = f0 * split_sum.x + f90 * split_sum.y;
    let missing = 1.0 - (split_sum.x + split_sum.y);
    // Software drivers do not replace a division by a constant with a multiplication.
    let average = f0 + (vec3(f90) - f0) * (1.0 / 21.0);
    let multiple = single * average / (1.0 - missing * average) * missing;
    return SpecularAlbedo(single, multiple);
}

// Returns the fraction of light that passes through a specular layer to the layers below it. If the layer reflects one
// colour more than others, the fraction is that of this colour for all colours, so that the light from below does not
// get the complementary colour (KHR_materials_specular, "Extending Materials").
fn passing_specular(layer: SpecularAlbedo) -> vec3<f32> {
    let passing = max(vec3(1.0) - layer.single - layer.multiple, vec3(0.0));
#ifdef TINTED_SPECULAR
    return vec3(min(passing.r, min(passing.g, passing.b)));
#else
    return passing;
#endif
}

fn environment_layers(s: Surface, diffuse_weight: f32) -> Layered {
    var r = reflect(-s.v, s.n);
#ifdef NORMAL_TEX
    r = raised(s, r);
#endif
    let split_sum = dfg(s.n_dot_v, s.roughness);
    let d = specular_albedo(s.dielectric_f0, s.dielectric_f90, split_sum);
    let m = specular_albedo(s.metal_f0, 1.0, split_sum);
    let albedo = mix(d.single + d.multiple, m.single + m.multiple, s.metallic);
    let below = passing_specular(d);
#ifdef ANISOTROPY
    let radiance = anisotropic_radiance(s);
#else
    let alpha = s.roughness * s.roughness;
    let lean = unit(mix(s.n, r, toward_mirror(alpha, s.n_dot_v)));
    // The widest lobe is nearly a cosine lobe around the normal. The light within a cosine lobe is known more exactly:
    // `irradiance` includes the visibility `direct`.
    let lobe = reflected_radiance(s, lean, s.roughness, albedo);
    let radiance = mix(lobe, s.irradiance * (INVERSE_PI * frame.gloss), alpha * alpha);
#endif
    var out: Layered;
    out.specular = radiance * albedo;
    var diffuse = s.irradiance * INVERSE_PI * s.base;
#ifdef DIFFUSE_TRANSMISSION
    let behind = (environment_irradiance(-s.n) + frame.ambient_irradiance) * INVERSE_PI * s.diffuse_transmission_color;
    diffuse = mix(diffuse, behind, s.diffuse_transmission);
#endif
    out.diffuse = below * diffuse * ((1.0 - s.metallic) * diffuse_weight);
    out.transmittance = below;
    return out;
}

#ifdef CLEARCOAT
// Returns the fraction of the light that the coat reflects towards the camera.
fn coat_reflectance(n_dot_v: f32, perceptual_roughness: f32, coat: f32) -> vec3<f32> {
    let split_sum = dfg(n_dot_v, perceptual_roughness);
    let albedo = specular_albedo(vec3(0.04), 1.0, split_sum);
    return (albedo.single + albedo.multiple) * coat;
}

fn coat_over(s: Surface, world: vec3<f32>, below: vec3<f32>, coat: f32, perceptual_roughness: f32, n: vec3<f32>) -> vec3<f32> {
    let n_dot_v = clamp(dot(n, s.v), 1e-3, 1.0);
    let roughness = clamp(perceptual_roughness, 0.0, 1.0);
    let reflectance = coat_reflectance(n_dot_v, roughness, coat);
    let radiance = reflected_radiance(s, reflect(-s.v, n), roughness, reflectance);
    return below * (1.0 - reflectance) + radiance * reflectance + coat * direct_coat(s, world, n, n_dot_v, widened_roughness(s.normal_turn, roughness));
}
#endif
