// What refracted rays see: the picture so far with its coverage and its distance, and ever blurrier halves of it.
//
// SURFACES: what is opaque, from its shaded surfaces. SAMPLES_DRAWN: with the glass that is drawn already. Otherwise:
// half of the level above.
#import types/frame.wgsl
#import lib/full_screen.wgsl
#ifdef SURFACES
#import types/visibility.wgsl
#import lib/surfaces.wgsl
#ifdef MULTISAMPLED
@group(1) @binding(5) var depth_map: texture_depth_multisampled_2d;
#else
@group(1) @binding(5) var depth_map: texture_depth_2d;
#endif
#endif
#ifdef SAMPLES_DRAWN
#import types/visibility.wgsl
#ifdef MULTISAMPLED
@group(1) @binding(0) var samples_map: texture_multisampled_2d<f32>;
#else
@group(1) @binding(0) var samples_map: texture_2d<f32>;
#endif
#endif
#ifdef HALVE
@group(1) @binding(0) var source: texture_2d<f32>;
@group(1) @binding(1) var distance_source: texture_2d<f32>;
#endif

struct CornerOut {
    @builtin(position) clip: vec4<f32>,
    @location(0) uv: vec2<f32>,
}

@vertex
fn vs(@builtin(vertex_index) i: u32) -> CornerOut {
    let corner = full_screen_corner(i);
    return CornerOut(vec4(corner, 0.0, 1.0), corner * vec2(0.5, -0.5) + 0.5);
}

// Sparks would spread over the whole blur.
fn seen(radiance: vec4<f32>) -> vec4<f32> {
    return min(radiance, vec4(64.0));
}

struct Behind {
    @location(0) color: vec4<f32>,
    // Along the camera's axis, times the coverage.
    @location(1) distance: f32,
}

#ifdef SURFACES
@fragment
fn fs(v: CornerOut) -> Behind {
    let pixel = vec2<i32>(v.clip.xy);
    var nearest = textureLoad(depth_map, pixel, 0);
#ifdef MULTISAMPLED
    for (var i = 1; i < 4; i++) {
        nearest = min(nearest, textureLoad(depth_map, pixel, i));
    }
#endif
    var out: Behind;
    out.color = sum_of_surfaces(pixel);
    out.distance = out.color.a * frame.camera_axis.w / (frame.target_size.z - min(nearest, 0.9999));
    return out;
}
#endif

#ifdef SAMPLES_DRAWN
@fragment
fn fs(v: CornerOut) -> @location(0) vec4<f32> {
    let pixel = vec2<i32>(v.clip.xy);
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
#endif

#ifdef HALVE
// Thirteen taps of a bilinear filter (Jimenez 2014, "Next Generation Post Processing in Call of Duty").
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

@fragment
fn fs(v: CornerOut) -> Behind {
    return Behind(halved(source, v.uv), halved(distance_source, v.uv).r);
}
#endif
