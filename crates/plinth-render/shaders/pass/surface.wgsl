// The shaded surfaces of the model: opaque, masked, blended and transmissive, one variant per set of features.
#import types/frame.wgsl
#import types/material.wgsl
#import types/surface_io.wgsl
#import lib/color.wgsl
#import lib/brdf.wgsl
#ifdef IRIDESCENCE
#import lib/iridescence.wgsl
#endif
#import lib/ibl.wgsl
#import lib/shadow.wgsl
#import lib/layers.wgsl
#import lib/direct_light.wgsl
#ifdef TRANSMISSION
#import lib/transmission.wgsl
#endif

@vertex
fn vs(
    @location(0) position: vec3<f32>,
    @location(1) normal: vec4<f32>,
#ifdef TANGENT
    @location(2) tangent: vec4<f32>,
#endif
#ifdef UV
    @location(3) uv0: vec2<f32>,
#endif
#ifdef UV1
    @location(4) uv1: vec2<f32>,
#endif
#ifdef VERTEX_COLOR
    @location(5) color: vec4<f32>,
#endif
#ifdef LIT
    @location(6) direct: vec4<f32>,
    @location(7) indirect: vec4<f32>,
    @location(8) visibility: vec4<f32>,
#endif
) -> VertexOut {
    let world = frame.grow_origin.xyz + (position - frame.grow_origin.xyz) * frame.camera.w;
    var out: VertexOut;
    out.clip = frame.clip_from_world * vec4(world, 1.0);
    out.world = world;
    out.normal = normal.xyz;
#ifdef TANGENT
    out.tangent = vec4(tangent.xyz, sign(tangent.w));
#endif
#ifdef UV
    out.uv0 = uv0;
#endif
#ifdef UV1
    out.uv1 = uv1;
#endif
#ifdef VERTEX_COLOR
    out.color = color;
#endif
#ifdef LIT
    out.direct = direct.rgb;
    out.indirect = indirect.rgb;
    out.visibility = visibility;
#endif
    return out;
}

//{material textures}

struct FragmentOut {
    @location(0) color: vec4<f32>,
#ifdef MASK
    @builtin(sample_mask) coverage: u32,
#endif
}

#ifdef MASK
// Coverage of a masked texel: the alpha ramp is sharpened to one pixel and turned into samples.
fn mask_coverage(alpha: f32, cutoff: f32) -> u32 {
    let sharp = clamp((alpha - cutoff) / max(fwidth(alpha), 1e-4) + 0.5, 0.0, 1.0);
    let samples = u32(sharp * f32(SAMPLES) + 0.5);
    return (1u << samples) - 1u;
}
#endif

override SAMPLES: u32 = 4u;

@fragment
fn fs(v: VertexOut, @builtin(front_facing) front: bool) -> FragmentOut {
#ifdef UV
    let uv0 = v.uv0;
#else
    let uv0 = vec2(0.0);
#endif
#ifdef UV1
    let uv1 = v.uv1;
#else
    let uv1 = uv0;
#endif
    let base_texel = tex_base_color(uv0, uv1);
#ifdef BASE_COLOR_TEX
    var base = vec4(linear_from_srgb(base_texel.rgb), base_texel.a) * material.base_color;
#else
    var base = material.base_color;
#endif
#ifdef VERTEX_COLOR
    base *= v.color;
#endif
    var out: FragmentOut;
#ifdef MASK
    out.coverage = mask_coverage(base.a, material.emissive.w);
    if out.coverage == 0u {
        discard;
    }
    base.a = 1.0;
#endif
#ifndef BLEND
    base.a = 1.0;
#endif
    var emitted = material.emissive.rgb;
#ifdef EMISSIVE_TEX
    emitted *= linear_from_srgb(tex_emissive(uv0, uv1).rgb);
#endif
#ifdef LIT
    let radiance = shade(v, uv0, uv1, front, base) + emitted * base.a;
#else
    let radiance = base.rgb * base.a;
#endif
#ifdef DISPLAY
    // The tone curve works on the surface's own radiance: the background joins afterwards.
#ifdef UNLIT
    out.color = vec4(srgb_from_linear(radiance / max(base.a, 1e-4)) * base.a, base.a);
#else
    out.color = vec4(srgb_from_linear(tone_map_pbr_neutral(radiance / max(base.a, 1e-4))) * base.a, base.a);
#endif
#else
    out.color = vec4(radiance, base.a);
#endif
    return out;
}

#ifdef LIT
// Radiance toward the camera, multiplied by the coverage.
fn shade(v: VertexOut, uv0: vec2<f32>, uv1: vec2<f32>, front: bool, base: vec4<f32>) -> vec3<f32> {
    let to_camera = normalize(frame.camera.xyz - v.world);
    let facing = select(-1.0, 1.0, front);
    let geometric = normalize(v.normal) * facing;
    var n = geometric;
#ifdef TANGENT
    let t = normalize(v.tangent.xyz - geometric * dot(geometric, v.tangent.xyz) + vec3(1e-8, 0.0, 0.0));
    let b = cross(geometric, t) * (v.tangent.w * facing);
#ifdef NORMAL_TEX
    let bump = (tex_normal(uv0, uv1).xyz * 2.0 - 1.0) * vec3(material.surface.z, material.surface.z, 1.0);
    n = normalize(t * bump.x + b * bump.y + geometric * bump.z);
#endif
#endif
    var metallic = material.surface.x;
    var roughness = material.surface.y;
    var occlusion = 1.0;
#ifdef METALLIC_ROUGHNESS_TEX
    let packed = tex_metallic_roughness(uv0, uv1);
    metallic *= packed.b;
    roughness *= packed.g;
#ifdef OCCLUSION_PACKED
    occlusion = 1.0 + material.surface.w * (packed.r - 1.0);
#endif
#endif
#ifdef OCCLUSION_TEX
    occlusion = 1.0 + material.surface.w * (tex_occlusion(uv0, uv1).r - 1.0);
#endif
    var s: Surface;
    s.v = to_camera;
    s.n = n;
    s.geometric = geometric;
    s.n_dot_v = clamp(dot(n, to_camera), 1e-3, 1.0);
    s.roughness = clamp(roughness, 0.0, 1.0);
    // Only lights with a direction flicker: the environment is filtered already.
    let widened = widened_roughness(geometric, s.roughness);
    s.alpha_roughness = max(widened * widened, 2e-4);
    s.metallic = clamp(metallic, 0.0, 1.0);
    s.base = base.rgb;
    // Light gathered at the vertices, on this pixel's normal. The occlusion map is finer than the vertices, so the
    // darker of the two holds.
    s.direct = min(v.direct, vec3(occlusion));
    s.irradiance = environment_irradiance(n) * s.direct + v.indirect * occlusion + frame.ambient.rgb * occlusion;
    s.visibility = v.visibility;
    let closed = 1.0 - clamp(v.visibility.x + 0.667 * dot(v.visibility.yzw, geometric), 0.0, 0.98);
    s.blocked_radiance = v.indirect / (PI * closed);

    var specular_weight = material.specular.w;
    var specular_color = material.specular.rgb;
#ifdef SPECULAR_TEX
    specular_weight *= tex_specular(uv0, uv1).a;
#endif
#ifdef SPECULAR_COLOR_TEX
    specular_color *= linear_from_srgb(tex_specular_color(uv0, uv1).rgb);
#endif
    let dielectric_f0 = min(vec3(material.coat.x) * specular_color, vec3(1.0)) * specular_weight;
    s.dielectric_f0 = dielectric_f0;
    s.dielectric_f90 = specular_weight;
    s.f0_dielectric = dielectric_f0;
    s.f0_metal = s.base;
#ifdef IRIDESCENCE
    var film = material.iridescence.x;
    var film_thickness = material.iridescence.w;
#ifdef IRIDESCENCE_TEX
    film *= tex_iridescence(uv0, uv1).r;
#endif
#ifdef IRIDESCENCE_THICKNESS_TEX
    film_thickness = mix(material.iridescence.z, material.iridescence.w, tex_iridescence_thickness(uv0, uv1).g);
#endif
    s.f0_dielectric = mix(s.f0_dielectric, f_iridescence(material.iridescence.y, s.n_dot_v, film_thickness, s.f0_dielectric), film);
    s.f0_metal = mix(s.f0_metal, f_iridescence(material.iridescence.y, s.n_dot_v, film_thickness, s.f0_metal), film);
#endif
#ifdef ANISOTROPY
    var direction = material.anisotropy.yz;
    var strength = material.anisotropy.x;
#ifdef ANISOTROPY_TEX
    let flow = tex_anisotropy(uv0, uv1).xyz;
    let local = flow.xy * 2.0 - 1.0;
    direction = vec2(direction.x * local.x - direction.y * local.y, direction.y * local.x + direction.x * local.y);
    strength *= flow.z;
#endif
    s.anisotropic_t = normalize(t * direction.x + b * direction.y + vec3(1e-8, 0.0, 0.0));
    s.anisotropic_b = cross(geometric, s.anisotropic_t);
    s.anisotropy = clamp(strength, 0.0, 1.0);
#endif

    var transmitted_share = 0.0;
#ifdef TRANSMISSION
    transmitted_share = material.transmission.x;
#ifdef TRANSMISSION_TEX
    transmitted_share *= tex_transmission(uv0, uv1).r;
#endif
#endif
    var diffuse_weight = 1.0 - transmitted_share;
    var diffuse_in = s.irradiance;
#ifdef DIFFUSE_TRANSMISSION
    var through = material.diffuse_transmission.w;
    var through_color = material.diffuse_transmission.rgb;
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
    var thickness = material.transmission.y;
#ifdef THICKNESS_TEX
    thickness *= tex_thickness(uv0, uv1).g;
#endif
    body += transmitted_share * (1.0 - s.metallic) * ibl.transmittance * transmitted_radiance(s, v.world, v.clip, thickness);
#endif

    var total = body + gloss;
#ifdef SHEEN
    var sheen_color = material.sheen.rgb;
    var sheen_roughness = material.sheen.w;
#ifdef SHEEN_COLOR_TEX
    sheen_color *= linear_from_srgb(tex_sheen_color(uv0, uv1).rgb);
#endif
#ifdef SHEEN_ROUGHNESS_TEX
    sheen_roughness *= tex_sheen_roughness(uv0, uv1).a;
#endif
    total = sheen_over(s, v.world, total, sheen_color, sheen_roughness);
#endif
#ifdef CLEARCOAT
    var coat = material.coat.y;
    var coat_roughness = material.coat.z;
#ifdef CLEARCOAT_TEX
    coat *= tex_clearcoat(uv0, uv1).r;
#endif
#ifdef CLEARCOAT_ROUGHNESS_TEX
    coat_roughness *= tex_clearcoat_roughness(uv0, uv1).g;
#endif
    var coat_n = geometric;
#ifdef CLEARCOAT_NORMAL_TEX
    let coat_bump = (tex_clearcoat_normal(uv0, uv1).xyz * 2.0 - 1.0) * vec3(material.coat.w, material.coat.w, 1.0);
    coat_n = normalize(t * coat_bump.x + b * coat_bump.y + geometric * coat_bump.z);
#endif
    total = coat_over(s, v.world, total, coat, coat_roughness, coat_n);
#endif
    return total * base.a;
}
#endif
