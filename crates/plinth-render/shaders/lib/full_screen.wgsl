// A triangle that covers the whole target: its corner `i` in clip space.
fn full_screen_corner(i: u32) -> vec2<f32> {
    return vec2(f32((i << 1u) & 2u) * 2.0 - 1.0, 1.0 - f32(i & 2u) * 2.0);
}
