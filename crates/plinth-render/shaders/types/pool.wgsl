// A pool: the buffers of one or several batches of triangles, or of one batch of points or lines. A batch is geometry
// that has the same material. Rust counterpart: `gpu_types.rs`.

struct Pool {
    // The number of the first triangle, point or line of the pool.
    first_triangle: u32,
    // Which of the two surfaces of each pixel is shaded: 0 or 1.
    surface: u32,
    // 1 if the vertices have normals, otherwise 0. This member and the following members are used only for points and
    // lines.
    has_normals: f32,
    // Radius in world units. For lines, the radius is used only in shadows.
    sprite_radius: f32,
    // Minimum radius in pixels. `most_pixels` is the maximum radius in pixels.
    least_pixels: f32,
    most_pixels: f32,
}

@group(1) @binding(3) var<uniform> pool: Pool;
