// The shadow-catching floor: nothing but the darkness of `floor_shadow.wgsl`, over the backdrop.
#import types/frame.wgsl

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
@group(1) @binding(1) var shadow_texture: texture_2d<f32>;

struct FloorOut {
    @builtin(position) clip: vec4<f32>,
    @location(0) uv: vec2<f32>,
}

@vertex
fn vs(@builtin(vertex_index) i: u32) -> FloorOut {
    let corner = vec2(f32(i & 1u), f32(i >> 1u));
    let local = corner * 2.0 - 1.0;
    let world = floor_look.place.xyz + vec3(local.x * floor_look.extent.x, 0.0, local.y * floor_look.extent.y);
    var out: FloorOut;
    out.clip = frame.picture_clip_from_world * vec4(world, 1.0);
    out.uv = corner;
    return out;
}

@fragment
fn fs(v: FloorOut) -> @location(0) vec4<f32> {
    return vec4(0.0, 0.0, 0.0, textureSampleLevel(shadow_texture, linear_sampler, v.uv, 0.0).r);
}
