// One batch: triangles, points or lines of one material. Rust twin: `gpu_types.rs`.

struct Batch {
    // The number of its first triangle (point, line).
    first_triangle: u32,
    // Its place among the batches.
    number: u32,
    // Which surface of a pixel is shaded: 0 or 1.
    surface: u32,
    // 1 where vertices have normals. This and the rest: points and lines only.
    has_normals: f32,
    // Radius in world units (lines: in shadows alone).
    sprite_radius: f32,
    // Least and greatest radius in pixels.
    least_pixels: f32,
    most_pixels: f32,
}

@group(1) @binding(3) var<uniform> batch: Batch;
