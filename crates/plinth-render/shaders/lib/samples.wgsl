// What was drawn sample by sample, as one colour. Needs types/visibility.wgsl and a function `seen`, which each sample
// passes before it is counted.
#ifdef MULTISAMPLED
@group(1) @binding(1) var samples_map: texture_multisampled_2d<f32>;
#else
@group(1) @binding(1) var samples_map: texture_2d<f32>;
#endif

// Mean of the samples.
fn mean_of_samples(pixel: vec2<i32>) -> vec4<f32> {
#ifdef MULTISAMPLED
    var sum = vec4(0.0);
    for (var i = 0u; i < SAMPLES; i++) {
        sum += seen(textureLoad(samples_map, pixel, i));
    }
    return sum / f32(SAMPLES);
#else
    return seen(textureLoad(samples_map, pixel, 0));
#endif
}
