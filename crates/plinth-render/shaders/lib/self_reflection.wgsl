// Reflections of the model in its own polished surfaces. Cones are traced through the distance field of the model's
// surfaces (after Aaltonen 2018, "GPU-based Clay Simulation and Ray-tracing Tech in Claybook"). `distance_field.rs`
// builds the field. Needs types/frame.wgsl and lib/layers.wgsl.

// Up to the perceptual roughness `FULLY_TRACED_ROUGHNESS`, reflections are traced. From `MAX_TRACED_ROUGHNESS` on, only
// the spherical harmonics are used. Between these values, both results are interpolated.
const FULLY_TRACED_ROUGHNESS: f32 = 0.3;
const MAX_TRACED_ROUGHNESS: f32 = 0.45;
// Minimum fraction of blocked directions for which a cone is traced. With a smaller fraction, a cone would hit nothing.
const MIN_BLOCKED_FRACTION: f32 = 0.05;
// Minimum reflectance for which a cone is traced. With a smaller reflectance, the reflection would not be visible.
const MIN_REFLECTANCE: f32 = 0.06;
// Thickness that is added to surfaces, in cells of the distance field.
const EXTRA_THICKNESS: f32 = 0.6;
// A cone counts as completely blocked if surfaces fill at least this fraction of it.
const FULLY_BLOCKED: f32 = 0.95;
const MARCH_STEPS: i32 = 24;

struct SelfReflection {
    radiance: vec3<f32>,
    // Fraction of the cone that surfaces block.
    filled: f32,
}

// Traces a cone around a direction. The width of the cone corresponds to the specular lobe of the given roughness.
fn trace_self_reflection(s: Surface, direction: vec3<f32>, perceptual_roughness: f32) -> SelfReflection {
    let cell = frame.field_cell;
    let start = frame.grow_origin + (s.world - frame.grow_origin) * (1.0 / frame.grow);
    let slope = max(perceptual_roughness * perceptual_roughness, 0.01);
    let rise = max(dot(direction, s.geometric), 0.02);
    let first = (start - frame.field_origin) * frame.field_scale;
    let step = direction * frame.field_scale;
    var filled = 0.0;
    var met_at = 0.0;
    var travelled = 1.5 * cell;
    for (var i = 0; i < MARCH_STEPS; i++) {
        let at = first + step * travelled;
        if any(at < vec3(0.0)) || any(at > vec3(1.0)) {
            break;
        }
        let near = textureSampleLevel(field_distances, linear_sampler, at, 0.0).r;
        // A wall that is thinner than a cell may contain no centre of a cell, so surfaces are made thicker.
        let gap = near - EXTRA_THICKNESS * cell;
        let width = max(travelled * slope, 0.3 * cell);
        // The plane of the reflecting surface itself is ignored.
        let own = smoothstep(0.3, 0.6, near / (travelled * rise));
        let here = (1.0 - smoothstep(-0.3, 0.75, gap / width)) * (1.0 - own);
        met_at = select(met_at, travelled, here > filled);
        filled = max(filled, here);
        if filled > FULLY_BLOCKED {
            // If the cone were only partly blocked, the light of a lamp behind the surface would be visible in the
            // reflection.
            filled = 1.0;
            break;
        }
        travelled += max(0.9 * gap, 0.8 * cell);
    }
    // The light is read slightly before the surface, because the cells within a thin wall contain the light of both of
    // its sides.
    let before = first + step * max(met_at - 0.5 * cell, 0.0);
    return SelfReflection(textureSampleLevel(field_radiance, linear_sampler, before, 0.0).rgb, filled);
}

// Returns whether a lobe of this roughness may hit a surface of the model.
fn is_self_reflecting(s: Surface, direction: vec3<f32>, perceptual_roughness: f32, reflectance: vec3<f32>) -> bool {
    let closed = 1.0 - s.visibility.x + 0.3 * length(s.visibility.yzw) - 0.7 * dot(s.visibility.yzw, direction);
    let most = max(reflectance.r, max(reflectance.g, reflectance.b));
    return frame.has_field > 0.0 && most > MIN_REFLECTANCE && perceptual_roughness < MAX_TRACED_ROUGHNESS && closed > MIN_BLOCKED_FRACTION;
}
