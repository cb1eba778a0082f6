// One batch: triangles, points or lines of one material. Rust twin: `gpu_types.rs`.

struct Batch {
    // The number of its first triangle (point, line).
    first_triangle: u32,
    // Its place among the batches.
    number: u32,
    // Which surface of a pixel is shaded: 0 or 1.
    surface: u32,
    // Points and lines only. x: radius in world units (lines: in shadows alone); y, z: least and greatest radius in
    // pixels; w: 1 where vertices have normals.
    sprite: vec4<f32>,
}

@group(1) @binding(3) var<uniform> batch: Batch;
