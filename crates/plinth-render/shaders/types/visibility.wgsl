// The visibility buffer stores which triangle each sample shows (Burns and Hunt 2013, "The Visibility Buffer").
//
// Triangle numbers are unique over all batches; 0 means that there is no triangle. A pixel has at most two surfaces.
// Each surface is stored as the number of a triangle that represents it (28 bits) and the samples that it covers (4
// bits).

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

// Returns the fraction of a pixel that samples cover. `samples` is a bit mask.
fn coverage_of(samples: u32) -> f32 {
    return f32(countOneBits(samples)) / f32(SAMPLES);
}

// Returns the fraction of a pixel that a surface covers.
fn surface_coverage(surface: u32) -> f32 {
    return coverage_of(surface_samples(surface));
}

// Returns the samples that the second surface of a pixel covers. If the first surface covers none or all of the pixel,
// there is no second surface, and `second` may be left over from an earlier frame.
fn second_samples(first: u32, second: u32) -> u32 {
    let covered = surface_samples(first);
    return select(0u, surface_samples(second) & ~covered, covered != 0u);
}

// Value that is added to the alpha of a surface's colour if the tone curve is not applied to the colour.
const NO_TONE_CURVE_ALPHA: f32 = 2.0;

// Returns the depth value that represents a batch. While a batch is shaded, the depth test selects the pixels that have
// this value. The value is exact in 16 bits.
fn batch_depth(batch: u32) -> f32 {
    return f32(batch + 1u) / 65535.0;
}
