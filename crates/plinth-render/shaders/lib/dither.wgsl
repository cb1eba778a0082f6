// Ordered dither against banding, with an amplitude of half an 8-bit step (interleaved gradient noise: Jimenez 2014,
// "Next Generation Post Processing in Call of Duty: Advanced Warfare").
fn dither(at: vec2<f32>) -> f32 {
    return (interleaved_noise(at) - 0.5) / 255.0;
}

// Returns noise in 0..1 with a uniform distribution. Neighbouring pixels get different values.
fn interleaved_noise(at: vec2<f32>) -> f32 {
    return fract(52.9829189 * fract(dot(at, vec2(0.06711056, 0.00583715))));
}
