//! Groups the samples of a pixel to one or two surfaces, in the same way as `pass/classify.wgsl` of plinth-render.
//!
//! Each surface is represented by one of its triangles. Sets of samples are bit masks.

use glam::Vec3;

use crate::coverage::SAMPLES;
use crate::facets::{Facets, greater};

/// Number of bits of a triangle's number. The samples of a surface are in the bits above.
const TRIANGLE_BITS: u32 = 28;
/// All samples of a pixel.
const ALL: u32 = (1 << SAMPLES) - 1;
/// Two triangles of a batch belong to different surfaces if the cosine between their normals is below this.
const SAME_NORMAL: f32 = 0.85;
/// Two triangles also belong to different surfaces if their depths differ by more than the depth of a plane changes over
/// this number of pixels.
const SAME_DEPTH_PIXELS: f32 = 3.0;

type Four<T> = [T; SAMPLES];

/// What a pixel shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pixel {
    /// First and second surface: number of a triangle and samples, or 0.
    pub(crate) surfaces: [u32; 2],
    /// Numbers of the surfaces' batches plus 1, or 0.
    pub(crate) batches: [u16; 2],
}

/// Data for grouping the samples of pixels.
pub(crate) struct Grouping<'a> {
    /// One word per triangle: batch (16 bits) and normal as octahedral coordinates (twice 8 bits).
    pub(crate) words: &'a [u32],
    /// See [`RasterView`](crate::RasterView).
    pub(crate) distance_numerator: f32,
    pub(crate) depth_range: f32,
    pub(crate) pixel_size: f32,
    pub(crate) camera_axis: Vec3,
}

/// Returns whether all samples of a pixel show the same triangle, or no triangle.
#[inline(always)]
pub(crate) fn is_uniform([a, b, c, d]: &Four<u32>) -> bool {
    (a ^ b) | (a ^ c) | (a ^ d) == 0
}

impl Grouping<'_> {
    /// Returns the pixel of which all samples show the same triangle, or none if the number is 0.
    #[inline(always)]
    pub(crate) fn uniform(&self, triangle: u32) -> Pixel {
        if triangle == 0 { Pixel::default() } else { self.pixel([packed(triangle, ALL), 0]) }
    }

    /// Returns the surfaces of a pixel with several triangles. `depths` are the bits of the samples' depths.
    #[inline(always)]
    pub(crate) fn grouped(&self, facets: &mut Facets<'_>, triangles: &Four<u32>, depths: &Four<i32>) -> Pixel {
        let one = showing(triangles, triangles[0]);
        let other = triangles[(ALL & !one).trailing_zeros() as usize % SAMPLES];
        let two = showing(triangles, other);
        let surfaces = if one | two != ALL {
            self.several(facets, triangles, depths)
        } else if other == 0 {
            [packed(triangles[0], one), 0]
        } else if triangles[0] == 0 {
            [packed(other, two), 0]
        } else if one.count_ones() < two.count_ones() {
            self.pair(facets, [(other, two), (triangles[0], one)], depths)
        } else {
            self.pair(facets, [(triangles[0], one), (other, two)], depths)
        };
        self.pixel(surfaces)
    }

    /// Returns the surfaces of a pixel that shows two triangles, which is the usual case of [`several`](Self::several).
    /// Each triangle is given with its samples.
    #[inline(always)]
    fn pair(
        &self,
        facets: &mut Facets<'_>,
        [(first, samples), (second, others)]: [(u32, u32); 2],
        depths: &Four<i32>,
    ) -> [u32; 2] {
        let (a, b) = (facets.of(first), facets.of(second));
        let cosine = a.normal[0] * b.normal[0] + a.normal[1] * b.normal[1] + a.normal[2] * b.normal[2];
        if a.batch != b.batch || cosine <= SAME_NORMAL {
            return [packed(first, samples), packed(second, others)];
        }
        let distances = self.distances(depths);
        let [reach, other_reach] = [a, b].map(|facet| self.reach(&distances, &[facet.cosine; SAMPLES]));
        // The samples of the second triangle that are near a sample of the first one.
        let mut near = 0;
        for i in 0..SAMPLES {
            let is_near = |j: usize| (distances[i] - distances[j]).abs() < greater(reach[i], other_reach[j]);
            near |= if samples >> i & 1 == 1 { mask(is_near) } else { 0 };
        }
        let rest = others & !near;
        [packed(first, ALL & !rest), if rest == 0 { 0 } else { packed(second, rest) }]
    }

    /// Returns the surfaces of a pixel with any triangles. It is rare, so it is not inlined.
    fn several(&self, facets: &mut Facets<'_>, triangles: &Four<u32>, depths: &Four<i32>) -> [u32; 2] {
        let covered = ALL & !showing(triangles, 0);
        let most_seen = most_seen(triangles);
        let showing = showing(triangles, most_seen);
        let same = self.samples(facets, triangles, depths).same_surfaces();
        // The first surface contains the triangle that most samples show. The second surface is the surface with most of
        // the remaining samples. All other samples are added to the second surface.
        let first = (0..SAMPLES).fold(0, |first, i| first | same[i] & only_if(showing, i)) & covered;
        let rest = covered & !first;
        if rest == 0 {
            return [packed(most_seen, first), 0];
        }
        [packed(most_seen, first), packed(largest(&same, rest, triangles), rest)]
    }

    #[inline(always)]
    fn pixel(&self, surfaces: [u32; 2]) -> Pixel {
        Pixel { surfaces, batches: [self.batch(surfaces[0]), self.batch(surfaces[1])] }
    }

    /// Returns the number of a surface's batch plus 1, or 0 if there is no surface.
    #[inline(always)]
    fn batch(&self, surface: u32) -> u16 {
        let triangle = surface & ((1 << TRIANGLE_BITS) - 1);
        if triangle == 0 { 0 } else { (self.words[triangle as usize - 1] as u16).wrapping_add(1) }
    }

    #[inline(always)]
    fn samples(&self, facets: &mut Facets<'_>, triangles: &Four<u32>, depths: &Four<i32>) -> Samples {
        let facets = triangles.map(|triangle| facets.of(triangle.max(1)));
        let distances = self.distances(depths);
        Samples {
            triangles: *triangles,
            batches: four(|i| facets[i].batch),
            normals: [0, 1, 2].map(|axis| four(|i| facets[i].normal[axis])),
            distances,
            reach: self.reach(&distances, &four(|i| facets[i].cosine)),
        }
    }

    /// Returns the samples' distances along the camera's axis.
    #[inline(always)]
    fn distances(&self, depths: &Four<i32>) -> Four<f32> {
        four(|i| self.distance_numerator / (self.depth_range - f32::from_bits(depths[i].cast_unsigned())))
    }

    /// Returns the largest differences to other distances within a surface.
    #[inline(always)]
    fn reach(&self, distances: &Four<f32>, cosines: &Four<f32>) -> Four<f32> {
        four(|i| distances[i] * self.pixel_size * SAME_DEPTH_PIXELS / cosines[i])
    }
}

/// The samples of a pixel with the values that decide whether they show the same surface.
struct Samples {
    triangles: Four<u32>,
    batches: Four<u32>,
    /// x, y and z of the normals.
    normals: [Four<f32>; 3],
    /// Distance along the camera's axis.
    distances: Four<f32>,
    /// Largest difference of distances within a surface.
    reach: Four<f32>,
}

impl Samples {
    /// Returns for each sample those that show the same surface: the same triangle, or a triangle of the same batch with
    /// a similar normal and depth.
    #[inline(always)]
    fn same_surfaces(&self) -> Four<u32> {
        four(|i| mask(|j| self.are_same(i, j)))
    }

    /// Returns whether two samples show the same surface.
    #[inline(always)]
    fn are_same(&self, i: usize, j: usize) -> bool {
        let [x, y, z] = &self.normals;
        let cosine = x[i] * x[j] + y[i] * y[j] + z[i] * z[j];
        let difference = (self.distances[i] - self.distances[j]).abs();
        let alike = self.batches[i] == self.batches[j]
            && cosine > SAME_NORMAL
            && difference < greater(self.reach[i], self.reach[j]);
        alike || self.triangles[i] == self.triangles[j]
    }
}

/// Returns all bits if a sample is in a set, otherwise 0.
#[inline(always)]
fn only_if(samples: u32, i: usize) -> u32 {
    (samples >> i & 1).wrapping_neg()
}

/// Returns the triangle that represents the surface with the most samples among `among`.
#[inline(always)]
fn largest(same: &Four<u32>, among: u32, triangles: &Four<u32>) -> u32 {
    let mut best = (0, 0);
    for i in 0..SAMPLES {
        let count = (same[i] & among & only_if(among, i)).count_ones();
        if count > best.1 {
            best = (triangles[i], count);
        }
    }
    best.0
}

/// Returns the triangle that most samples show. Returns 0 only if no sample shows a triangle.
#[inline(always)]
fn most_seen(triangles: &Four<u32>) -> u32 {
    let mut best = (0, 0);
    for triangle in triangles {
        let votes = triangles.iter().map(|other| u32::from(other == triangle)).sum::<u32>();
        if *triangle != 0 && votes > best.1 {
            best = (*triangle, votes);
        }
    }
    best.0
}

#[inline(always)]
fn packed(triangle: u32, samples: u32) -> u32 {
    triangle | samples << TRIANGLE_BITS
}

/// Returns the samples that show a triangle.
#[inline(always)]
fn showing(triangles: &Four<u32>, triangle: u32) -> u32 {
    mask(|i| triangles[i] == triangle)
}

/// Returns the samples for which a function is true.
#[inline(always)]
fn mask(is_set: impl Fn(usize) -> bool) -> u32 {
    let mut mask = 0;
    for i in 0..SAMPLES {
        mask |= u32::from(is_set(i)) << i;
    }
    mask
}

/// Returns the values of a function for the four samples.
#[inline(always)]
fn four<T: Copy + Default>(value: impl Fn(usize) -> T) -> Four<T> {
    let mut out = [T::default(); SAMPLES];
    for (i, out) in out.iter_mut().enumerate() {
        *out = value(i);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of triangles 1 to 7. Normals are octahedral coordinates: 127 or 128 is almost 0. Normals face the camera, which
    /// looks along −Z, except those of triangles 4, 6 and 7, which are turned by about 45°.
    const WORDS: [u32; 7] = [
        word(3, [128, 128]),
        word(3, [128, 127]),
        word(5, [128, 128]),
        word(3, [191, 128]),
        word(7, [128, 128]),
        word(3, [64, 128]),
        word(3, [191, 127]),
    ];

    const fn word(batch: u32, [x, y]: [u32; 2]) -> u32 {
        batch | x << 16 | y << 24
    }

    /// The distance of a sample is 1 / (2 − depth). At a depth of 0.5, distances within a surface that faces the camera may
    /// differ by 0.02.
    fn grouping() -> Grouping<'static> {
        Grouping {
            words: &WORDS,
            distance_numerator: 1.0,
            depth_range: 2.0,
            pixel_size: 0.01,
            camera_axis: Vec3::NEG_Z,
        }
    }

    fn grouped(triangles: [u32; 4], depths: [f32; 4]) -> Pixel {
        let grouping = grouping();
        grouping.grouped(&mut Facets::new(&grouping), &triangles, &depths.map(|depth| depth.to_bits().cast_signed()))
    }

    fn pixel(first: (u32, u32), second: (u32, u32), batches: [u16; 2]) -> Pixel {
        Pixel { surfaces: [first.0 | first.1 << 28, second.0 | second.1 << 28], batches }
    }

    const NONE: (u32, u32) = (0, 0);
    const NEAR: f32 = 0.5;
    const FAR: f32 = 0.6;

    #[test]
    fn uniform_pixels_have_one_surface() {
        assert!(is_uniform(&[7; 4]));
        for other in 0..4 {
            let mut triangles = [7; 4];
            triangles[other] = 8;
            assert!(!is_uniform(&triangles));
        }
        assert_eq!(grouping().uniform(3), pixel((3, 0b1111), NONE, [6, 0]));
        assert_eq!(grouping().uniform(0), Pixel::default());
    }

    #[test]
    fn samples_are_grouped_to_surfaces() {
        for (name, triangles, depths, expected) in [
            ("silhouette", [1, 0, 1, 0], [NEAR, 1.0, NEAR, 1.0], pixel((1, 0b0101), NONE, [4, 0])),
            ("one triangle at two depths", [1, 0, 1, 1], [NEAR, 1.0, FAR, NEAR], pixel((1, 0b1101), NONE, [4, 0])),
            ("two triangles of a plane", [1, 2, 1, 2], [NEAR; 4], pixel((1, 0b1111), NONE, [4, 0])),
            ("two batches", [1, 3, 3, 3], [NEAR; 4], pixel((3, 0b1110), (1, 0b0001), [6, 4])),
            ("the first of two equal parts", [3, 1, 1, 3], [NEAR; 4], pixel((3, 0b1001), (1, 0b0110), [6, 4])),
            ("crease", [1, 1, 4, 4], [NEAR; 4], pixel((1, 0b0011), (4, 0b1100), [4, 4])),
            ("step", [1, 1, 1, 2], [NEAR, NEAR, NEAR, FAR], pixel((1, 0b0111), (2, 0b1000), [4, 4])),
            ("small step", [1, 1, 1, 2], [NEAR, NEAR, NEAR, 0.51], pixel((1, 0b1111), NONE, [4, 0])),
            ("three surfaces", [3, 1, 1, 5], [NEAR; 4], pixel((1, 0b0110), (3, 0b1001), [4, 6])),
            ("four surfaces", [5, 3, 4, 6], [NEAR; 4], pixel((5, 0b0001), (3, 0b1110), [8, 6])),
            ("the largest part of the rest", [5, 3, 1, 2], [NEAR; 4], pixel((5, 0b0001), (1, 0b1110), [8, 4])),
            ("background and two batches", [0, 3, 1, 0], [NEAR; 4], pixel((3, 0b0010), (1, 0b0100), [6, 4])),
        ] {
            assert_eq!(grouped(triangles, depths), expected, "{name}");
        }
    }

    #[test]
    fn steps_are_measured_in_pixels_along_the_surface() {
        // The distances 1 / 1.5 and 1 / 1.46 differ by 0.018. The largest difference within a surface that faces the camera
        // is 0.021 with pixels of size 0.01, and 0.014 with smaller ones. An inclined surface may differ by 0.02.
        let depths = [NEAR, NEAR, NEAR, 0.54].map(|depth| depth.to_bits().cast_signed());
        let small_pixels = Grouping { pixel_size: 0.007, ..grouping() };
        let one = |triangle| [packed(triangle, 0b1111), 0];
        let surfaces = |grouping: &Grouping<'_>, triangles| {
            grouping.grouped(&mut Facets::new(grouping), &triangles, &depths).surfaces
        };
        assert_eq!(surfaces(&grouping(), [1, 1, 1, 2]), one(1));
        assert_eq!(surfaces(&small_pixels, [1, 1, 1, 2]), [packed(1, 0b0111), packed(2, 0b1000)]);
        assert_eq!(surfaces(&small_pixels, [4, 4, 4, 7]), one(4));
    }
}
