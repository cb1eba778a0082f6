//! Frames for testing an encoder. They show a coloured disc with a texture that moves over a gradient.

/// Width and height of the frames in pixels. Hardware encoders reject frames that are much smaller; NVENC needs at
/// least 145×49.
pub(super) const SIZE: (u32, u32) = (640, 360);
pub(super) const FPS: u32 = 30;
/// Number of frames. There are more frames than in one group of pictures.
pub(super) const FRAMES: u32 = 36;
/// Size of a frame in 8-bit 4:2:0, in bytes.
pub(super) const FRAME_BYTES: usize = (SIZE.0 * SIZE.1 * 3 / 2) as usize;

/// Returns a frame in 8-bit 4:2:0 (limited range). The planes are Y, U, V. Row 0 is at the top.
pub(super) fn picture(index: u32) -> Vec<u8> {
    let (width, height) = (SIZE.0 as f32, SIZE.1 as f32);
    let center = [width * (0.25 + 0.5 * index as f32 / FRAMES as f32), height * 0.5];
    let radius = height * 0.35;
    // Returns the offset from the centre of the disc, in units of the disc's radius. Returns `None` outside the disc.
    let inside = |x: f32, y: f32| {
        let at = [(x - center[0]) / radius, (y - center[1]) / radius];
        (at[0] * at[0] + at[1] * at[1] < 1.0).then_some(at)
    };
    let luma = |x: f32, y: f32| match inside(x, y) {
        Some([u, v]) => 120.0 + 40.0 * (5.0 * u + 3.0 * v).sin() + 40.0 * (60.0 * u + 9.0 * v).sin() * (53.0 * v).sin(),
        None => 200.0 - 80.0 * y / height,
    };
    let blue = |x: f32, y: f32| inside(x, y).map_or(128.0, |[u, _]| 128.0 + 60.0 * u);
    let red = |x: f32, y: f32| inside(x, y).map_or(110.0, |[_, v]| 128.0 + 60.0 * v);
    let mut bytes = Vec::with_capacity(FRAME_BYTES);
    plane(&mut bytes, 1, luma);
    plane(&mut bytes, 2, blue);
    plane(&mut bytes, 2, red);
    bytes
}

/// Appends a plane to a frame. Each value of the plane covers `step`×`step` pixels.
fn plane(bytes: &mut Vec<u8>, step: u32, value: impl Fn(f32, f32) -> f32) {
    for y in (0..SIZE.1).step_by(step as usize) {
        for x in (0..SIZE.0).step_by(step as usize) {
            bytes.push(value(x as f32, y as f32).clamp(16.0, 235.0) as u8);
        }
    }
}
