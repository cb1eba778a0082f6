// Downscales a picture by two without flicker, with thirteen bilinear lookups (Jimenez 2014, "Next Generation Post
// Processing in Call of Duty: Advanced Warfare").
fn halved(map: texture_2d<f32>, uv: vec2<f32>) -> vec4<f32> {
    let texel = 1.0 / vec2<f32>(textureDimensions(map));
    var sum = textureSampleLevel(map, linear_sampler, uv, 0.0) * 0.125;
    for (var i = 0; i < 4; i++) {
        let diagonal = vec2(f32(i & 1) * 2.0 - 1.0, f32(i >> 1u) * 2.0 - 1.0);
        let straight = select(vec2(diagonal.x, 0.0), vec2(0.0, diagonal.x), i >= 2);
        sum += textureSampleLevel(map, linear_sampler, uv + diagonal * texel, 0.0) * 0.125;
        sum += textureSampleLevel(map, linear_sampler, uv + 2.0 * straight * texel, 0.0) * 0.0625;
        sum += textureSampleLevel(map, linear_sampler, uv + 2.0 * diagonal * texel, 0.0) * 0.03125;
    }
    return sum;
}
