// The shadow on the floor, gathered once into a texture: the key light's with a penumbra that widens away from the
// contact (Fernando 2005, "Percentage-Closer Soft Shadows"), and the dimming of the environment from the bake.
#import types/frame.wgsl
#import lib/full_screen.wgsl
#import lib/shadow.wgsl

struct Floor {
    // xyz: centre of the shadowed rectangle.
    place: vec4<f32>,
    // x, y: half of its extent along world x and z; z: width of the fading edge in world units.
    extent: vec4<f32>,
    // x: size of the light as a share of its distance, y: darkness of the key's shadow, z: of the ambient one,
    // w: 1 when the key casts a shadow.
    look: vec4<f32>,
}

@group(1) @binding(0) var<uniform> floor_look: Floor;
@group(1) @binding(1) var ambient_map: texture_2d<f32>;
@group(1) @binding(2) var depth_map: texture_depth_2d;
@group(1) @binding(3) var point_sampler: sampler;

struct CornerOut {
    @builtin(position) clip: vec4<f32>,
    @location(0) uv: vec2<f32>,
}

@vertex
fn vs(@builtin(vertex_index) i: u32) -> CornerOut {
    let corner = full_screen_corner(i);
    return CornerOut(vec4(corner, 0.0, 1.0), corner * vec2(0.5, -0.5) + 0.5);
}

const TAPS: u32 = 40u;

// Vogel's disk: evenly spread points, the same for every texel.
fn disk(i: u32) -> vec2<f32> {
    let r = sqrt((f32(i) + 0.5) / f32(TAPS));
    let a = f32(i) * 2.3999632;
    return r * vec2(cos(a), sin(a));
}

fn key_visibility(point: vec3<f32>) -> f32 {
    let clip = frame.key_clip_from_world * vec4(point, 1.0);
    let ndc = clip.xyz / max(clip.w, 1e-5);
    let uv = ndc.xy * vec2(0.5, -0.5) + 0.5;
    if clip.w <= 0.0 || any(uv <= vec2(0.0)) || any(uv >= vec2(1.0)) {
        return 1.0;
    }
    // Blockers within the cone toward the light.
    let widest = floor_look.look.x * 0.5;
    var blocked = 0.0;
    var nearest_sum = 0.0;
    for (var i = 0u; i < TAPS; i++) {
        let z = textureSampleLevel(depth_map, point_sampler, uv + disk(i) * widest, 0);
        if z < ndc.z - 1e-4 {
            blocked += 1.0;
            nearest_sum += z;
        }
    }
    if blocked == 0.0 {
        return 1.0;
    }
    // With a far plane far away, (1 − z) is inversely proportional to the distance from the light.
    let ratio = clamp((1.0 - nearest_sum / blocked) / max(1.0 - ndc.z, 1e-4) - 1.0, 0.0, 1.0);
    let width = max(widest * ratio, frame.shadow.x * 1.5);
    var lit = 0.0;
    for (var i = 0u; i < TAPS; i++) {
        lit += textureSampleCompareLevel(key_shadow_map, shadow_sampler, uv + disk(i) * width, ndc.z - 1e-4);
    }
    return lit / f32(TAPS);
}

@fragment
fn fs(v: CornerOut) -> @location(0) vec4<f32> {
    let local = v.uv * 2.0 - 1.0;
    let point = floor_look.place.xyz + vec3(local.x * floor_look.extent.x, 0.0, local.y * floor_look.extent.y);
    var light = 1.0;
    if floor_look.look.w > 0.0 {
        light -= floor_look.look.y * (1.0 - key_visibility(point));
    }
    let ambient = textureSampleLevel(ambient_map, linear_sampler, v.uv, 0.0).r;
    light *= 1.0 - floor_look.look.z * (1.0 - clamp(ambient, 0.0, 1.0));
    // The floor has no edge: its shadow fades out before.
    let room = (1.0 - abs(local)) * floor_look.extent.xy / floor_look.extent.z;
    let fade = smoothstep(0.0, 1.0, room.x) * smoothstep(0.0, 1.0, room.y);
    return vec4(clamp(1.0 - light, 0.0, 0.95) * fade);
}
