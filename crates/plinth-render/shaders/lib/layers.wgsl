// The layers of a glTF surface under the environment's light. Needs types/frame.wgsl, brdf, ibl.

struct Surface {
    world: vec3<f32>,
    // Unit vectors: direction to the camera, shading normal, geometric normal on the side of the camera.
    v: vec3<f32>,
    n: vec3<f32>,
    geometric: vec3<f32>,
    n_dot_v: f32,
    // Squared length of the change of the geometric normal to the next pixels.
    normal_turn: f32,
    // Perceptual roughness, and its square.
    roughness: f32,
    alpha_roughness: f32,
    metallic: f32,
    base: vec3<f32>,
    dielectric_f0: vec3<f32>,
    dielectric_f90: f32,
    // Reflectances at normal incidence, including a thin film.
    f0_dielectric: vec3<f32>,
    f0_metal: vec3<f32>,
    // Fraction of the environment's light that arrives, and all irradiance on `n`.
    direct: vec3<f32>,
    irradiance: vec3<f32>,
    // Visibility of the environment as degree-1 spherical harmonics.
    visibility: vec4<f32>,
    // Luminance of the occluding surfaces in the same form, and their colour.
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

// Radiance by layer. `transmittance` is the fraction that the specular layer transmits.
struct Layered {
    diffuse: vec3<f32>,
    specular: vec3<f32>,
    transmittance: vec3<f32>,
}

// Increases roughness where the normal changes within a pixel, so that highlights do not flicker (Tokuyoshi and
// Kaplanyan 2019, "Improved Geometric Specular Antialiasing", eq. 5).
fn widened_roughness(normal_turn: f32, perceptual_roughness: f32) -> f32 {
    let kernel = min(2.0 * 0.15915494 * normal_turn, 0.18);
    let alpha = perceptual_roughness * perceptual_roughness;
    return sqrt(sqrt(clamp(alpha * alpha + kernel, 0.0, 1.0)));
}

// Maximum weight of the visibility given by spherical harmonics, which are smoother than the lobes.
const KNOWN: f32 = 0.9;

// Position of the centre of a lobe, including its cosine, between the normal and the mirror direction: a fit to its
// numerical integral (after Lagarde and de Rousiers 2014, "Moving Frostbite to PBR", section 4.9.3).
fn toward_mirror(alpha: f32, n_dot_v: f32) -> f32 {
    return clamp(1.0 - alpha * mix(1.6 - 1.35 * n_dot_v, 1.0, alpha), 0.0, 1.0);
}

// Radiance within a lobe around direction `r`: that of the environment where it is visible, elsewhere that of the
// occluding surfaces, both as far as the spherical harmonics resolve them.
fn smoothed_radiance(s: Surface, r: vec3<f32>, perceptual_roughness: f32) -> vec3<f32> {
    return partly_blocked(s, r, perceptual_roughness, environment_radiance(r, perceptual_roughness));
}

// The same, given the environment's radiance.
fn partly_blocked(s: Surface, r: vec3<f32>, perceptual_roughness: f32, environment: vec3<f32>) -> vec3<f32> {
    // The visibility is too smooth for a mirror, which therefore shows the environment without occlusion.
    let known = mix(KNOWN, 1.0, perceptual_roughness * perceptual_roughness) * smoothstep(0.05, 0.4, perceptual_roughness);
    let visible = mix(1.0, clamp(s.visibility.x + dot(s.visibility.yzw, r), 0.0, 1.0), known);
    let blocked = s.blocked_color * (known * max(s.blocked.x + dot(s.blocked.yzw, r), 0.0));
    return blocked + environment * visible;
}

// The same, but the occluding surfaces are traced if the lobe is narrow and much is reflected.
fn reflected_radiance(s: Surface, r: vec3<f32>, perceptual_roughness: f32, reflectance: vec3<f32>) -> vec3<f32> {
    let environment = environment_radiance(r, perceptual_roughness);
    let smoothed = partly_blocked(s, r, perceptual_roughness, environment);
#ifdef POLISHED
    if !reflects_neighbours(s, r, perceptual_roughness, reflectance) {
        return smoothed;
    }
    let seen = neighbours_within(s, r, perceptual_roughness);
    let sharp = mix(environment, seen.radiance, seen.filled);
    return mix(sharp, smoothed, smoothstep(SHARP, TOO_ROUGH, perceptual_roughness));
#else
    return smoothed;
#endif
}

#ifdef ANISOTROPY
// Seven lookups along the stretched lobe, each with the roughness across it.
fn anisotropic_radiance(s: Surface) -> vec3<f32> {
    let wide = mix(s.alpha_roughness, 1.0, s.anisotropy * s.anisotropy);
    let narrow = sqrt(s.alpha_roughness);
    var sum = vec3(0.0);
    var weights = 0.0;
    for (var i = -3; i <= 3; i++) {
        // Slopes of the GGX lobe along the tangent at evenly spaced quantiles.
        let q = f32(i) / 3.5;
        let slope = wide * q / sqrt(max(1.0 - q * q, 1e-3));
        let h = normalize(s.n - s.anisotropic_t * slope);
        let r = reflect(-s.v, h);
        let w = max(dot(s.n, r), 0.0);
        sum += w * smoothed_radiance(s, r, narrow);
        weights += w;
    }
    return sum / max(weights, 1e-4);
}
#endif

// Split-sum specular reflection with multiple scattering (Fdez-Agüera 2019, "A Multiple-Scattering Microfacet Model for
// Real-Time Image-based Lighting"): the albedo of one layer, with single and multiple scattering separate.
struct SpecularAlbedo {
    single: vec3<f32>,
    multiple: vec3<f32>,
}

fn specular_albedo(f0: vec3<f32>, f90: f32, ab: vec2<f32>) -> SpecularAlbedo {
    let single = f0 * ab.x + f90 * ab.y;
    let missing = 1.0 - (ab.x + ab.y);
    let average = f0 + (vec3(f90) - f0) / 21.0;
    let multiple = single * average / (1.0 - missing * average) * missing;
    return SpecularAlbedo(single, multiple);
}

fn environment_layers(s: Surface, diffuse_weight: f32) -> Layered {
    var r = reflect(-s.v, s.n);
#ifdef NORMAL_TEX
    r = raised(s, r);
#endif
    let ab = dfg(s.n_dot_v, s.roughness);
    let d = specular_albedo(s.f0_dielectric, s.dielectric_f90, ab);
    let m = specular_albedo(s.f0_metal, 1.0, ab);
    let albedo = mix(d.single + d.multiple, m.single + m.multiple, s.metallic);
    let below = max(vec3(1.0) - d.single - d.multiple, vec3(0.0));
#ifdef ANISOTROPY
    let radiance = anisotropic_radiance(s);
#else
    let alpha = s.roughness * s.roughness;
    let lean = normalize(mix(s.n, r, toward_mirror(alpha, s.n_dot_v)));
    // The widest lobe is nearly a cosine around the normal, for which visibility is known more exactly.
    let lobe = reflected_radiance(s, lean, s.roughness, albedo);
    let radiance = mix(lobe, s.irradiance / PI * frame.gloss, alpha * alpha);
#endif
    var out: Layered;
    out.specular = radiance * albedo;
    var diffuse = s.irradiance / PI * s.base;
#ifdef DIFFUSE_TRANSMISSION
    let behind = (environment_irradiance(-s.n) + frame.ambient_irradiance) / PI * s.diffuse_transmission_color;
    diffuse = mix(diffuse, behind, s.diffuse_transmission);
#endif
    out.diffuse = below * diffuse * ((1.0 - s.metallic) * diffuse_weight);
    out.transmittance = below;
    return out;
}

#ifdef CLEARCOAT
fn coat_over(s: Surface, world: vec3<f32>, below: vec3<f32>, coat: f32, perceptual_roughness: f32, n: vec3<f32>) -> vec3<f32> {
    let n_dot_v = clamp(dot(n, s.v), 1e-3, 1.0);
    let roughness = clamp(perceptual_roughness, 0.0, 1.0);
    let ab = dfg(n_dot_v, roughness);
    let albedo = specular_albedo(vec3(0.04), 1.0, ab);
    let reflectance = (albedo.single + albedo.multiple) * coat;
    let radiance = reflected_radiance(s, reflect(-s.v, n), roughness, reflectance);
    return below * (1.0 - reflectance) + radiance * reflectance + coat * direct_coat(s, world, n, n_dot_v, widened_roughness(s.normal_turn, roughness));
}
#endif
