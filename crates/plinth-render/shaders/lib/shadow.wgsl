// Percentage-closer filtering of shadow maps. The size of the map's texels determines the softness, so a softer shadow
// takes no more time.

// Filters with a tent of 3×3 texels in four bilinear comparisons (Castaño 2013, "Shadow Mapping Summary", part 1).
fn shadow_pcf(map: texture_depth_2d, uv_in: vec2<f32>, depth: f32, texel: f32) -> f32 {
    // One division takes less time on software drivers than one for each component.
    let at = uv_in * (1.0 / texel) + 0.5;
    let base = floor(at);
    let offset = at - base;
    let uv = (base - 0.5) * texel;
    let w0 = 3.0 - 2.0 * offset;
    let w1 = 1.0 + 2.0 * offset;
    let uv0 = uv + ((2.0 - offset) / w0 - 1.0) * texel;
    let uv1 = uv + (offset / w1 + 1.0) * texel;
    let sum = w0.x * w0.y * textureSampleCompareLevel(map, shadow_sampler, uv0, depth)
        + w1.x * w0.y * textureSampleCompareLevel(map, shadow_sampler, vec2(uv1.x, uv0.y), depth)
        + w0.x * w1.y * textureSampleCompareLevel(map, shadow_sampler, vec2(uv0.x, uv1.y), depth)
        + w1.x * w1.y * textureSampleCompareLevel(map, shadow_sampler, uv1, depth);
    return sum / 16.0;
}

// Returns the fraction of the light that arrives at a world-space point. Outside the map, the fraction is 1.
fn shadow_visibility(map: texture_depth_2d, clip_from_world: mat4x4<f32>, point: vec3<f32>, texel: f32) -> f32 {
    let clip = clip_from_world * vec4(point, 1.0);
    let ndc = clip.xyz * (1.0 / max(clip.w, 1e-5));
    let uv = ndc.xy * vec2(0.5, -0.5) + 0.5;
    if clip.w <= 0.0 || any(uv <= vec2(0.0)) || any(uv >= vec2(1.0)) || ndc.z >= 1.0 {
        return 1.0;
    }
    return shadow_pcf(map, uv, ndc.z, texel);
}
