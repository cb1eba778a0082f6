// Half of a level of a pyramid, both textures at once.
#import types/frame.wgsl
#import lib/full_screen.wgsl
#import lib/halve.wgsl

@group(1) @binding(0) var first_source: texture_2d<f32>;
@group(1) @binding(1) var second_source: texture_2d<f32>;

struct Halves {
    @location(0) first: vec4<f32>,
    @location(1) second: f32,
}

@vertex
fn vs(@builtin(vertex_index) i: u32) -> CornerOut {
    return corner_out(i);
}

@fragment
fn fs(v: CornerOut) -> Halves {
    return Halves(halved(first_source, v.uv), halved(second_source, v.uv).r);
}
