// Writes the number of the visible triangle in each sample. Masked materials are alpha-tested. With OPAQUE_TEXELS, only
// the opaque texels of an alpha-blended material are drawn.
#import types/frame.wgsl
#import types/posed.wgsl

@vertex
fn vs(@builtin(instance_index) first_triangle: u32, @builtin(vertex_index) vertex: u32, in: PosedIn) -> PosedOut {
    var out = posed(in, frame.clip_from_world);
    out.triangle = first_triangle + vertex;
    return out;
}

struct VisibilityOut {
    // The number of the triangle: its low half and its high half.
    @location(0) triangle: vec2<u32>,
#ifdef ALPHA_TEST
#ifndef OPAQUE_TEXELS
    @builtin(sample_mask) coverage: u32,
#endif
#endif
}

#ifdef ALPHA_TEST
#ifndef OPAQUE_TEXELS
override SAMPLES: u32 = 4u;

// Returns the samples that a masked texel covers, as a bit mask. Where alpha is constant, either all or no samples are
// covered. Elsewhere, the coverage changes from 0 to 1 around the cutoff within about one pixel.
fn mask_coverage(alpha: f32, cutoff: f32) -> u32 {
    let change = fwidth(alpha);
    var sharp = clamp((alpha - cutoff) / max(change, 1e-4) + 0.5, 0.0, 1.0);
    if change < 1e-4 {
        sharp = f32(alpha >= cutoff);
    }
    let samples = u32(sharp * f32(SAMPLES) + 0.5);
    return (1u << samples) - 1u;
}
#endif
#endif

@fragment
fn fs(v: PosedOut) -> VisibilityOut {
    var out: VisibilityOut;
    out.triangle = vec2(v.triangle & 0xffffu, v.triangle >> 16u);
#ifdef ALPHA_TEST
#ifdef OPAQUE_TEXELS
    if tested_alpha(v) < alpha_cutoff() {
        discard;
    }
#else
    out.coverage = mask_coverage(tested_alpha(v), alpha_cutoff());
    if out.coverage == 0u {
        discard;
    }
#endif
#endif
    return out;
}
