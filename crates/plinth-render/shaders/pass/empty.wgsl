// Empties a region of the numbers of visible triangles (TRIANGLES) or of surfaces. Clearing would take time for the
// whole target.
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
@fragment
fn fs() -> @location(0) u32 {
    return 0u;
}
#endif
