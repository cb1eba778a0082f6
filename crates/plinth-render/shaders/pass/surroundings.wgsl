// Draws the visible environment. The environment is infinitely far away, or is projected onto a dome over a ground
// disc.
#import lib/color.wgsl
#import lib/dither.wgsl
#import lib/full_screen.wgsl

struct Surroundings {
    // Direction from the camera to the first corner of the first pixel. `right` and `down` are the changes of this
    // direction from one pixel to the next.
    corner: vec3<f32>,
    // Opacity over the backdrop.
    opacity: f32,
    right: vec3<f32>,
    // 1 if there is a dome, otherwise 0. `ground_height` is the height of the ground disc, and `dome_radius` is the
    // radius of the dome.
    has_dome: f32,
    down: vec3<f32>,
    ground_height: f32,
    camera_position: vec3<f32>,
    dome_radius: f32,
    // Factor for the radiance of the panorama.
    gain: vec3<f32>,
    // Amplitude of the dither noise, which is added to display values.
    noise: f32,
    // Centre of the projection. As seen from this point, the panorama is not distorted.
    eye: vec3<f32>,
    // Cosine and sine of the rotation of the panorama about +Y.
    turn: vec2<f32>,
}

@group(1) @binding(0) var<uniform> seen: Surroundings;
@group(1) @binding(1) var panorama: texture_2d<f32>;
@group(1) @binding(2) var panorama_sampler: sampler;

const TWO_PI: f32 = 6.28318530717959;

@vertex
fn vs(@builtin(vertex_index) i: u32) -> @builtin(position) vec4<f32> {
    return vec4(full_screen_corner(i), 0.0, 1.0);
}

// Intersects a camera ray with the ground disc or the dome. Returns the direction from `eye` to the intersection.
fn from_eye(ray: vec3<f32>) -> vec3<f32> {
    let origin = seen.camera_position - seen.eye;
    let radius = seen.dome_radius;
    let b = dot(origin, ray);
    let c = dot(origin, origin) - radius * radius;
    let inside = b * b - c;
    // If the camera is outside a small dome and the ray misses it, the environment is treated as infinitely far away.
    let to_dome = select(1e6, sqrt(max(inside, 0.0)) - b, inside > 0.0 && sqrt(max(inside, 0.0)) > b);
    let above = seen.camera_position.y - seen.ground_height;
    let to_ground = select(1e6, above / max(-ray.y, 1e-6), ray.y < 0.0 && above > 0.0);
    let meeting = origin + ray * min(to_dome, to_ground);
    return normalize(meeting);
}

// Samples the panorama with a cubic B-spline, computed from four bilinear lookups (Sigg and Hadwiger 2005, "Fast
// Third-Order Texture Filtering"). The result is smooth even if a texel covers many pixels.
fn smooth_lookup(uv: vec2<f32>) -> vec3<f32> {
    let size = vec2<f32>(textureDimensions(panorama));
    let place = uv * size - 0.5;
    let f = fract(place);
    let f2 = f * f;
    let f3 = f2 * f;
    let w0 = (1.0 - 3.0 * f + 3.0 * f2 - f3) / 6.0;
    let w1 = (4.0 - 6.0 * f2 + 3.0 * f3) / 6.0;
    let w2 = (1.0 + 3.0 * f + 3.0 * f2 - 3.0 * f3) / 6.0;
    let w3 = f3 / 6.0;
    let low = w0 + w1;
    let high = w2 + w3;
    let first = (floor(place) - 0.5 + w1 / low) / size;
    let second = (floor(place) + 1.5 + w3 / high) / size;
    let a = textureSampleLevel(panorama, panorama_sampler, first, 0.0).rgb * low.x;
    let b = textureSampleLevel(panorama, panorama_sampler, vec2(second.x, first.y), 0.0).rgb * high.x;
    let c = textureSampleLevel(panorama, panorama_sampler, vec2(first.x, second.y), 0.0).rgb * low.x;
    let d = textureSampleLevel(panorama, panorama_sampler, second, 0.0).rgb * high.x;
    return (a + b) * low.y + (c + d) * high.y;
}

@fragment
fn fs(@builtin(position) at: vec4<f32>) -> @location(0) vec4<f32> {
    let ray = normalize(seen.corner + seen.right * at.x + seen.down * at.y);
    // There is no branch here, because it would depend on a uniform (see `PUNCTUAL` in `lib/direct_light.wgsl`).
    let d = select(ray, from_eye(ray), seen.has_dome > 0.0);
    // Applies the inverse of the panorama's rotation.
    let turned = vec3(d.x * seen.turn.x - d.z * seen.turn.y, d.y, d.x * seen.turn.y + d.z * seen.turn.x);
    let uv = vec2(atan2(turned.z, turned.x) / TWO_PI + 0.5, acos(clamp(turned.y, -1.0, 1.0)) * 2.0 / TWO_PI);
    let radiance = max(smooth_lookup(uv), vec3(0.0)) * seen.gain;
    let dither = (interleaved_noise(at.xy) - 0.5) * seen.noise;
    let color = srgb_from_linear(tone_map_pbr_neutral(radiance)) + dither;
    return vec4(clamp(color, vec3(0.0), vec3(1.0)), 1.0) * seen.opacity;
}
