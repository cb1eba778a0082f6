// Light that passes through: refraction into the picture behind. Needs types/frame.wgsl, layers, ibl.

@group(1) @binding(0) var behind: texture_2d<f32>;

// Where a world point is in the picture behind, 0..1.
fn behind_uv(point: vec3<f32>) -> vec2<f32> {
    let clip = frame.clip_from_world * vec4(point, 1.0);
    return clip.xy / max(clip.w, 1e-4) * vec2(0.5, -0.5) + 0.5;
}

// Radiance from beyond, in a direction, through a point where the ray leaves the body: the opaque picture where it
// covers, the environment elsewhere.
fn beyond(s: Surface, exit: vec3<f32>, direction: vec3<f32>, roughness: f32) -> vec3<f32> {
    let uv = behind_uv(exit + direction * 0.35);
    let mip = roughness * log2(max(frame.target_size.x, frame.target_size.y)) * 0.75;
    let seen = textureSampleLevel(behind, linear_sampler, uv, mip);
    return seen.rgb + (1.0 - clamp(seen.a, 0.0, 1.0)) * environment_radiance(direction, roughness);
}

fn transmitted_radiance(s: Surface, world: vec3<f32>, thickness: f32) -> vec3<f32> {
    let ior = material.transmission.z;
    // The index of refraction blurs less the nearer it is to 1 (KHR_materials_transmission, implementation notes).
    let roughness = s.roughness * clamp(ior * 2.0 - 2.0, 0.0, 1.0);
    if thickness <= 0.0 {
        return beyond(s, world, -s.v, roughness) * s.base;
    }
    let inside = refract(-s.v, s.n, 1.0 / ior);
    let path = thickness * max(dot(-s.n, inside), 0.0);
    let exit = world + inside * path;
    // The far side is taken as a sphere's: its normal mirrors the near one about the path.
    let far_normal = normalize(s.n - 2.0 * dot(s.n, inside) * inside);
    var outside = refract(inside, -far_normal, ior);
    if dot(outside, outside) < 0.5 {
        outside = reflect(inside, -far_normal);
    }
    let absorbed = exp(-material.absorption.rgb * path);
    return beyond(s, exit, outside, roughness) * absorbed * s.base;
}
