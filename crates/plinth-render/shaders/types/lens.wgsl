// The lens that depth of field imitates. Rust twin: `gpu_types.rs`.

struct Lens {
    // x: diameter of the aperture in world units; y: distance that is sharp; z: world units at distance 1 to pixels;
    // w: greatest radius of blur in this frame in pixels.
    look: vec4<f32>,
    // xy: the first pixel of the model's part; zw: its size.
    part: vec4<f32>,
}

// Radius in pixels of the disc that a point at this distance becomes (thin lens; Potmesil and Chakravarty 1981, "A Lens
// and Aperture Camera Model for Synthetic Image Generation"). Distance 0: backdrop and floor, which stay sharp.
fn blur_radius(lens: Lens, distance: f32) -> f32 {
    let away = select(abs(distance - lens.look.y) / max(distance, 1e-3), 0.0, distance <= 0.0);
    return min(0.5 * lens.look.x * away * lens.look.z / lens.look.y, lens.look.w);
}

// Distance of the first surface at a pixel of the picture; 0 where there is none.
fn distance_at(lens: Lens, geometry: texture_2d<f32>, pixel: vec2<i32>) -> f32 {
    let local = pixel - vec2<i32>(lens.part.xy);
    if any(local < vec2(0)) || any(local >= vec2<i32>(lens.part.zw)) {
        return 0.0;
    }
    return textureLoad(geometry, local, 0).w;
}
