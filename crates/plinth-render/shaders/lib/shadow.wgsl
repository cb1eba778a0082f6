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

#ifdef PACKED_SHADOWS
// Whether the shadow maps have packed copies (`pass/packed_shadow.wgsl`), which are read instead of the maps.
override KEY_PACKED: bool = false;
override SUN_PACKED: bool = false;

// Compares four neighbouring depths of a packed shadow map. `uv` is the centre of the packed texel. `x` and `y` are the
// weights of its columns and rows.
fn packed_comparison(map: texture_2d<f32>, uv: vec2<f32>, depth: f32, x: vec2<f32>, y: vec2<f32>) -> f32 {
    let lit = select(vec4(0.0), x.xyyx, vec4(depth) <= textureSampleLevel(map, nearest_sampler, uv, 0.0));
    return y.x * (lit.w + lit.z) + y.y * (lit.x + lit.y);
}

// Returns the same as `textureSampleCompareLevel` with a linear filter. `side` is the inverse of `texel`.
fn packed_bilinear(map: texture_2d<f32>, uv: vec2<f32>, depth: f32, texel: f32, side: f32) -> f32 {
    let at = uv * side - 0.5;
    let first = floor(at);
    let share = at - first;
    let x = vec2(1.0 - share.x, share.x);
    let y = vec2(1.0 - share.y, share.y);
    return packed_comparison(map, (first + 0.5) * texel, depth, x, y);
}

// Returns the same as `shadow_pcf`.
fn packed_pcf(map: texture_2d<f32>, uv: vec2<f32>, depth: f32, texel: f32) -> f32 {
    let at = uv * (1.0 / texel) + 0.5;
    let base = floor(at);
    let offset = at - base;
    let uv0 = (base - 1.5) * texel;
    let uv1 = (base + 0.5) * texel;
    let x0 = vec2(1.0 - offset.x, 2.0 - offset.x);
    let x1 = vec2(1.0 + offset.x, offset.x);
    let y0 = vec2(1.0 - offset.y, 2.0 - offset.y);
    let y1 = vec2(1.0 + offset.y, offset.y);
    let sum = packed_comparison(map, uv0, depth, x0, y0)
        + packed_comparison(map, vec2(uv1.x, uv0.y), depth, x1, y0)
        + packed_comparison(map, vec2(uv0.x, uv1.y), depth, x0, y1)
        + packed_comparison(map, uv1, depth, x1, y1);
    return sum * (1.0 / 16.0);
}
#endif

struct PlaceOnMap {
    uv: vec2<f32>,
    depth: f32,
    is_outside: bool,
}

// Returns where a world-space point is on a shadow map. The light arrives at all points outside the map.
fn place_on_map(clip_from_world: mat4x4<f32>, point: vec3<f32>) -> PlaceOnMap {
    let clip = clip_from_world * vec4(point, 1.0);
    let ndc = clip.xyz * (1.0 / max(clip.w, 1e-5));
    let uv = ndc.xy * vec2(0.5, -0.5) + 0.5;
    let is_outside = clip.w <= 0.0 || any(uv <= vec2(0.0)) || any(uv >= vec2(1.0)) || ndc.z >= 1.0;
    return PlaceOnMap(uv, ndc.z, is_outside);
}
