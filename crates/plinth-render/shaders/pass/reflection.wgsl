// The reflection of the model in the floor. The higher the reflected point is above the floor, the more the reflection
// is faded and blurred.
//
// CATCH: writes the first level of the reflection pyramid, from the picture of a camera below the floor and the height
// of each pixel above the floor. Otherwise: draws the reflection into the frame, with left and right swapped.
#import types/frame.wgsl
#import lib/full_screen.wgsl

struct Reflection {
    // Coefficients for computing height × divisor and the divisor from a position in clip space.
    height_from_clip: vec4<f32>,
    divisor_from_clip: vec4<f32>,
    strength: f32,
    // Height above the floor at which the reflection has faded to 1/e.
    fade_height: f32,
    // Increase of the blur radius per unit of height, in pixels.
    blur: f32,
    // Blur radius of the highest point of the model, in pixels.
    widest_blur: f32,
    floor_height: f32,
    // The column at which the reflection ends and the row at which it begins, relative to the drawn region of the
    // frame.
    end: vec2<f32>,
}

@group(1) @binding(0) var<uniform> reflection: Reflection;
@group(1) @binding(1) var source: texture_2d<f32>;

#ifdef CATCH
#ifdef MULTISAMPLED
@group(1) @binding(2) var depth_map: texture_depth_multisampled_2d;
#else
@group(1) @binding(2) var depth_map: texture_depth_2d;
#endif

override SAMPLES: u32 = 4u;

struct ReflectedPoint {
    @location(0) color: vec4<f32>,
    // Height above the floor, multiplied by the coverage.
    @location(1) height: f32,
}

@vertex
fn vs(@builtin(vertex_index) i: u32) -> CornerOut {
    return corner_out(i);
}

@fragment
fn fs(v: CornerOut) -> ReflectedPoint {
    let pixel = vec2<i32>(v.clip.xy);
    var depth = textureLoad(depth_map, pixel, 0);
#ifdef MULTISAMPLED
    for (var i = 1; i < i32(SAMPLES); i++) {
        depth = min(depth, textureLoad(depth_map, pixel, i));
    }
#endif
    let color = textureLoad(source, pixel, 0);
    let clip = vec4(v.uv * vec2(2.0, -2.0) + vec2(-1.0, 1.0), depth, 1.0);
    let world_y = dot(reflection.height_from_clip, clip) / dot(reflection.divisor_from_clip, clip);
    let height = select(max(world_y - reflection.floor_height, 0.0), 0.0, depth >= 1.0);
    let kept = reflection.strength * exp(-height / reflection.fade_height);
    return ReflectedPoint(color * kept, height * color.a * kept);
}
#else
@group(1) @binding(2) var heights: texture_2d<f32>;

@vertex
fn vs(@builtin(vertex_index) i: u32) -> @builtin(position) vec4<f32> {
    return vec4(full_screen_corner(i), 0.0, 1.0);
}

// Smallest mip level from which the height is read.
const HEIGHT_MIP: f32 = 2.0;
// Coverage below which a pixel of a mip level counts as empty.
const LEAST_WEIGHT: f32 = 1e-3;
// Number of times that the blur radius is estimated.
const ESTIMATES: i32 = 3;

@fragment
fn fs(@builtin(position) at: vec4<f32>) -> @location(0) vec4<f32> {
    let uv = vec2(reflection.end.x - at.x, at.y - reflection.end.y) / vec2<f32>(textureDimensions(source));
    // The blur spreads each point, so the height of the neighbourhood is needed. Its size depends on the height: the
    // first estimate looks at all points that could reach this pixel, the next ones only at nearer points.
    var level = log2(max(reflection.widest_blur, 1.0));
    for (var i = 0; i < ESTIMATES; i++) {
        let looked_up = max(level, HEIGHT_MIP);
        let weight = textureSampleLevel(source, linear_sampler, uv, looked_up).a;
        if weight <= LEAST_WEIGHT {
            // Nothing is near. The lookups below reach a little farther, so they use the same level.
            break;
        }
        let height = textureSampleLevel(heights, linear_sampler, uv, looked_up).r / weight;
        level = log2(max(reflection.blur * height, 1.0));
        if looked_up <= HEIGHT_MIP {
            break;
        }
    }
    // Averaging four lookups hides the texels of the mip levels.
    let texel = exp2(level) * 0.5 / vec2<f32>(textureDimensions(source));
    var sum = vec4(0.0);
    for (var i = 0; i < 4; i++) {
        let corner = vec2(f32(i & 1) * 2.0 - 1.0, f32(i >> 1u) * 2.0 - 1.0);
        sum += textureSampleLevel(source, linear_sampler, uv + corner * texel * select(0.0, 1.0, level > 0.0), level);
    }
    return sum * 0.25;
}
#endif
