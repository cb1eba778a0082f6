// Reflections of the model in its polished surfaces, by cone tracing through the distance field of its surfaces (after
// Aaltonen 2018, "GPU-based Clay Simulation and Ray-tracing Tech in Claybook"). The field is built in
// `distance_field.rs`. Needs types/frame.wgsl, layers.

// Up to the first perceptual roughness reflections are cone-traced, beyond the second they use only the spherical
// harmonics of visibility; in between both are interpolated.
const SHARP: f32 = 0.3;
const TOO_ROUGH: f32 = 0.45;
// Below this fraction of occluded directions a cone would hit nothing.
const LEAST_CLOSED: f32 = 0.05;
// Below this reflectance a reflection would not be visible.
const LEAST_REFLECTED: f32 = 0.06;
// Thickness added to surfaces, in cells.
const THICKENED: f32 = 0.6;
// A cone filled to this fraction counts as full.
const FILLED: f32 = 0.95;
const MARCH_STEPS: i32 = 24;

struct Neighbours {
    radiance: vec3<f32>,
    // Fraction of the cone that surfaces fill.
    filled: f32,
}

// Traces a lobe of this roughness around a direction.
fn neighbours_within(s: Surface, direction: vec3<f32>, perceptual_roughness: f32) -> Neighbours {
    let cell = frame.field_cell;
    let start = frame.grow_origin + (s.world - frame.grow_origin) / frame.grow;
    let slope = max(perceptual_roughness * perceptual_roughness, 0.01);
    let rise = max(dot(direction, s.geometric), 0.02);
    let scale = 1.0 / frame.field_extent;
    let first = (start - frame.field_origin) * scale;
    let step = direction * scale;
    var filled = 0.0;
    var met_at = 0.0;
    var travelled = 1.5 * cell;
    for (var i = 0; i < MARCH_STEPS; i++) {
        let at = first + step * travelled;
        if any(at < vec3(0.0)) || any(at > vec3(1.0)) {
            break;
        }
        let near = textureSampleLevel(field_distances, linear_sampler, at, 0.0).r;
        // No cell is inside a thin wall.
        let gap = near - THICKENED * cell;
        let width = max(travelled * slope, 0.3 * cell);
        // The plane of the reflecting surface itself does not count.
        let own = smoothstep(0.3, 0.6, near / (travelled * rise));
        let here = (1.0 - smoothstep(-0.3, 0.75, gap / width)) * (1.0 - own);
        met_at = select(met_at, travelled, here > filled);
        filled = max(filled, here);
        if filled > FILLED {
            // Otherwise a lamp would shine through the rest.
            filled = 1.0;
            break;
        }
        travelled += max(0.9 * gap, 0.8 * cell);
    }
    // The light of the near side, because cells within a thin wall have the light of both sides.
    let before = first + step * max(met_at - 0.5 * cell, 0.0);
    return Neighbours(textureSampleLevel(field_radiance, linear_sampler, before, 0.0).rgb, filled);
}

// Whether a lobe of this roughness may hit something.
fn reflects_neighbours(s: Surface, direction: vec3<f32>, perceptual_roughness: f32, reflectance: vec3<f32>) -> bool {
    let closed = 1.0 - s.visibility.x + 0.3 * length(s.visibility.yzw) - 0.7 * dot(s.visibility.yzw, direction);
    let most = max(reflectance.r, max(reflectance.g, reflectance.b));
    return frame.has_field > 0.0 && most > LEAST_REFLECTED && perceptual_roughness < TOO_ROUGH && closed > LEAST_CLOSED;
}
