// Light that passes through: refracted where it enters and where it leaves a body, then seen in the picture behind.
// In screen space, after Wyman 2005, "An Approximate Image-Space Approach for Interactive Refraction", with both points
// found by iteration. Needs types/frame.wgsl, layers, ibl.

@group(1) @binding(0) var behind: texture_2d<f32>;
// Distance of what is behind along the camera's axis, 0 where nothing is.
@group(1) @binding(1) var behind_distance: texture_2d<f32>;
// Outward normal and depth of the body's far side; depth 1 where it has none.
@group(1) @binding(2) var far_normal: texture_2d<f32>;
@group(1) @binding(3) var far_depth: texture_depth_2d;

const EXIT_STEPS: i32 = 4;
const HIT_STEPS: i32 = 5;

// Where a world point is in the picture, 0..1.
fn picture_uv(point: vec3<f32>) -> vec2<f32> {
    let clip = frame.clip_from_world * vec4(point, 1.0);
    return clip.xy / max(clip.w, 1e-4) * vec2(0.5, -0.5) + 0.5;
}

fn picture_pixel(uv: vec2<f32>) -> vec2<i32> {
    return vec2<i32>(clamp(uv * frame.target_size.xy, vec2(0.0), frame.target_size.xy - 1.0));
}

fn distance_along_axis(point: vec3<f32>) -> f32 {
    return dot(point - frame.camera.xyz, frame.camera_axis.xyz);
}

// Reflectance of a dielectric for unpolarised light, from inside; 1 at total reflection.
fn fresnel_from_inside(cos_inside: f32, ior: f32) -> f32 {
    let sin2_outside = ior * ior * (1.0 - cos_inside * cos_inside);
    if sin2_outside >= 1.0 {
        return 1.0;
    }
    let cos_outside = sqrt(1.0 - sin2_outside);
    let parallel = (cos_inside - ior * cos_outside) / (cos_inside + ior * cos_outside);
    let perpendicular = (ior * cos_inside - cos_outside) / (ior * cos_inside + cos_outside);
    return 0.5 * (parallel * parallel + perpendicular * perpendicular);
}

// Radiance that comes to a point from a direction: the picture where the ray meets it, the environment elsewhere.
fn beyond(start: vec3<f32>, direction: vec3<f32>, roughness: f32) -> vec3<f32> {
    let around = environment_radiance(direction, roughness);
    let forward = dot(direction, frame.camera_axis.xyz);
    if forward < 0.05 {
        return around;
    }
    let here = distance_along_axis(start);
    var travelled = 0.35;
    var met = 0.0;
    var uv = vec2(0.5);
    for (var i = 0; i < HIT_STEPS; i++) {
        uv = picture_uv(start + direction * travelled);
        let there = textureLoad(behind_distance, picture_pixel(uv), 0).r;
        met = select(0.0, 1.0, there > here);
        travelled = select(travelled, (there - here) / forward, there > here);
    }
    let edge = clamp(min(min(uv.x, 1.0 - uv.x), min(uv.y, 1.0 - uv.y)) * 50.0, 0.0, 1.0);
    // A rough surface spreads the ray to a cone; its width in pixels at the hit chooses the blur.
    let pixels = 2.0 * roughness * roughness * travelled / ((here + travelled * forward) * frame.target_size.w);
    let found = textureSampleLevel(behind, linear_sampler, uv, log2(max(pixels, 1.0)));
    let share = clamp(found.a, 0.0, 1.0) * max(met, select(0.0, 1.0, roughness > 0.1)) * edge;
    return mix(around, found.rgb / max(found.a, 1e-3), share);
}

fn transmitted_radiance(s: Surface, world: vec3<f32>, thickness: f32) -> vec3<f32> {
    let ior = material.transmission.z;
    // The index of refraction blurs less the nearer it is to 1 (KHR_materials_transmission, implementation notes).
    let roughness = s.roughness * clamp(ior * 2.0 - 2.0, 0.0, 1.0);
    if thickness <= 0.0 {
        return beyond(world, -s.v, roughness) * s.base;
    }
    let inside = refract(-s.v, s.n, 1.0 / ior);
    let forward = max(dot(inside, frame.camera_axis.xyz), 0.05);
    let here = distance_along_axis(world);
    // A body without a far side is taken as a ball: its far normal mirrors the near one about the path.
    var path = thickness * max(dot(-s.n, inside), 0.0);
    var outward = normalize(2.0 * dot(s.n, inside) * inside - s.n);
    for (var i = 0; i < EXIT_STEPS; i++) {
        let pixel = picture_pixel(picture_uv(world + inside * path));
        let depth = textureLoad(far_depth, pixel, 0);
        let there = frame.camera_axis.w / (frame.target_size.z - depth);
        let found = depth < 1.0 && there > here;
        path = select(path, (there - here) / forward, found);
        outward = select(outward, textureLoad(far_normal, pixel, 0).xyz, found);
    }
    let exit = world + inside * path;
    let through = exp(-material.absorption.rgb * path) * s.base;
    let cos_inside = clamp(dot(inside, outward), 0.0, 1.0);
    let kept = fresnel_from_inside(cos_inside, ior);
    // What is reflected inside leaves the body somewhere: it is seen as if from here.
    let reflected = environment_radiance(reflect(inside, outward), roughness);
    var radiance = reflected * kept;
    if kept < 1.0 {
        radiance += beyond(exit, refract(inside, -outward, ior), roughness) * (1.0 - kept);
    }
    return radiance * through;
}
