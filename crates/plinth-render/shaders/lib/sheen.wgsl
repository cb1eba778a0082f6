// Sheen of fibres with multiple scattering (Zeltner, Burley and Chiang 2022, "Practical Multiple-Scattering Sheen Using
// Linearly Transformed Cosines"). The tables of the paper are replaced by the rational functions of MaterialX 1.39.
// Needs lib/layers.wgsl and lib/direct_light.wgsl.

struct SheenLobe {
    // Fraction of the light that is reflected towards the camera.
    albedo: f32,
    // Elements of the inverse of the linear transform: `a` is on the diagonal, and `b` is the shear along the view
    // direction.
    a: f32,
    b: f32,
    // Unit vector in the tangent plane that points towards the camera.
    along: vec3<f32>,
}

// Returns the lobe for a perceptual roughness.
fn sheen_lobe(s: Surface, roughness: f32) -> SheenLobe {
    let x = s.n_dot_v;
    let y = clamp(roughness, 1e-3, 1.0);
    let width = y * (0.0206607 + 1.58491 * y) / (0.0379424 + y * (1.32227 + y));
    let mean = y * (-0.193854 + y * (-1.14885 + y * (1.7932 - 0.95943 * y * y))) / (0.046391 + y);
    let offset = y * (0.000654023 + (-0.0207818 + 0.119681 * y) * y) / (1.26264 + y * (-1.92021 + y));
    let t = (x - mean) / width;
    var out: SheenLobe;
    out.albedo = clamp(exp(-0.5 * t * t) / (width * sqrt(2.0 * PI)) + offset, 0.0, 1.0);
    out.a = (2.58126 * x + 0.813703 * y) * y / (1.0 + 0.310327 * x * x + 2.60994 * x * y);
    out.b = sqrt(1.0 - x) * (y - 1.0) * y * y * y / (0.0000254053 + 1.71228 * x - 1.71506 * x * y + 1.34174 * y * y);
    out.along = normalize(s.v - s.n * dot(s.n, s.v) + vec3(1e-6, 0.0, 0.0));
    return out;
}

// Returns the fraction of the light from below that passes through the sheen towards the camera.
fn through_sheen(lobe: SheenLobe, color: vec3<f32>) -> f32 {
    let strongest = max(color.r, max(color.g, color.b));
    return 1.0 - strongest * lobe.albedo;
}

// Returns the radiance that white sheen reflects from a beam of light.
fn sheen_of_beam(s: Surface, beam: Beam, lobe: SheenLobe) -> vec3<f32> {
    let z = dot(beam.to_light, s.n);
    if z <= 0.0 {
        return vec3(0.0);
    }
    let x = dot(beam.to_light, lobe.along);
    let y2 = max(1.0 - x * x - z * z, 0.0);
    let wx = lobe.a * x + lobe.b * z;
    let length2 = wx * wx + lobe.a * lobe.a * y2 + z * z;
    let density = z * INVERSE_PI * pow(lobe.a / length2, 2.0);
    return beam.irradiance * (lobe.albedo * density);
}

fn direct_sheen(s: Surface, world: vec3<f32>, lobe: SheenLobe) -> vec3<f32> {
    var sum = vec3(0.0);
    if KEY {
        sum += sheen_of_beam(s, key_beam(s, world), lobe);
    }
    if SUN {
        sum += sheen_of_beam(s, sun_beam(s, world), lobe);
    }
    if PUNCTUAL > 0u {
        for (var i = 0u; i < PUNCTUAL; i++) {
            sum += sheen_of_beam(s, punctual_beam(frame.lights[i], world), lobe);
        }
    }
    return sum;
}

fn sheen_over(s: Surface, world: vec3<f32>, below: vec3<f32>, color: vec3<f32>, roughness: f32) -> vec3<f32> {
    let lobe = sheen_lobe(s, roughness);
    // The lobe is approximately a cosine lobe around the transformed normal.
    let middle = normalize(s.n * max(lobe.a, 1e-3) - lobe.along * lobe.b);
    let around = environment_irradiance(middle) * s.direct + s.irradiance - environment_irradiance(s.n) * s.direct;
    let light = max(around, vec3(0.0)) * INVERSE_PI * lobe.albedo + direct_sheen(s, world, lobe);
    return below * through_sheen(lobe, color) + light * color;
}
