//! Filters the radiance of the environment with the GGX lobe, for several roughnesses (Karis 2013, "Real Shading in
//! Unreal Engine 4"). The integrals are computed by importance sampling with filtered lookups (Křivánek and Colbert
//! 2008).
//!
//! The maps are octahedral (Cigolle et al. 2014, "A Survey of Efficient Representations for Independent Unit Vectors").
//! Software drivers read a 2D texture several times faster than a cube map.

use std::f32::consts::PI;

use glam::{Vec3, Vec4};
use plinth_bake::octahedral_direction as direction;
use plinth_scene::EnvironmentMap;
use rayon::prelude::*;

use super::OctahedralMap;
use super::pyramid::{DirectionLanes, LANES, Pyramid};

/// Width of the margin around the octahedral map, as a fraction of the side of a mip level. The margin is half a texel
/// of the smallest level, and the same fraction of the side in all levels. The margin contains the directions on the
/// other side of the folded border, so that filtering at the border mixes neighbouring directions. `SPECULAR_MARGIN` in
/// `lib/ibl.wgsl` has the same value.
const MARGIN: f32 = 0.5 / MIN_SIDE as f32;
/// Side length of the smallest mip level in texels: 16 for the map, and half a texel for each of the two margins.
const MIN_SIDE: u32 = 17;

/// Size and precision of a filtered map.
pub(crate) struct FilterQuality {
    /// Number of mip levels. Each level has twice the side length of the next level.
    pub(crate) mips: u32,
    /// Number of samples of each lobe, as a fraction of the usual number.
    pub(crate) samples: f32,
}

/// Filters a panorama. `roughness_of_mip` defines the roughness of each mip level. The last level has 17 × 17 texels.
pub(crate) fn prefilter(map: &EnvironmentMap, quality: &FilterQuality) -> OctahedralMap {
    let pyramid = Pyramid::new(map);
    let last = quality.mips - 1;
    let mips = (0..quality.mips)
        .map(|mip| {
            let roughness = roughness_of_mip(mip as f32 / last as f32);
            MipFilter::new(&pyramid, MIN_SIDE << (last - mip), roughness, quality.samples).texels(row_function())
        })
        .collect();
    OctahedralMap { side: MIN_SIDE << last, mips }
}

/// Returns the direction at a position in a mip level. `u` and `v` are in 0..1.
#[inline(always)]
fn direction_at(u: f32, v: f32) -> Vec3 {
    let inner = |c: f32| (c - MARGIN) / (1.0 - 2.0 * MARGIN);
    let (u, v) = (inner(u), inner(v));
    // A position beyond an edge is mirrored at the edge and about the middle of the edge. The mirrored position has the
    // same direction.
    let (u, v) = if (0.0..=1.0).contains(&u) { (u, v) } else { (if u < 0.0 { -u } else { 2.0 - u }, 1.0 - v) };
    let (u, v) = if (0.0..=1.0).contains(&v) { (u, v) } else { (1.0 - u, if v < 0.0 { -v } else { 2.0 - v }) };
    direction(u, v)
}

/// Returns the perceptual roughness for which a mip level is filtered. `mip` is the index of the level divided by the
/// index of the last level. Near 0, the roughness differs little from level to level, because interpolating between a
/// sharp and a blurred reflection shows both. `lib/ibl.wgsl` contains the inverse of this function.
fn roughness_of_mip(mip: f32) -> f32 {
    if mip < 0.4 { (1.25 * mip).powi(2) } else { 1.25 * mip - 0.25 }
}

/// A mip level to be filtered.
struct MipFilter<'a> {
    pyramid: &'a Pyramid,
    /// Side length in texels.
    side: usize,
    /// The samples of the lobe. The list is empty if the roughness is 0.
    lobe: Vec<LobeSample>,
    /// Level of `pyramid` whose texels have the same solid angle as those of the filtered level.
    own_level: f32,
}

impl<'a> MipFilter<'a> {
    /// `samples` is the number of samples of the lobe, as a fraction of the usual number.
    fn new(pyramid: &'a Pyramid, side: u32, roughness: f32, samples: f32) -> Self {
        let texel = 4.0 * PI / ((side * side) as f32 * (1.0 - 2.0 * MARGIN).powi(2));
        let lobe = lobe(roughness, samples, |solid_angle| pyramid.level_of((FOOTPRINT * solid_angle).max(texel)));
        Self { pyramid, side: side as usize, lobe, own_level: pyramid.level_of(texel) }
    }

    /// Returns all texels. `filter_row` computes a row.
    fn texels(&self, filter_row: FilterRow) -> Vec<[f32; 4]> {
        let mut texels = vec![[0.0; 4]; self.side * self.side];
        texels.par_chunks_mut(self.side).enumerate().for_each(|(y, row)| filter_row(self, y, row));
        texels
    }
}

/// Filters a row of a mip level. The arguments are the level, the index of the row, and its texels.
type FilterRow = fn(&MipFilter<'_>, usize, &mut [[f32; 4]]);

/// Returns the fastest function for this processor. All have the same results.
fn row_function() -> FilterRow {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        return |filter, y, row| {
            #[expect(unsafe_code, reason = "a function with target features; see decision 0087")]
            // SAFETY: The processor has AVX2, which is all that the function requires.
            unsafe {
                filter_row_avx2(filter, y, row);
            }
        };
    }
    filter_row
}

/// Same as [`filter_row`], compiled for AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn filter_row_avx2(filter: &MipFilter<'_>, y: usize, row: &mut [[f32; 4]]) {
    filter_row(filter, y, row);
}

/// Filters a row of a mip level.
#[inline(always)]
fn filter_row(filter: &MipFilter<'_>, y: usize, row: &mut [[f32; 4]]) {
    let at = |i: usize| (i as f32 + 0.5) / filter.side as f32;
    for (texels, first) in row.chunks_mut(LANES).zip((0..).step_by(LANES)) {
        let mut normals = DirectionLanes::default();
        for lane in 0..LANES {
            normals.set(lane, direction_at(at(first + lane), at(y)));
        }
        let radiances = if filter.lobe.is_empty() {
            filter.pyramid.sample(|lane| normals.at(lane), filter.own_level)
        } else {
            filtered(filter.pyramid, &normals, &filter.lobe)
        };
        for (texel, radiance) in texels.iter_mut().zip(&radiances) {
            *texel = radiance.min(Vec4::splat(60_000.0)).truncate().extend(1.0).to_array();
        }
    }
}

/// Each sample represents a part of the lobe. The radiance of a sample is averaged over this fraction of the solid
/// angle of its part. The usual value 1 would make the lobe wider.
const FOOTPRINT: f32 = 0.5;

/// A sample of the lobe around +Z: its unit direction, its cosine weight, and the mip level of the panorama to be read.
struct LobeSample {
    direction: Vec3,
    weight: f32,
    level: f32,
}

/// Returns the samples of a lobe. `samples` is their number as a fraction of the usual number. `level_of` returns the mip
/// level for a solid angle in steradians.
fn lobe(roughness: f32, samples: f32, level_of: impl Fn(f32) -> f32) -> Vec<LobeSample> {
    if roughness <= 0.0 {
        return Vec::new();
    }
    let alpha = roughness * roughness;
    // Narrow lobes need fewer samples, because the filtered samples of a narrow lobe overlap.
    let count = (samples * (136.0 * roughness).clamp(8.0, 72.0)) as u32;
    (0..count)
        .filter_map(|i| {
            let u = (i as f32 + 0.5) / count as f32;
            let phi = i as f32 * 2.399_963_2;
            let cos2 = (1.0 - u) / (1.0 + (alpha * alpha - 1.0) * u);
            let (cos_h, sin_h) = (cos2.sqrt(), (1.0 - cos2).max(0.0).sqrt());
            let h = Vec3::new(sin_h * phi.cos(), sin_h * phi.sin(), cos_h);
            let direction = 2.0 * cos_h * h - Vec3::Z;
            let f = (cos_h * alpha * alpha - cos_h) * cos_h + 1.0;
            let density = alpha * alpha / (PI * f * f) * 0.25;
            (direction.z > 0.0).then(|| LobeSample {
                direction,
                weight: direction.z,
                level: level_of(1.0 / (count as f32 * density.max(1e-6))),
            })
        })
        .collect()
}

/// Returns the mean radiance of a lobe around each of some directions.
#[inline(always)]
fn filtered(pyramid: &Pyramid, normals: &DirectionLanes, lobe: &[LobeSample]) -> [Vec4; LANES] {
    let (mut tangents, mut bitangents) = (DirectionLanes::default(), DirectionLanes::default());
    for lane in 0..LANES {
        let (tangent, bitangent) = normals.at(lane).any_orthonormal_pair();
        tangents.set(lane, tangent);
        bitangents.set(lane, bitangent);
    }
    let mut sums = [Vec4::ZERO; LANES];
    let mut weights = 0.0;
    for LobeSample { direction, weight, level } in lobe {
        let rotated = |lane: usize| {
            tangents.at(lane) * direction.x + bitangents.at(lane) * direction.y + normals.at(lane) * direction.z
        };
        for (sum, radiance) in sums.iter_mut().zip(&pyramid.sample(rotated, *level)) {
            *sum += *radiance * *weight;
        }
        weights += *weight;
    }
    for sum in &mut sums {
        *sum /= f32::max(weights, 1e-6);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uniform_environment_stays_uniform_at_every_roughness() {
        let map = EnvironmentMap { width: 32, height: 16, pixels: vec![[0.5, 1.0, 2.0]; 512] };
        let cube = prefilter(&map, &FilterQuality { mips: 5, samples: 1.0 });
        for texel in cube.mips.iter().flatten() {
            assert!((texel[0] - 0.5).abs() < 1e-2, "{texel:?}");
            assert!((texel[2] - 2.0).abs() < 1e-2, "{texel:?}");
        }
    }

    #[test]
    fn the_map_is_the_same_with_and_without_avx2() {
        let pixels = (0..64 * 32).map(|i| [i % 7, i % 11, i * 5 % 17].map(|c| c as f32)).collect();
        let pyramid = Pyramid::new(&EnvironmentMap { width: 64, height: 32, pixels });
        for roughness in [0.0, 0.3, 1.0] {
            let filter = MipFilter::new(&pyramid, 2 * MIN_SIDE, roughness, 1.0);
            let bits = |filter_row: FilterRow| -> Vec<u32> {
                filter.texels(filter_row).iter().flatten().map(|c| c.to_bits()).collect()
            };
            assert_eq!(bits(filter_row), bits(row_function()), "{roughness}");
        }
    }

    #[test]
    fn the_map_is_continuous_across_its_folded_border() {
        // At each edge, a direction just outside the map equals the direction just inside at the mirrored position.
        let step = 0.01;
        for along in [0.1, 0.3, 0.55, 0.8] {
            let place = |c: f32| MARGIN + c * (1.0 - 2.0 * MARGIN);
            for edge in [0.0, 1.0] {
                let outward = if edge == 0.0 { -step } else { step };
                for (outside, inside) in [
                    ([edge + outward, along], [edge - outward, 1.0 - along]),
                    ([along, edge + outward], [1.0 - along, edge - outward]),
                ] {
                    let [outside, inside] = [outside, inside].map(|[u, v]| direction_at(place(u), place(v)));
                    assert!(outside.distance(inside) < 1e-4, "{outside} {inside}");
                    let border = direction_at(place(along), place(edge));
                    let other = direction_at(place(1.0 - along), place(edge));
                    assert!(border.distance(other) < 1e-4, "{border} {other}");
                }
            }
        }
        // All four corners have the same direction, even in the smallest mip level.
        let corner = direction_at(0.5 / MIN_SIDE as f32, 0.5 / MIN_SIDE as f32);
        assert!(corner.distance(Vec3::NEG_Y) < 1e-3, "{corner}");
    }

    #[test]
    fn the_roughness_of_mip_levels_rises_monotonically() {
        let steps: Vec<f32> = (0..6).map(|mip| roughness_of_mip(mip as f32 / 5.0)).collect();
        for (step, expected) in steps.iter().zip([0.0, 0.0625, 0.25, 0.5, 0.75, 1.0]) {
            assert!((step - expected).abs() < 1e-5, "{steps:?}");
        }
    }

    #[test]
    fn a_bright_spot_is_found_in_its_direction_and_spreads_with_roughness() {
        let mut pixels = vec![[0.0; 3]; 64 * 32];
        // The direction +X is at u = 0.5, v = 0.5 of the panorama.
        for (x, y) in [(31, 15), (32, 15), (31, 16), (32, 16)] {
            pixels[y * 64 + x] = [100.0; 3];
        }
        let cube =
            prefilter(&EnvironmentMap { width: 64, height: 32, pixels }, &FilterQuality { mips: 5, samples: 1.0 });
        let brightest = |mip: usize| {
            let texels = &cube.mips[mip];
            (0..texels.len()).max_by(|a, b| texels[*a][0].total_cmp(&texels[*b][0])).unwrap_or(0)
        };
        let (at, side) = (brightest(0), cube.side as usize);
        let found = direction_at((at % side) as f32 / side as f32, (at / side) as f32 / side as f32);
        assert!(found.x > 0.95, "{found}");
        assert!(cube.mips[3][brightest(3)][0] < cube.mips[1][brightest(1)][0]);
    }
}
