// Functions for the reflection of light by surfaces, whose only inputs are cosines, roughness, reflectance and indices
// of refraction.

// Trowbridge-Reitz (GGX) normal distribution (Walter et al. 2007, eq. 33).
fn d_ggx(n_dot_h: f32, alpha: f32) -> f32 {
    let a2 = alpha * alpha;
    let f = (n_dot_h * a2 - n_dot_h) * n_dot_h + 1.0;
    return a2 / (PI * f * f);
}

// Height-correlated Smith visibility, G / (4 n·l n·v) (Heitz 2014, eq. 99).
fn v_smith_ggx_correlated(n_dot_l: f32, n_dot_v: f32, alpha: f32) -> f32 {
    let a2 = alpha * alpha;
    let ggx_v = n_dot_l * sqrt(n_dot_v * n_dot_v * (1.0 - a2) + a2);
    let ggx_l = n_dot_v * sqrt(n_dot_l * n_dot_l * (1.0 - a2) + a2);
    return 0.5 / max(ggx_v + ggx_l, 1e-5);
}

// Anisotropic GGX normal distribution (Burley 2012, eq. 13).
fn d_ggx_anisotropic(n_dot_h: f32, t_dot_h: f32, b_dot_h: f32, at: f32, ab: f32) -> f32 {
    let a2 = at * ab;
    let f = vec3(ab * t_dot_h, at * b_dot_h, a2 * n_dot_h);
    let w2 = a2 / max(dot(f, f), 1e-9);
    return a2 * w2 * w2 * INVERSE_PI;
}

// Height-correlated Smith visibility for anisotropic GGX (Heitz 2014).
fn v_smith_ggx_anisotropic(n_dot_l: f32, n_dot_v: f32, t: vec2<f32>, b: vec2<f32>, at: f32, ab: f32) -> f32 {
    let ggx_v = n_dot_l * length(vec3(at * t.y, ab * b.y, n_dot_v));
    let ggx_l = n_dot_v * length(vec3(at * t.x, ab * b.x, n_dot_l));
    return 0.5 / max(ggx_v + ggx_l, 1e-5);
}

fn pow5(x: f32) -> f32 {
    let x2 = x * x;
    return x2 * x2 * x;
}

// Fresnel reflectance by Schlick's approximation (Schlick 1994).
fn f_schlick(f0: vec3<f32>, f90: f32, v_dot_h: f32) -> vec3<f32> {
    return f0 + (vec3(f90) - f0) * pow5(clamp(1.0 - v_dot_h, 0.0, 1.0));
}

// Returns the reflectance at normal incidence with which Schlick's approximation gives `reflectance` at this angle, if all
// light is reflected at grazing incidence: the inverse of `f_schlick` with an `f90` of 1. Where the approximation gives
// more or less for any value from 0 to 1, returns the nearest value.
fn f0_from_schlick(reflectance: vec3<f32>, v_dot_h: f32) -> vec3<f32> {
    let share = min(pow5(clamp(1.0 - v_dot_h, 0.0, 1.0)), 0.9999);
    return clamp((reflectance - share) / (1.0 - share), vec3(0.0), vec3(1.0));
}

// Scale (x) and bias (y) of the split-sum approximation (Karis 2013, "Real Shading in Unreal Engine 4") for GGX with
// the height-correlated Smith term. The bias, and the sum of scale and bias, are polynomials in 1 − n·v and roughness.
// Both polynomials were fitted by least squares to importance sampling with 2048 directions. The root mean square
// errors of the two fits are 0.012 and 0.006. At normal incidence, the bias is 0.
fn dfg(n_dot_v: f32, perceptual_roughness: f32) -> vec2<f32> {
    let u = 1.0 - n_dot_v;
    let u2 = u * u;
    let u4 = u2 * u2;
    let r = perceptual_roughness;
    var b = vec3(2.9719, -19.9396, 15.117);
    b = b * r + vec3(-6.04, 44.8878, -36.3578);
    b = b * r + vec3(3.6385, -31.6189, 29.0538);
    b = b * r + vec3(-0.5462, 5.7307, -7.9698);
    b = b * r + vec3(0.0006, 0.8929, 0.2082);
    var e = vec3(3.7778, -8.938, 6.5075);
    e = e * r + vec3(-7.3534, 19.0172, -15.9685);
    e = e * r + vec3(3.3712, -11.9177, 12.896);
    e = e * r + vec3(-0.4992, 2.1317, -3.1787);
    e = e * r + vec3(1.014, -0.0657, 0.1119);
    let bias = clamp(dot(b, vec3(u2, u4 * u, u4 * u4 * u)), 0.0, 1.0);
    let albedo = clamp(dot(e, vec3(1.0, u, u4)), bias, 1.0);
    return vec2(albedo - bias, bias);
}

// Reflectance at normal incidence between two media with these indices of refraction.
fn f0_from_ior(n1: f32, n2: f32) -> f32 {
    let r = (n2 - n1) / max(n2 + n1, 1e-5);
    return r * r;
}
