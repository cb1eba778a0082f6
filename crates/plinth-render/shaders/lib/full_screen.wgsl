// Returns the position in clip space of corner `i` of a triangle that covers the whole render target.
fn full_screen_corner(i: u32) -> vec2<f32> {
    return vec2(f32((i << 1u) & 2u) * 2.0 - 1.0, 1.0 - f32(i & 2u) * 2.0);
}

// Outputs of the vertex shader for a corner of a triangle that covers the whole render target. `uv` are texture
// coordinates, with (0, 0) at the top left of the render target.
struct CornerOut {
    @builtin(position) clip: vec4<f32>,
    @location(0) uv: vec2<f32>,
}

fn corner_out(i: u32) -> CornerOut {
    let corner = full_screen_corner(i);
    return CornerOut(vec4(corner, 0.0, 1.0), corner * vec2(0.5, -0.5) + 0.5);
}
