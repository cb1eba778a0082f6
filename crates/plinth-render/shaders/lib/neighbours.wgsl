// What polished surfaces reflect of the model: a cone is marched through the distance field of its surfaces (after
// Aaltonen 2018, "GPU-based Clay Simulation and Ray-tracing Tech in Claybook"). Twin: `distance_field.rs`. Needs
// types/frame.wgsl, layers.

// Up to this perceptual roughness reflections are found by the cone, beyond the second by the spherical harmonics of
// visibility alone; in between they are mixed.
const SHARP: f32 = 0.3;
const TOO_ROUGH: f32 = 0.45;
// Below this share of blocked directions nothing would be met,
const LEAST_CLOSED: f32 = 0.05;
// and below this reflectance nobody would see it.
const LEAST_REFLECTED: f32 = 0.06;
// What surfaces are thickened by, in cells.
const THICKENED: f32 = 0.6;
// Share from which on a cone is full.
const FILLED: f32 = 0.95;
const MARCH_STEPS: i32 = 24;

struct Neighbours {
    radiance: vec3<f32>,
    // Share of the cone that surfaces fill.
    filled: f32,
}

// What a lobe of this roughness around a direction meets.
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
        // Of a thin wall no cell is inside.
        let gap = near - THICKENED * cell;
        let width = max(travelled * slope, 0.3 * cell);
        // The plane that the cone leaves is no surface that it meets.
        let own = smoothstep(0.3, 0.6, near / (travelled * rise));
        let here = (1.0 - smoothstep(-0.3, 0.75, gap / width)) * (1.0 - own);
        met_at = select(met_at, travelled, here > filled);
        filled = max(filled, here);
        if filled > FILLED {
            // Through the rest a lamp would shine.
            filled = 1.0;
            break;
        }
        travelled += max(0.9 * gap, 0.8 * cell);
    }
    // The light of the side that the cone comes to: cells within a thin wall have that of both.
    let before = first + step * max(met_at - 0.5 * cell, 0.0);
    return Neighbours(textureSampleLevel(field_radiance, linear_sampler, before, 0.0).rgb, filled);
}

// Whether a lobe of this roughness may meet something.
fn reflects_neighbours(s: Surface, direction: vec3<f32>, perceptual_roughness: f32, reflectance: vec3<f32>) -> bool {
    let closed = 1.0 - s.visibility.x + 0.3 * length(s.visibility.yzw) - 0.7 * dot(s.visibility.yzw, direction);
    let most = max(reflectance.r, max(reflectance.g, reflectance.b));
    return frame.has_field > 0.0 && most > LEAST_REFLECTED && perceptual_roughness < TOO_ROUGH && closed > LEAST_CLOSED;
}
