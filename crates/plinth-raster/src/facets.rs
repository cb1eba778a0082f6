//! What is known of triangles for grouping samples.

use crate::surfaces::Grouping;

/// Smallest cosine between a normal and the camera's axis with which the change of depth is computed.
const MIN_COSINE: f32 = 0.1;
/// Number of facets that are kept.
pub(crate) const KEPT: usize = 512;

/// A triangle's batch and normal.
#[derive(Clone, Copy, Default)]
pub(crate) struct Facet {
    /// Number of the triangle, or 0.
    triangle: u32,
    pub(crate) batch: u32,
    pub(crate) normal: [f32; 3],
    /// Cosine between the normal and the camera's axis.
    pub(crate) cosine: f32,
}

impl Facet {
    #[inline(always)]
    fn new(grouping: &Grouping<'_>, triangle: u32) -> Self {
        let word = grouping.words[triangle as usize - 1];
        let [x, y, z] = normal(word);
        let axis = grouping.camera_axis;
        let cosine = greater((axis.x * x + axis.y * y + axis.z * z).abs(), MIN_COSINE);
        Self { triangle, batch: word & 0xffff, normal: [x, y, z], cosine }
    }
}

/// The facets that were used last: neighbouring pixels often show the same triangles.
pub(crate) struct Facets<'a> {
    grouping: &'a Grouping<'a>,
    kept: [Facet; KEPT],
}

impl<'a> Facets<'a> {
    pub(crate) fn new(grouping: &'a Grouping<'a>) -> Self {
        Self { grouping, kept: [Facet::default(); KEPT] }
    }

    /// Returns the facet of a triangle, whose number must not be 0.
    #[inline(always)]
    pub(crate) fn of(&mut self, triangle: u32) -> Facet {
        let kept = &mut self.kept[triangle as usize % KEPT];
        if kept.triangle != triangle {
            *kept = Facet::new(self.grouping, triangle);
        }
        *kept
    }
}

/// Returns the normal of a word.
#[inline(always)]
fn normal(word: u32) -> [f32; 3] {
    let [x, y] = [16, 24].map(|shift| (word >> shift & 0xff) as f32 / 127.5 - 1.0);
    let z = 1.0 - x.abs() - y.abs();
    let fold = greater(-z, 0.0);
    let [x, y] = [x, y].map(|coordinate| coordinate - fold.copysign(coordinate));
    let inverse = 1.0 / (x * x + y * y + z * z).sqrt();
    [x * inverse, y * inverse, z * inverse]
}

/// Returns the greater number. Unlike `f32::max`, it is a single instruction, because it does not consider NaN.
#[inline(always)]
pub(crate) fn greater(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}
