// Empties a region of the numbers of visible triangles (TRIANGLES), of colours (COLORS) or of surfaces. Clearing would take
// time for the whole target. The depth 0 is the number of no batch.
#import lib/full_screen.wgsl

@vertex
fn vs(@builtin(vertex_index) i: u32) -> @builtin(position) vec4<f32> {
    return vec4(full_screen_corner(i), 0.0, 1.0);
}

#ifdef TRIANGLES
@fragment
fn fs() -> @location(0) vec2<u32> {
    return vec2(0u);
}
#else
#ifdef COLORS
@fragment
fn fs() -> @location(0) vec4<f32> {
    return vec4(0.0);
}
#else
@fragment
fn fs() -> @location(0) u32 {
    return 0u;
}
#endif
#endif
