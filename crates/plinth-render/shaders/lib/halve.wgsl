// Downscales a picture by two without flicker. The weights of the source pixels along an axis are 1, 3, 4, 4, 3, 1 sixteenths, as in the
// thirteen lookups of Jimenez 2014, "Next Generation Post Processing in Call of Duty: Advanced Warfare". Three bilinear lookups along each
// axis have the same weights: the lookup at 1.75 pixels from the center takes three quarters of one pixel and a quarter of the next.
fn halved(map: texture_2d<f32>, uv: vec2<f32>) -> vec4<f32> {
    let step = 1.75 / vec2<f32>(textureDimensions(map));
    var sum = textureSampleLevel(map, linear_sampler, uv, 0.0) * 0.25;
    for (var i = 0; i < 4; i++) {
        let diagonal = vec2(f32(i & 1) * 2.0 - 1.0, f32(i >> 1u) * 2.0 - 1.0);
        let straight = select(vec2(diagonal.x, 0.0), vec2(0.0, diagonal.x), i >= 2);
        sum += textureSampleLevel(map, linear_sampler, uv + straight * step, 0.0) * 0.125;
        sum += textureSampleLevel(map, linear_sampler, uv + diagonal * step, 0.0) * 0.0625;
    }
    return sum;
}
