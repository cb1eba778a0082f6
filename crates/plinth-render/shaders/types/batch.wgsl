// One batch: triangles, points or lines of one material. Rust counterpart: `gpu_types.rs`.

struct Batch {
    // The number of its first triangle (point, line).
    first_triangle: u32,
    // Index of the batch.
    number: u32,
    // Which surface of a pixel is shaded: 0 or 1.
    surface: u32,
    // 1 if vertices have normals. This and the following members are for points and lines only.
    has_normals: f32,
    // Radius in world units (for lines only in shadows).
    sprite_radius: f32,
    // Minimum and maximum radius in pixels.
    least_pixels: f32,
    most_pixels: f32,
}

@group(1) @binding(3) var<uniform> batch: Batch;
