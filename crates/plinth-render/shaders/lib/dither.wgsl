// Ordered noise of half a step of 8 bits against bands (Jimenez 2014, "Next Generation Post Processing in Call of Duty:
// Advanced Warfare", interleaved gradient noise).
fn dither(at: vec2<f32>) -> f32 {
    return (interleaved_noise(at) - 0.5) / 255.0;
}

// Even noise in 0..1 whose neighbours differ.
fn interleaved_noise(at: vec2<f32>) -> f32 {
    return fract(52.9829189 * fract(dot(at, vec2(0.06711056, 0.00583715))));
}
