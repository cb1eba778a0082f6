// Ordered dither of half an 8-bit step against banding (Jimenez 2014, "Next Generation Post Processing in Call of Duty:
// Advanced Warfare", interleaved gradient noise).
fn dither(at: vec2<f32>) -> f32 {
    return (interleaved_noise(at) - 0.5) / 255.0;
}

// Uniform noise in 0..1 whose neighbouring values differ.
fn interleaved_noise(at: vec2<f32>) -> f32 {
    return fract(52.9829189 * fract(dot(at, vec2(0.06711056, 0.00583715))));
}
