// Direct light: the key spotlight, the sun of the environment, point lights and spotlights. Needs lib/layers.wgsl and
// lib/shadow.wgsl.

struct Beam {
    to_light: vec3<f32>,
    // Irradiance of a surface that faces the light. Shadow and cone are already applied.
    irradiance: vec3<f32>,
    // Widening of the specular lobe, because the light has a size. The square of this value is added to the square of
    // the lobe's alpha.
    spread: f32,
}

override KEY: bool = false;
override KEY_SHADOW: bool = false;
override SUN: bool = false;
// Number of point lights and spotlights. The number is a constant, because branches and loops of shaders must not
// depend on uniforms: lavapipe inlines the value of such a uniform into the shader ("inlined uniforms"), compiles the
// shader again for every draw, and keeps every copy.
override PUNCTUAL: u32 = 0u;

// Least cosine between the geometric normal and a light for which shadows are looked up.
#ifdef DIFFUSE_TRANSMISSION
// Light from behind is transmitted, and the surface itself would be found in front of the light.
const SHADOWED_COSINE: f32 = 0.0;
#else
const SHADOWED_COSINE: f32 = -0.2;
#endif

// Returns the fraction of the key light that arrives at a world-space point.
fn key_visibility(point: vec3<f32>) -> f32 {
    let at = place_on_map(frame.key_clip_from_world, point);
    if at.is_outside {
        return 1.0;
    }
#ifdef PACKED_SHADOWS
    if KEY_PACKED {
        return packed_pcf(packed_key_map, at.uv, at.depth, frame.key_texel);
    }
#endif
    return shadow_pcf(key_shadow_map, at.uv, at.depth, frame.key_texel);
}

// Returns the fraction of the sun's light that arrives at a world-space point.
fn sun_visibility(point: vec3<f32>) -> f32 {
    let at = place_on_map(frame.sun_clip_from_world, point);
    if at.is_outside {
        return 1.0;
    }
#ifdef PACKED_SHADOWS
    if SUN_PACKED {
        return packed_pcf(packed_sun_map, at.uv, at.depth, frame.sun_texel);
    }
#endif
    return shadow_pcf(sun_shadow_map, at.uv, at.depth, frame.sun_texel);
}

fn key_beam(s: Surface, world: vec3<f32>) -> Beam {
    let offset = frame.key_position - world;
    let distance2 = max(dot(offset, offset), 1e-4);
    let to_light = offset * inverseSqrt(distance2);
    let cone = smoothstep(frame.key_outer_cosine, frame.key_inner_cosine, dot(-to_light, frame.key_axis));
    var arriving = cone / distance2;
    if KEY_SHADOW && arriving > 0.0 && dot(s.geometric, to_light) > SHADOWED_COSINE {
        let point = world + s.geometric * frame.key_normal_offset;
        arriving *= mix(1.0, key_visibility(point), frame.key_shadow_darkness);
    }
    return Beam(to_light, frame.key_intensity * arriving, 0.03);
}

fn sun_beam(s: Surface, world: vec3<f32>) -> Beam {
    var arriving = 1.0;
    if dot(s.geometric, frame.sun_to_light) > SHADOWED_COSINE {
        let point = world + s.geometric * frame.sun_normal_offset;
        arriving = sun_visibility(point);
    }
    return Beam(frame.sun_to_light, frame.sun_irradiance * (arriving * environment_strength()), 0.5 * frame.sun_angular_radius);
}

fn punctual_beam(light: PunctualLight, world: vec3<f32>) -> Beam {
    let offset = light.position - world;
    let distance2 = max(dot(offset, offset), 1e-4);
    let to_light = offset * inverseSqrt(distance2);
    // The light decreases to zero at its range (KHR_lights_punctual, "Range Property"). There is no branch here,
    // because it would depend on a uniform (see `PUNCTUAL`).
    let x = distance2 / max(light.range * light.range, 1e-12);
    let ranged = select(1.0, clamp(1.0 - x * x, 0.0, 1.0), light.range > 0.0);
    let cone = clamp((dot(-to_light, light.axis) - light.outer_cosine) / max(light.inner_cosine - light.outer_cosine, 1e-3), 0.0, 1.0);
    let aimed = select(1.0, cone * cone, light.is_spot > 0.0);
    return Beam(to_light, light.intensity * (ranged * aimed / distance2), 0.0);
}

// Returns the light of a beam that each layer of the surface reflects.
fn beam_layers(s: Surface, beam: Beam, diffuse_weight: f32, split_sum: vec2<f32>, below: vec3<f32>) -> Layered {
    var out: Layered;
    let n_dot_l = dot(s.n, beam.to_light);
#ifdef DIFFUSE_TRANSMISSION
    let behind = max(-n_dot_l, 0.0) * INVERSE_PI * beam.irradiance * s.diffuse_transmission_color * s.diffuse_transmission;
    out.diffuse = below * behind * (1.0 - s.metallic) * diffuse_weight;
    let front_share = 1.0 - s.diffuse_transmission;
#else
    let front_share = 1.0;
#endif
    if n_dot_l <= 0.0 {
        return out;
    }
    let h = unit(s.v + beam.to_light);
    let v_dot_h = clamp(dot(s.v, h), 0.0, 1.0);
    let n_dot_h = clamp(dot(s.n, h), 0.0, 1.0);
    let alpha = sqrt(s.alpha_roughness * s.alpha_roughness + beam.spread * beam.spread);
#ifdef ANISOTROPY
    let at = mix(alpha, 1.0, s.anisotropy * s.anisotropy);
    let lobe = d_ggx_anisotropic(n_dot_h, dot(s.anisotropic_t, h), dot(s.anisotropic_b, h), at, alpha)
        * v_smith_ggx_anisotropic(n_dot_l, s.n_dot_v, vec2(dot(s.anisotropic_t, beam.to_light), dot(s.anisotropic_t, s.v)),
            vec2(dot(s.anisotropic_b, beam.to_light), dot(s.anisotropic_b, s.v)), at, alpha);
#else
    let lobe = d_ggx(n_dot_h, alpha) * v_smith_ggx_correlated(n_dot_l, s.n_dot_v, alpha);
#endif
    // This factor compensates for the energy that the specular reflection loses to multiple scattering (Turquin 2019,
    // eq. 16).
    let f0 = mix(s.dielectric_f0, s.metal_f0, s.metallic);
    let f = f_schlick(f0, mix(s.dielectric_f90, 1.0, s.metallic), v_dot_h);
    let compensation = 1.0 + f0 * (1.0 / max(split_sum.x + split_sum.y, 1e-3) - 1.0);
    let arriving = beam.irradiance * n_dot_l;
    out.specular = arriving * lobe * f * compensation;
#ifdef NORMAL_TEX
    let reaching = arriving * relief_share(s, beam.to_light);
    // Light from below the surface is not reflected specularly.
    out.specular *= clamp(dot(s.geometric, beam.to_light) * 10.0, 0.0, 1.0);
#else
    let reaching = arriving;
#endif
    out.diffuse += below * reaching * s.base * ((1.0 - s.metallic) * diffuse_weight * front_share * INVERSE_PI);
    return out;
}

fn direct_layers(s: Surface, world: vec3<f32>, diffuse_weight: f32) -> Layered {
    var sum: Layered;
    if !(KEY || SUN || PUNCTUAL > 0u) {
        return sum;
    }
    let split_sum = dfg(s.n_dot_v, s.roughness);
    let d = specular_albedo(s.dielectric_f0, s.dielectric_f90, split_sum);
    let below = passing_specular(d);
    if KEY {
        let one = beam_layers(s, key_beam(s, world), diffuse_weight, split_sum, below);
        sum.diffuse += one.diffuse;
        sum.specular += one.specular;
    }
    if SUN {
        let one = beam_layers(s, sun_beam(s, world), diffuse_weight, split_sum, below);
        sum.diffuse += one.diffuse;
        sum.specular += one.specular;
    }
    if PUNCTUAL > 0u {
        for (var i = 0u; i < PUNCTUAL; i++) {
            let one = beam_layers(s, punctual_beam(frame.lights[i], world), diffuse_weight, split_sum, below);
            sum.diffuse += one.diffuse;
            sum.specular += one.specular;
        }
    }
    return sum;
}

#ifdef CLEARCOAT
fn beam_coat(s: Surface, beam: Beam, n: vec3<f32>, n_dot_v: f32, alpha_in: f32) -> vec3<f32> {
    let n_dot_l = clamp(dot(n, beam.to_light), 0.0, 1.0);
    let h = unit(s.v + beam.to_light);
    let alpha = sqrt(alpha_in * alpha_in + beam.spread * beam.spread);
    let f = f_schlick(vec3(0.04), 1.0, clamp(dot(s.v, h), 0.0, 1.0));
    return beam.irradiance * f * (n_dot_l * d_ggx(clamp(dot(n, h), 0.0, 1.0), alpha) * v_smith_ggx_correlated(n_dot_l, n_dot_v, alpha));
}

fn direct_coat(s: Surface, world: vec3<f32>, n: vec3<f32>, n_dot_v: f32, roughness: f32) -> vec3<f32> {
    let alpha = max(roughness * roughness, 2e-4);
    var sum = vec3(0.0);
    if KEY {
        sum += beam_coat(s, key_beam(s, world), n, n_dot_v, alpha);
    }
    if SUN {
        sum += beam_coat(s, sun_beam(s, world), n, n_dot_v, alpha);
    }
    if PUNCTUAL > 0u {
        for (var i = 0u; i < PUNCTUAL; i++) {
            sum += beam_coat(s, punctual_beam(frame.lights[i], world), n, n_dot_v, alpha);
        }
    }
    return sum;
}
#endif
