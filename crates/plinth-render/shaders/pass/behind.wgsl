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

#ifdef SURFACES
struct Behind {
    @location(0) color: vec4<f32>,
    // Along the camera's axis; 0 where nothing is.
    @location(1) distance: f32,
}

@fragment
fn fs(v: CornerOut) -> Behind {
    let pixel = vec2<i32>(v.clip.xy);
    let depth = textureLoad(depth_map, pixel, 0);
    var out: Behind;
    out.color = sum_of_surfaces(pixel);
    out.distance = select(0.0, frame.camera_axis.w / (frame.target_size.z - depth), depth < 1.0);
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
@fragment
fn fs(v: CornerOut) -> @location(0) vec4<f32> {
    // Thirteen taps of a bilinear filter (Jimenez 2014, "Next Generation Post Processing in Call of Duty").
    let texel = 1.0 / vec2<f32>(textureDimensions(source));
    var sum = textureSampleLevel(source, linear_sampler, v.uv, 0.0) * 0.125;
    for (var i = 0; i < 4; i++) {
        let diagonal = vec2(f32(i & 1) * 2.0 - 1.0, f32(i >> 1u) * 2.0 - 1.0);
        let straight = select(vec2(diagonal.x, 0.0), vec2(0.0, diagonal.x), i >= 2);
        sum += textureSampleLevel(source, linear_sampler, v.uv + diagonal * texel, 0.0) * 0.125;
        sum += textureSampleLevel(source, linear_sampler, v.uv + 2.0 * straight * texel, 0.0) * 0.0625;
        sum += textureSampleLevel(source, linear_sampler, v.uv + 2.0 * diagonal * texel, 0.0) * 0.03125;
    }
    return sum;
}
#endif
