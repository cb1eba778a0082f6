// Percentage-closer filtering. Softness is the size of the map's texels, so the cost does not grow with it.

// A 5×5 Gaussian-like kernel in nine bilinear comparisons (Castaño 2013, "Shadow Mapping Summary", part 1).
fn shadow_pcf(map: texture_depth_2d, uv_in: vec2<f32>, depth: f32, texel: f32) -> f32 {
    let size = 1.0 / texel;
    let base = floor(uv_in * size + 0.5);
    let st = uv_in * size + 0.5 - base;
    let uv = (base - 0.5) * texel;
    let uw = vec3(4.0 - 3.0 * st.x, 7.0, 1.0 + 3.0 * st.x);
    let vw = vec3(4.0 - 3.0 * st.y, 7.0, 1.0 + 3.0 * st.y);
    let u = vec3((3.0 - 2.0 * st.x) / uw.x - 2.0, (3.0 + st.x) / uw.y, st.x / uw.z + 2.0) * texel;
    let v = vec3((3.0 - 2.0 * st.y) / vw.x - 2.0, (3.0 + st.y) / vw.y, st.y / vw.z + 2.0) * texel;
    var sum = 0.0;
    for (var j = 0; j < 3; j++) {
        for (var i = 0; i < 3; i++) {
            sum += uw[i] * vw[j] * textureSampleCompareLevel(map, shadow_sampler, uv + vec2(u[i], v[j]), depth);
        }
    }
    return sum / 144.0;
}

// Share of the light that arrives at a world point; 1 outside of the map.
fn shadow_visibility(map: texture_depth_2d, clip_from_world: mat4x4<f32>, point: vec3<f32>, texel: f32) -> f32 {
    let clip = clip_from_world * vec4(point, 1.0);
    let ndc = clip.xyz / max(clip.w, 1e-5);
    let uv = ndc.xy * vec2(0.5, -0.5) + 0.5;
    if clip.w <= 0.0 || any(uv <= vec2(0.0)) || any(uv >= vec2(1.0)) || ndc.z >= 1.0 {
        return 1.0;
    }
    return shadow_pcf(map, uv, ndc.z, texel);
}
