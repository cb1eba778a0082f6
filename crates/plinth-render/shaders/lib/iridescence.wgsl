// Thin-film interference (Belcour and Barla 2017, "A Practical Extension to Microfacet Theory for the Modeling of
// Varying Iridescence"). The integral over the spectrum has a closed form, as in the appendix of
// KHR_materials_iridescence.

// Returns the response of the XYZ sensitivity curves to a film, converted to linear Rec.709. The curves are Gaussians
// in Fourier space.
fn film_sensitivity(optical_path_difference: f32, shift: vec3<f32>) -> vec3<f32> {
    let phase = 2.0 * PI * optical_path_difference * 1.0e-9;
    let height = vec3(5.4856e-13, 4.4201e-13, 5.2481e-13);
    let position = vec3(1.6810e+06, 1.7953e+06, 2.2084e+06);
    let variance = vec3(4.3278e+09, 9.3046e+09, 6.6121e+09);
    var xyz = height * sqrt(2.0 * PI * variance) * cos(position * phase + shift) * exp(-phase * phase * variance);
    xyz.x += 9.7470e-14 * sqrt(2.0 * PI * 4.5282e+09) * cos(2.2399e+06 * phase + shift.x) * exp(-4.5282e+09 * phase * phase);
    xyz = xyz / 1.0685e-7;
    return vec3(
        dot(vec3(3.2404542, -1.5371385, -0.4985314), xyz),
        dot(vec3(-0.9692660, 1.8760108, 0.0415560), xyz),
        dot(vec3(0.0556434, -0.2040259, 1.0572252), xyz),
    );
}

// Returns the reflectance of a film of `thickness` nanometres on a base with the reflectance `base_f0`.
fn f_iridescence(film_ior_in: f32, cos_theta1: f32, thickness: f32, base_f0: vec3<f32>) -> vec3<f32> {
    let film_ior = mix(1.0, film_ior_in, smoothstep(0.0, 0.03, thickness));
    let sin2_theta2 = (1.0 / (film_ior * film_ior)) * (1.0 - cos_theta1 * cos_theta1);
    let cos2_theta2 = 1.0 - sin2_theta2;
    if cos2_theta2 < 0.0 {
        return vec3(1.0);
    }
    let cos_theta2 = sqrt(cos2_theta2);
    let r12 = f_schlick(vec3(f0_from_ior(1.0, film_ior)), 1.0, cos_theta1).x;
    let t121 = 1.0 - r12;
    let phi12 = select(0.0, PI, film_ior < 1.0);
    let phi21 = PI - phi12;
    let root = sqrt(clamp(base_f0, vec3(0.0), vec3(0.9999)));
    let base_ior = (1.0 + root) / (1.0 - root);
    let r1 = (base_ior - film_ior) / (base_ior + film_ior);
    let r23 = f_schlick(r1 * r1, 1.0, cos_theta2);
    let phi23 = select(vec3(0.0), vec3(PI), base_ior < vec3(film_ior));
    let path = 2.0 * film_ior * thickness * cos_theta2;
    let phi = vec3(phi21) + phi23;
    let r123 = clamp(r12 * r23, vec3(1e-5), vec3(0.9999));
    let amplitude = sqrt(r123);
    let rs = t121 * t121 * r23 / (1.0 - r123);
    var reflectance = r12 + rs;
    var cm = rs - t121;
    for (var m = 1; m <= 2; m++) {
        cm *= amplitude;
        reflectance += cm * 2.0 * film_sensitivity(f32(m) * path, f32(m) * phi);
    }
    return max(reflectance, vec3(0.0));
}
