// Downscales a level of a pyramid by two. Processes both textures of the pyramid, or only the first texture (FIRST).
#import types/frame.wgsl
#import lib/full_screen.wgsl
#import lib/halve.wgsl

@group(1) @binding(0) var first_source: texture_2d<f32>;
@group(1) @binding(1) var second_source: texture_2d<f32>;

struct Halves {
    @location(0) first: vec4<f32>,
#ifndef FIRST
    @location(1) second: vec4<f32>,
#endif
}

@vertex
fn vs(@builtin(vertex_index) i: u32) -> CornerOut {
    return corner_out(i);
}

@fragment
fn fs(v: CornerOut) -> Halves {
    var out: Halves;
    out.first = halved(first_source, v.uv);
#ifndef FIRST
    out.second = halved(second_source, v.uv);
#endif
    return out;
}
