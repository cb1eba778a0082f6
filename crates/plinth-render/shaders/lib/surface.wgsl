// Computes the colour of a surface as the camera sees it, from its base colour, its emission and all light. Each set of
// material features has its own variant of this shader. Needs types/frame.wgsl, types/material.wgsl and
// types/surface_point.wgsl. The declarations of the material's textures are generated and inserted before this file.
#import lib/color.wgsl
#import lib/unit.wgsl
#import lib/brdf.wgsl
#ifdef IRIDESCENCE
#import lib/iridescence.wgsl
#endif
#import lib/ibl.wgsl
#import lib/shadow.wgsl
#import lib/layers.wgsl
#ifdef POLISHED
#import lib/self_reflection.wgsl
#endif
#ifdef NORMAL_TEX
#import lib/relief.wgsl
#endif
#import lib/direct_light.wgsl
#ifdef SHEEN
#import lib/sheen.wgsl
#endif
#ifdef TRANSMISSION
#import lib/transmission.wgsl
#endif

// Returns the linear base colour with alpha.
fn base_color(v: SurfacePoint) -> vec4<f32> {
    let texel = tex_base_color(v.uv0, v.uv1);
#ifdef BASE_COLOR_TEX
    var base = vec4(linear_from_srgb(texel.rgb), texel.a) * material.base_color;
#else
    var base = material.base_color;
#endif
#ifdef VERTEX_COLOR
    base *= v.color;
#endif
    return base;
}

// Maximum radiance in a render target of half-precision floats. Graphics cards store values above 65504 as infinity,
// which the tone curve and the bloom effect would convert to NaN. This limit is lower, so that rounding errors of
// blending do not matter.
const MAX_RADIANCE: f32 = 60000.0;

// Returns the colour of a surface for the render target. The colour is premultiplied by the alpha of `base`. Where the
// backdrop is visible through the surface, the returned alpha is smaller than that of `base`.
fn surface_color(v: SurfacePoint, base: vec4<f32>) -> vec4<f32> {
#ifdef LIT
    var emitted = material.emissive;
#ifdef EMISSIVE_TEX
    emitted *= linear_from_srgb(tex_emissive(v.uv0, v.uv1).rgb);
#endif
    let seen = shade(v, base, emitted);
#else
    var seen = vec4(base.rgb * base.a, base.a);
#ifdef EMITS
    // Points and lines without normals show the sum of the base colour and the emission (glTF 2.0, 3.9.7).
    var emitted = material.emissive;
#ifdef EMISSIVE_TEX
    emitted *= linear_from_srgb(tex_emissive(v.uv0, v.uv1).rgb);
#endif
    seen += vec4(emitted * base.a, 0.0);
#endif
#endif
#ifdef DISPLAY
    // The tone curve is applied to the radiance of the surface alone. The background is added afterwards.
#ifdef UNLIT
    return vec4(srgb_from_linear(seen.rgb / max(seen.a, 1e-4)) * seen.a, seen.a);
#else
    return vec4(srgb_from_linear(tone_map_pbr_neutral(seen.rgb / max(seen.a, 1e-4))) * seen.a, seen.a);
#endif
#else
#ifdef UNLIT
#ifdef BLEND
    // A later pass applies the tone curve, after this colour has been blended with radiances. The inverse of the curve
    // is applied here, so that the displayed colour stays the same.
    let displayed = before_tone_map(seen.rgb / max(seen.a, 1e-4)) * seen.a;
    return vec4(min(displayed, vec3(MAX_RADIANCE * seen.a)), seen.a);
#endif
#endif
    // The colour is premultiplied, so it is limited relative to alpha. The sum of blended colours does not exceed the
    // limit either.
    return vec4(min(seen.rgb, vec3(MAX_RADIANCE * seen.a)), seen.a);
#endif
}

#ifdef LIT
// Returns the radiance towards the camera times alpha, and alpha.
fn shade(v: SurfacePoint, base: vec4<f32>, emitted: vec3<f32>) -> vec4<f32> {
    let uv0 = v.uv0;
    let uv1 = v.uv1;
    let to_camera = unit(frame.camera_position - v.world);
    let facing = select(-1.0, 1.0, v.front);
    let geometric = unit(v.normal) * facing;
    var n = geometric;
#ifdef TANGENT
    // If the back face is visible, all three axes are reversed, so that a bump on the front is a hollow on the back.
    let along = v.tangent.xyz * facing;
    let t = unit(along - geometric * dot(geometric, along) + vec3(1e-8, 0.0, 0.0));
    let hand = select(v.tangent.w, 1.0, v.tangent.w == 0.0);
    let b = cross(geometric, t) * (hand * facing);
    // `leans` is 0 if the surface has no tangents. The normal map then has no effect.
    let leans = abs(v.tangent.w);
#ifdef NORMAL_TEX
    let bump_scale = material.normal_scale * leans;
    let bump = (tex_normal(uv0, uv1).xyz * 2.0 - 1.0) * vec3(bump_scale, bump_scale, 1.0);
    n = unit(t * bump.x + b * bump.y + geometric * bump.z);
#endif
#endif
    var metallic = material.metallic;
    var roughness = material.roughness;
    var occlusion = 1.0;
#ifdef METALLIC_ROUGHNESS_TEX
    let packed = tex_metallic_roughness(uv0, uv1);
    metallic *= packed.b;
    roughness *= packed.g;
#ifdef OCCLUSION_PACKED
    occlusion = 1.0 + material.occlusion_strength * (packed.r - 1.0);
#endif
#endif
#ifdef OCCLUSION_TEX
    occlusion = 1.0 + material.occlusion_strength * (tex_occlusion(uv0, uv1).r - 1.0);
#endif
    var s: Surface;
    s.v = to_camera;
    s.world = v.world;
    s.n = n;
    s.geometric = geometric;
    s.n_dot_v = clamp(dot(n, to_camera), 1e-3, 1.0);
    s.roughness = clamp(roughness, 0.0, 1.0);
    // The roughness is increased only for direct light, because only direct light causes flicker. The map of the
    // environment is already filtered.
    s.normal_turn = v.normal_turn;
    let widened = widened_roughness(s.normal_turn, s.roughness);
    s.alpha_roughness = max(widened * widened, 2e-4);
    s.metallic = clamp(metallic, 0.0, 1.0);
    s.base = base.rgb;
    // The baked light is combined with the occlusion map, which is more detailed. The darker value is used.
    s.direct = min(v.light.direct, vec3(occlusion));
    var from_around = v.light.indirect * occlusion + frame.ambient_irradiance * occlusion;
    var from_environment = environment_irradiance(n);
#ifdef NORMAL_TEX
    let bumpy = relief(n, geometric);
    from_around *= bumpy.w;
    // If the surface faces away from a lamp, its bumps get none of the lamp's light, even if the bumps face the lamp.
    from_environment = min(from_environment, environment_irradiance(bumpy.xyz) * bumpy.w);
#endif
    s.irradiance = from_environment * s.direct + from_around;
    s.visibility = v.light.visibility;
    s.blocked = v.light.blocked;
    s.blocked_color = v.light.indirect * (1.0 / max(luminance(v.light.indirect), 1e-4));

    var specular_weight = material.specular_factor;
#ifdef TINTED_SPECULAR
    var specular_color = material.specular_color;
#else
    // All channels are equal. The driver then computes the reflectance of the dielectric once for all channels.
    var specular_color = vec3(material.specular_color.r);
#endif
#ifdef SPECULAR_TEX
    specular_weight *= tex_specular(uv0, uv1).a;
#endif
#ifdef SPECULAR_COLOR_TEX
    specular_color *= linear_from_srgb(tex_specular_color(uv0, uv1).rgb);
#endif
    s.dielectric_f0 = min(vec3(material.dielectric_f0) * specular_color, vec3(1.0)) * specular_weight;
    s.dielectric_f90 = specular_weight;
    s.metal_f0 = s.base;
#ifdef IRIDESCENCE
    var film = material.iridescence;
    var film_thickness = material.film_thickness.y;
#ifdef IRIDESCENCE_TEX
    film *= tex_iridescence(uv0, uv1).r;
#endif
#ifdef IRIDESCENCE_THICKNESS_TEX
    film_thickness = mix(material.film_thickness.x, material.film_thickness.y, tex_iridescence_thickness(uv0, uv1).g);
#endif
    let dielectric_film = f_iridescence(material.film_ior, s.n_dot_v, film_thickness, s.dielectric_f0);
    let metal_film = f_iridescence(material.film_ior, s.n_dot_v, film_thickness, s.metal_f0);
    s.dielectric_f0 = mix(s.dielectric_f0, f0_from_schlick(dielectric_film, s.n_dot_v), film);
    s.metal_f0 = mix(s.metal_f0, f0_from_schlick(metal_film, s.n_dot_v), film);
    // The specular weight is that of the base. At grazing incidence, the film above it reflects all light.
    s.dielectric_f90 = mix(s.dielectric_f90, 1.0, film);
#endif
#ifdef ANISOTROPY
    var direction = material.anisotropy_turn;
    var strength = material.anisotropy;
#ifdef ANISOTROPY_TEX
    let flow = tex_anisotropy(uv0, uv1).xyz;
    let local = flow.xy * 2.0 - 1.0;
    direction = vec2(direction.x * local.x - direction.y * local.y, direction.y * local.x + direction.x * local.y);
    strength *= flow.z;
#endif
    s.anisotropic_t = unit(t * direction.x + b * direction.y + vec3(1e-8, 0.0, 0.0));
    s.anisotropic_b = cross(geometric, s.anisotropic_t);
    s.anisotropy = clamp(strength, 0.0, 1.0);
#endif

    var transmitted_share = 0.0;
#ifdef TRANSMISSION
    transmitted_share = material.transmission;
#ifdef TRANSMISSION_TEX
    transmitted_share *= tex_transmission(uv0, uv1).r;
#endif
#endif
    var diffuse_weight = 1.0 - transmitted_share;
    var diffuse_in = s.irradiance;
#ifdef DIFFUSE_TRANSMISSION
    var through = material.diffuse_transmission;
    var through_color = material.diffuse_transmission_color;
#ifdef DIFFUSE_TRANSMISSION_TEX
    through *= tex_diffuse_transmission(uv0, uv1).a;
#endif
#ifdef DIFFUSE_TRANSMISSION_COLOR_TEX
    through_color *= linear_from_srgb(tex_diffuse_transmission_color(uv0, uv1).rgb);
#endif
    s.diffuse_transmission = through;
    s.diffuse_transmission_color = through_color;
#endif

    let ibl = environment_layers(s, diffuse_weight);
    var body = ibl.diffuse;
    var gloss = ibl.specular;
    let direct = direct_layers(s, v.world, diffuse_weight);
    body += direct.diffuse;
    gloss += direct.specular;

#ifdef TRANSMISSION
    var thickness = material.thickness;
#ifdef THICKNESS_TEX
    thickness *= tex_thickness(uv0, uv1).g;
#endif
    let passed = transmitted_share * (1.0 - s.metallic) * ibl.transmittance;
    let seen = transmitted(s, v.world, thickness);
    body += passed * seen.radiance;
    // Fraction of the surface's light that comes directly from the backdrop.
    var open = passed * seen.open;
#endif

    var total = body + gloss;
#ifdef SHEEN
    var sheen_color = material.sheen_color;
    var sheen_roughness = material.sheen_roughness;
#ifdef SHEEN_COLOR_TEX
    sheen_color *= linear_from_srgb(tex_sheen_color(uv0, uv1).rgb);
#endif
#ifdef SHEEN_ROUGHNESS_TEX
    sheen_roughness *= tex_sheen_roughness(uv0, uv1).a;
#endif
    total = sheen_over(s, v.world, total, sheen_color, sheen_roughness);
#ifdef TRANSMISSION
    open *= through_sheen(sheen_lobe(s, sheen_roughness), sheen_color);
#endif
#endif
    // Of all layers, only the coat lies above the emission (KHR_materials_clearcoat, "Emission").
    total += emitted;
#ifdef CLEARCOAT
    var coat = material.coat;
    var coat_roughness = material.coat_roughness;
#ifdef CLEARCOAT_TEX
    coat *= tex_clearcoat(uv0, uv1).r;
#endif
#ifdef CLEARCOAT_ROUGHNESS_TEX
    coat_roughness *= tex_clearcoat_roughness(uv0, uv1).g;
#endif
    var coat_n = geometric;
#ifdef CLEARCOAT_NORMAL_TEX
    let coat_scale = material.coat_normal_scale * leans;
    let coat_bump = (tex_clearcoat_normal(uv0, uv1).xyz * 2.0 - 1.0) * vec3(coat_scale, coat_scale, 1.0);
    coat_n = unit(t * coat_bump.x + b * coat_bump.y + geometric * coat_bump.z);
#endif
    total = coat_over(s, v.world, total, coat, coat_roughness, coat_n);
#ifdef TRANSMISSION
    open *= 1.0 - coat_reflectance(clamp(dot(coat_n, s.v), 1e-3, 1.0), clamp(coat_roughness, 0.0, 1.0), coat);
#endif
#endif
#ifdef TRANSMISSION
    let shown = over_backdrop(total, open);
    return shown * base.a;
#else
    return vec4(total, 1.0) * base.a;
#endif
}
#endif
