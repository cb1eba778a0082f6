// The visibility buffer (Burns and Hunt 2013, "The Visibility Buffer"): which triangle each sample shows.
//
// Triangle numbers are unique over all batches; 0 is none. A pixel has up to two surfaces, each stored as the number of
// a triangle that represents it (28 bits) and the samples that it covers (4 bits).

override SAMPLES: u32 = 4u;

const TRIANGLE_BITS: u32 = 28u;

fn pack_surface(triangle: u32, samples: u32) -> u32 {
    return triangle | (samples << TRIANGLE_BITS);
}

fn surface_triangle(surface: u32) -> u32 {
    return surface & ((1u << TRIANGLE_BITS) - 1u);
}

fn surface_samples(surface: u32) -> u32 {
    return surface >> TRIANGLE_BITS;
}

// Fraction of the pixel that a surface covers.
fn surface_coverage(surface: u32) -> f32 {
    return f32(countOneBits(surface_samples(surface))) / f32(SAMPLES);
}

// Added to the alpha of a surface's share of the picture if its colour is shown without the tone curve.
const SHOWN_AS_IT_IS: f32 = 2.0;

// Depth value by which the shading of a batch finds its pixels; exact in 16 bits.
fn batch_depth(batch: u32) -> f32 {
    return f32(batch + 1u) / 65535.0;
}
