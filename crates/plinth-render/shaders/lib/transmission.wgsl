// Transmitted light. Light is refracted where it enters a body and where it leaves the body. Then a ray is traced
// through the picture of the scene behind the body. The method works in screen space (after Wyman 2005, "An Approximate
// Image-Space Approach for Interactive Refraction"), but both intersections are found by iteration. Needs
// types/frame.wgsl, lib/layers.wgsl and lib/ibl.wgsl.

@group(1) @binding(7) var scene_color: texture_2d<f32>;
// For the opaque scene: x is the distance along the camera's axis times the coverage, and y is the coverage.
@group(1) @binding(8) var scene_distance: texture_2d<f32>;
// The back faces of the body, as drawn by `pass/back_faces.wgsl`. The value is 0 where there is no back face.
@group(1) @binding(9) var back_faces: texture_2d<f32>;

const EXIT_STEPS: i32 = 4;
// Parameters for tracing a ray beyond the body: its maximum length in world units (a model spans 2), the number of
// steps, and the number of times that a step with a hit is halved.
const MAX_RAY_LENGTH: f32 = 3.0;
const HIT_STEPS: i32 = 16;
const HALVINGS: i32 = 5;
const MAX_ITERATIONS: i32 = HIT_STEPS + 1 + 6 * HALVINGS;
// If the first point of a ray behind a surface is farther behind the surface than this, in world units, the ray has not
// passed through the surface, but behind its edge.
const MAX_DEPTH_GAP: f32 = 0.04;

// Returns the position of a world-space point in the picture, 0..1.
fn picture_uv(point: vec3<f32>) -> vec2<f32> {
    let clip = frame.clip_from_world * vec4(point, 1.0);
    return clip.xy / max(clip.w, 1e-4) * vec2(0.5, -0.5) + 0.5;
}

fn distance_along_axis(point: vec3<f32>) -> f32 {
    return dot(point - frame.camera_position, frame.camera_axis);
}

// Returns the reflectance of a dielectric for unpolarised light from inside. The reflectance is 1 at total internal
// reflection.
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

// Returns the distance of the opaque scene along the camera's axis, blurred by a mip level. Returns 0 where there is no
// surface.
fn scene_distance_at(uv: vec2<f32>, mip: f32) -> f32 {
    // At an edge, an interpolated distance would be meaningless. Therefore the distance of a single pixel is used if
    // there is no blur.
    let middle = (floor(uv * frame.target_size) + 0.5) / frame.target_size;
    let found = textureSampleLevel(scene_distance, linear_sampler, select(uv, middle, mip <= 0.0), max(mip, 0.0)).rg;
    return select(0.0, found.r / found.g, found.g > 1e-3);
}

// Light that a surface transmits.
struct Transmitted {
    radiance: vec3<f32>,
    // Fraction of the light that comes directly from the backdrop.
    open: vec3<f32>,
}

// Up to the perceptual roughness `CLEAR_ROUGHNESS`, glass shows the backdrop sharply. From `FROSTED_ROUGHNESS` on,
// glass shows the environment instead of the backdrop.
const CLEAR_ROUGHNESS: f32 = 0.05;
const FROSTED_ROUGHNESS: f32 = 0.15;

// A cone that is wider than this many pixels is not traced.
const MAX_CONE_PIXELS: f32 = 4.0;

// A ray that starts where light leaves a body. On a rough surface, the ray widens to a cone.
struct ExitRay {
    start: vec3<f32>,
    direction: vec3<f32>,
    // Distance of the start along the camera's axis, and the increase of this distance per unit of the ray's length.
    here: f32,
    forward: f32,
    // Length of the path inside the body, and the increase of the cone's width per unit of length. The width is in
    // pixels at distance 1.
    path: f32,
    widening: f32,
}

// Returns the mip level whose texels are as wide as the cone.
fn blur_at(ray: ExitRay, travelled: f32) -> f32 {
    return log2(max(ray.widening * (ray.path + travelled) / (ray.here + ray.forward * travelled), 1.0));
}

// Returns how far a point of the ray is behind the visible surface, along the camera's axis. The value is negative if
// the point is in front of the surface or there is no surface.
fn depth_below_scene(ray: ExitRay, travelled: f32) -> f32 {
    let there = scene_distance_at(picture_uv(ray.start + ray.direction * travelled), blur_at(ray, travelled));
    return select(-1.0, ray.here + ray.forward * travelled - there, there > 0.0);
}

struct Crossing {
    met: bool,
    travelled: f32,
}

// Finds the point where the ray passes through a surface of the picture. If the ray passes behind a surface, the
// picture does not show what the ray hits there. In this case, the point beside the surface at which the ray reappears
// is used.
//
// Each iteration reads one point: the next point along the ray or, after a hit, the middle of the remaining interval.
// Both cases share one texture lookup, because drivers execute all branches for all pixels.
fn crossing(ray: ExitRay) -> Crossing {
    let step = MAX_RAY_LENGTH / f32(HIT_STEPS);
    var out = Crossing(false, 0.0);
    // The ray cannot hit a surface that is in front of its start, so the search begins as if the ray were behind a
    // surface.
    var before = 1.0;
    var behind_edge = false;
    var steps = 0;
    var halvings = 0;
    var low = 0.0;
    var high = 0.0;
    var left = false;
    var limit = 0.0;
    var gap_stepped = 0.0;
    var gap_high = 0.0;
    for (var turn = 0; turn < MAX_ITERATIONS && steps <= HIT_STEPS; turn++) {
        let halves = halvings > 0;
        let place = select(step * f32(steps), 0.5 * (low + high), halves);
        let gap = depth_below_scene(ray, place);
        if halves {
            let passed = (gap > limit) != left;
            low = select(place, low, passed);
            high = select(high, place, passed);
            gap_high = select(gap_high, gap, passed);
            halvings -= 1;
            if halvings == 0 {
                out = Crossing(true, high);
                // A blurred picture has no edges behind which the ray could be hidden.
                if left || gap_high < MAX_DEPTH_GAP || blur_at(ray, high) > 0.0 {
                    break;
                }
                behind_edge = true;
                before = gap_stepped;
                steps += 1;
            }
        } else {
            let entered = gap > 0.0 && before <= 0.0;
            left = behind_edge && gap > 0.0 && gap < before - MAX_DEPTH_GAP;
            if entered || left {
                // Where the ray passes through a surface, the gap grows from 0. Where the ray reappears from behind a
                // surface, the gap decreases abruptly.
                limit = select(0.0, 0.5 * (before + gap), left);
                low = place - step;
                high = place;
                gap_stepped = gap;
                gap_high = gap;
                halvings = HALVINGS;
            } else {
                if behind_edge && gap <= 0.0 {
                    // The ray has reappeared from behind the surface without hitting anything.
                    behind_edge = false;
                    out.met = false;
                }
                before = gap;
                steps += 1;
            }
        }
    }
    return out;
}

// Returns the light that leaves a body in a direction, after a path of length `path` inside the body. Where the ray
// hits the scene, the light is the colour of the picture. Elsewhere, the light is the colour of the backdrop or the
// environment.
fn trace_exit_ray(start: vec3<f32>, direction: vec3<f32>, roughness: f32, path: f32) -> Transmitted {
    let around = seen_environment(direction, roughness);
    let forward = dot(direction, frame.camera_axis);
    let here = distance_along_axis(start);
    // A rough surface spreads the ray to a cone, which starts where the ray entered the body. The width of the cone in
    // pixels selects the mip level.
    let ray = ExitRay(start, direction, here, forward, path, 0.9 * roughness * roughness / frame.pixel_size);
    var high = 0.0;
    var met = true;
    let wide = ray.widening * path > MAX_CONE_PIXELS * here;
    if wide {
        // If the cone is this wide, the mean distance of the scene is used.
        let there = scene_distance_at(picture_uv(start), blur_at(ray, 0.0));
        high = select(0.0, clamp((there - here) / max(forward, 0.2), 0.0, MAX_RAY_LENGTH), there > 0.0);
    } else {
        let found = crossing(ray);
        high = found.travelled;
        met = found.met;
    }
    let uv = picture_uv(start + direction * high);
    let edge = clamp(min(min(uv.x, 1.0 - uv.x), min(uv.y, 1.0 - uv.y)) * 50.0, 0.0, 1.0);
    let found = textureSampleLevel(scene_color, linear_sampler, uv, blur_at(ray, high));
    // A wide cone that points to the side leaves the visible part of the scene.
    let ahead = select(1.0, smoothstep(0.0, 0.6, forward), wide);
    let share = select(0.0, clamp(found.a, 0.0, 1.0) * edge * ahead, met);
    let open = frame.glass_shows_backdrop * (1.0 - smoothstep(CLEAR_ROUGHNESS, FROSTED_ROUGHNESS, roughness)) * (1.0 - share);
    return Transmitted(found.rgb / max(found.a, 1e-3) * share + around * (1.0 - share - open), vec3(open));
}

// Returns the light that a body with thickness transmits, for one index of refraction.
fn refracted(s: Surface, world: vec3<f32>, thickness: f32, roughness: f32, ior: f32) -> Transmitted {
    let inside = refract(-s.v, s.n, 1.0 / ior);
    let forward = max(dot(inside, frame.camera_axis), 0.05);
    let here = distance_along_axis(world);
    let middle = distance_along_axis(frame.grow_origin);
    // A body without back faces is treated as a sphere. The normal at the exit is the mirror image of the normal at the
    // entry.
    var path = thickness * max(dot(-s.n, inside), 0.0);
    var outward = normalize(2.0 * dot(s.n, inside) * inside - s.n);
    for (var i = 0; i < EXIT_STEPS; i++) {
        let far = textureSampleLevel(back_faces, linear_sampler, picture_uv(world + inside * path), 0.0);
        // Between pixels with back faces and pixels without, the texture is interpolated. The length of the normal is
        // then the fraction of pixels with back faces.
        let share = length(far.xyz);
        let there = middle + far.w / max(share, 1e-3);
        let found = share > 0.5 && there > here;
        path = select(path, (there - here) / forward, found);
        outward = select(outward, far.xyz / max(share, 1e-3), found);
    }
    let exit = world + inside * path;
    let through = exp(-material.absorption * path) * s.base;
    let cos_inside = clamp(dot(inside, outward), 0.0, 1.0);
    let kept = fresnel_from_inside(cos_inside, ior);
    // Light that is reflected inside the body leaves the body at another point. As an approximation, the reflected
    // light is assumed to leave the body at this point.
    let reflected = environment_radiance(reflect(inside, outward), roughness);
    var out = Transmitted(reflected * kept * through, vec3(0.0));
    if kept < 1.0 {
        let seen = trace_exit_ray(exit, refract(inside, -outward, ior), roughness, path);
        out.radiance += seen.radiance * through * (1.0 - kept);
        out.open = seen.open * through * (1.0 - kept);
    }
    return out;
}

fn transmitted(s: Surface, world: vec3<f32>, thickness: f32) -> Transmitted {
    let ior = material.ior;
    // The blur decreases as the index of refraction approaches 1 (KHR_materials_transmission, implementation notes).
    let roughness = s.roughness * clamp(ior * 2.0 - 2.0, 0.0, 1.0);
    if thickness <= 0.0 {
        let seen = trace_exit_ray(world, -s.v, roughness, 0.0);
        return Transmitted(seen.radiance * s.base, seen.open * s.base);
    }
#ifdef DISPERSION
    // Red, green and blue are refracted separately (KHR_materials_dispersion, implementation notes).
    let spread = (ior - 1.0) * 0.025 * material.dispersion;
    let red = refracted(s, world, thickness, roughness, ior - spread);
    let green = refracted(s, world, thickness, roughness, ior);
    let blue = refracted(s, world, thickness, roughness, ior + spread);
    return Transmitted(
        vec3(red.radiance.r, green.radiance.g, blue.radiance.b),
        vec3(red.open.r, green.open.g, blue.open.b),
    );
#else
    return refracted(s, world, thickness, roughness, ior);
#endif
}

// Returns the radiance and the coverage of a surface through which the backdrop is visible. The coverage is the
// smallest coverage with which the surface's own light can be represented in display space (as in the blend mode
// "screen"). If the surface absorbs the backdrop in only some channels, the difference between the channels is added to
// the colour of the surface.
fn over_backdrop(radiance: vec3<f32>, open: vec3<f32>) -> vec4<f32> {
    // Scaling linear light by a factor scales the sRGB-encoded value by nearly a constant factor, too.
    let left = srgb_from_linear(open);
    let least = min(left.r, min(left.g, left.b));
    if all(open <= vec3(0.0)) {
        return vec4(radiance, 1.0);
    }
    let tint = (left - least) * srgb_from_linear(frame.backdrop_color);
    let shown = min(srgb_from_linear(tone_map_pbr_neutral(radiance)) + tint, vec3(1.0));
    let coverage = max(1.0 - least, max(shown.r, max(shown.g, shown.b)));
    let linear = linear_from_srgb(shown / max(coverage, 1e-4));
    return vec4(max(before_tone_map(linear), radiance) * coverage, coverage);
}
