// Reads the samples of multisampled pictures. Needs types/visibility.wgsl.
#ifdef MULTISAMPLED
@group(1) @binding(1) var samples_map: texture_multisampled_2d<f32>;
#else
@group(1) @binding(1) var samples_map: texture_2d<f32>;
#endif

fn sample_at(pixel: vec2<i32>, i: u32) -> vec4<f32> {
#ifdef MULTISAMPLED
    return textureLoad(samples_map, pixel, i);
#else
    return textureLoad(samples_map, pixel, 0);
#endif
}
