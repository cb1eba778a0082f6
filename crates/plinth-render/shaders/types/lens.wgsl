// The lens of the depth-of-field effect. Rust counterpart: `gpu_types.rs`.

struct Lens {
    // Diameter of the aperture in world units.
    aperture: f32,
    // Distance along the camera's axis at which the picture is sharp.
    focus: f32,
    // Size of a world unit in pixels, at distance 1.
    pixels_per_unit: f32,
    // Largest blur radius in the frame in pixels.
    widest_blur: f32,
    // Position of the first pixel of the model's region. `part_size` is the size of this region in pixels.
    part_origin: vec2<f32>,
    part_size: vec2<f32>,
}

// Returns the radius in pixels of the circle of confusion of a point at this distance (thin lens: Potmesil and
// Chakravarty 1981, "A Lens and Aperture Camera Model for Synthetic Image Generation"). The distance 0 means the
// backdrop or the floor, which stay sharp.
fn blur_radius(lens: Lens, distance: f32) -> f32 {
    let away = select(abs(distance - lens.focus) / max(distance, 1e-3), 0.0, distance <= 0.0);
    return min(0.5 * lens.aperture * away * lens.pixels_per_unit / lens.focus, lens.widest_blur);
}

// Returns the distance of the nearest surface at a pixel of the picture. Returns 0 if there is no surface.
fn distance_at(lens: Lens, geometry: texture_2d<f32>, pixel: vec2<i32>) -> f32 {
    let local = pixel - vec2<i32>(lens.part_origin);
    if any(local < vec2(0)) || any(local >= vec2<i32>(lens.part_size)) {
        return 0.0;
    }
    return textureLoad(geometry, local, 0).w;
}
