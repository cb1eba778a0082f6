// Packs a shadow map: each texel of the packed map contains the depths of four neighbouring texels of the shadow map.
#import lib/full_screen.wgsl

@group(1) @binding(0) var map: texture_depth_2d;
@group(1) @binding(1) var point_sampler: sampler;

@vertex
fn vs(@builtin(vertex_index) i: u32) -> CornerOut {
    return corner_out(i);
}

@fragment
fn fs(v: CornerOut) -> @location(0) vec4<f32> {
    // The gathered texels meet at the lower right corner of the texel whose centre is `v.uv`.
    return textureGather(map, point_sampler, v.uv + 0.5 / vec2<f32>(textureDimensions(map)));
}
