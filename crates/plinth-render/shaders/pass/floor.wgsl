// Draws the floor that catches shadows. The floor darkens the backdrop with the texture that `floor_shadow.wgsl`
// computed.
#import types/frame.wgsl
#import types/floor.wgsl

@group(1) @binding(1) var shadow_texture: texture_2d<f32>;

struct FloorOut {
    @builtin(position) clip: vec4<f32>,
    @location(0) uv: vec2<f32>,
}

@vertex
fn vs(@builtin(vertex_index) i: u32) -> FloorOut {
    let corner = vec2(f32(i & 1u), f32(i >> 1u));
    var out: FloorOut;
    out.clip = frame.picture_clip_from_world * vec4(floor_point(corner), 1.0);
    out.uv = corner;
    return out;
}

@fragment
fn fs(v: FloorOut) -> @location(0) vec4<f32> {
    return vec4(0.0, 0.0, 0.0, textureSampleLevel(shadow_texture, linear_sampler, v.uv, 0.0).r);
}
