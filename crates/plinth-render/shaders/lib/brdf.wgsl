// Reflection of a surface: pure functions of cosines, roughness and reflectance.

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

// Anisotropic GGX (Burley 2012, eq. 13).
fn d_ggx_anisotropic(n_dot_h: f32, t_dot_h: f32, b_dot_h: f32, at: f32, ab: f32) -> f32 {
    let a2 = at * ab;
    let f = vec3(ab * t_dot_h, at * b_dot_h, a2 * n_dot_h);
    let w2 = a2 / max(dot(f, f), 1e-9);
    return a2 * w2 * w2 / PI;
}

// Its height-correlated Smith visibility (Heitz 2014).
fn v_smith_ggx_anisotropic(n_dot_l: f32, n_dot_v: f32, t: vec2<f32>, b: vec2<f32>, at: f32, ab: f32) -> f32 {
    let ggx_v = n_dot_l * length(vec3(at * t.y, ab * b.y, n_dot_v));
    let ggx_l = n_dot_v * length(vec3(at * t.x, ab * b.x, n_dot_l));
    return 0.5 / max(ggx_v + ggx_l, 1e-5);
}

fn pow5(x: f32) -> f32 {
    let x2 = x * x;
    return x2 * x2 * x;
}

// Schlick 1994.
fn f_schlick(f0: vec3<f32>, f90: f32, v_dot_h: f32) -> vec3<f32> {
    return f0 + (vec3(f90) - f0) * pow5(clamp(1.0 - v_dot_h, 0.0, 1.0));
}

// Scale and bias of the split-sum approximation for GGX with the height-correlated Smith term
// (Karis 2014, "Physically Based Shading on Mobile").
fn dfg(n_dot_v: f32, perceptual_roughness: f32) -> vec2<f32> {
    let r = perceptual_roughness * vec4(-1.0, -0.0275, -0.572, 0.022) + vec4(1.0, 0.0425, 1.04, -0.04);
    let a = min(r.x * r.x, exp2(-9.28 * n_dot_v)) * r.x + r.y;
    return vec2(-1.04, 1.04) * a + r.zw;
}

// Reflectance at normal incidence between two media.
fn f0_from_ior(n1: f32, n2: f32) -> f32 {
    let r = (n2 - n1) / max(n2 + n1, 1e-5);
    return r * r;
}
