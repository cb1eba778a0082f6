//! Collects the light of the sample points on each triangle into one light grid per triangle.

use std::collections::BTreeMap;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::coarse::{CoarseSamples, to_finest};
use crate::lattice::{Lattice, LatticePoint};
use crate::light::{LightValue, LitPoint};
use crate::samples::{MAX_LEVEL, NO_SAMPLE, SamplePoints, TriangleSide};
use crate::types::{GatheredLight, LightGrid};

/// Maximum number of light values in the grids of all meshes.
pub const MAX_GRID_VALUES: usize = 1 << 20;

/// Returns the light grids of each mesh. A triangle without an edge longer than `min_edge` has no grid.
pub(crate) fn grids(
    coarse: &CoarseSamples<'_>,
    samples: &SamplePoints<'_>,
    lit: &[LitPoint],
    min_edge: f32,
) -> Vec<Vec<LightGrid>> {
    let levels = Levels::new(coarse, samples);
    let mut triangle_levels: Vec<Vec<(u32, u32)>> =
        (0..samples.meshes.len()).map(|mesh| triangles_with_grid(&levels, samples, mesh, min_edge)).collect();
    let values_of = |level: u32| 2 * Lattice { level }.point_count();
    let mut max_level = MAX_LEVEL;
    // If there are too many values, the maximum level is lowered for all triangles alike, so that the grids of adjacent
    // triangles still match along their common edge.
    while triangle_levels.iter().flatten().map(|(_, level)| values_of(*level)).sum::<usize>() > MAX_GRID_VALUES
        && max_level > 0
    {
        max_level -= 1;
        for (_, level) in triangle_levels.iter_mut().flatten() {
            *level = max_level.min(*level);
        }
    }
    let grid = |mesh: usize, triangle: u32, level: u32| {
        let lattice = Lattice { level };
        let [front, back] = [false, true].map(|back| {
            let side = TriangleSide { mesh: mesh as u32, triangle, back };
            if samples.sides(mesh).any(|b| b == back) { lattice_light(samples, lit, side, lattice) } else { Vec::new() }
        });
        LightGrid { triangle, lattice, front, back }
    };
    triangle_levels
        .into_iter()
        .enumerate()
        .map(|(mesh, triangle_levels)| {
            let with_grid = triangle_levels.into_par_iter().filter(|(_, level)| *level > 0);
            with_grid.map(|(triangle, level)| grid(mesh, triangle, level)).collect()
        })
        .collect()
}

/// Returns the triangles of a mesh that need a grid. Each entry is the index of a triangle and the level of its
/// lattice.
fn triangles_with_grid(levels: &Levels, samples: &SamplePoints<'_>, m: usize, min_edge: f32) -> Vec<(u32, u32)> {
    if samples.sides(m).next().is_none() || levels.edges.is_empty() {
        return Vec::new();
    }
    let mesh = &samples.meshes[m];
    (0..mesh.indices.len() / 3)
        .into_par_iter()
        .filter_map(|t| {
            let [a, b, c] = mesh.triangle(t);
            if a.distance(b).max(b.distance(c)).max(c.distance(a)) <= min_edge {
                return None;
            }
            let side = |back| TriangleSide { mesh: m as u32, triangle: t as u32, back };
            let level = samples.sides(m).map(|back| levels.max_level(samples, side(back))).max()?;
            (level > 0).then_some((t as u32, level))
        })
        .collect()
}

/// For the inside of each triangle and for each edge: the finest lattice level at which there is a sample point.
struct Levels {
    inside: FxHashMap<TriangleSide, u32>,
    edges: BTreeMap<(u32, u32), u32>,
}

impl Levels {
    fn new(coarse: &CoarseSamples<'_>, samples: &SamplePoints<'_>) -> Self {
        let mut inside: FxHashMap<TriangleSide, u32> =
            coarse.sides.iter().map(|side| (*side, coarse.lattice(*side).level)).collect();
        let mut edges: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for side in &coarse.sides {
            let level = coarse.lattice(*side).level;
            let [a, b, c] = samples.corners(*side);
            for (from, to) in [(a, b), (b, c), (a, c)] {
                let finest_level = edges.entry((from.min(to), from.max(to))).or_default();
                *finest_level = level.max(*finest_level);
            }
        }
        samples.for_each_inside(|side, point| {
            let finest_level = inside.entry(side).or_default();
            *finest_level = level_of(point).max(*finest_level);
        });
        samples.for_each_on_edge(|from, to, steps| {
            let finest_level = edges.entry((from, to)).or_default();
            *finest_level = level_of((steps, 0)).max(*finest_level);
        });
        Self { inside, edges }
    }

    fn max_level(&self, samples: &SamplePoints<'_>, side: TriangleSide) -> u32 {
        let [a, b, c] = samples.corners(side);
        let edge = |from: u32, to: u32| self.edges.get(&(from.min(to), from.max(to))).copied().unwrap_or(0);
        let inside = self.inside.get(&side).copied().unwrap_or(0);
        inside.max(edge(a, b)).max(edge(b, c)).max(edge(a, c))
    }
}

/// Returns the coarsest lattice level that contains this point of the finest lattice.
fn level_of((i, j): LatticePoint) -> u32 {
    MAX_LEVEL - (i | j).trailing_zeros().min(MAX_LEVEL)
}

/// Returns the light at every point of the lattice of a triangle side. The light at a point without a sample is the
/// mean of the light at the point's `Lattice::parents`.
fn lattice_light(
    samples: &SamplePoints<'_>,
    lit: &[LitPoint],
    side: TriangleSide,
    lattice: Lattice,
) -> Vec<GatheredLight> {
    let corners = samples.corners(side);
    let light_at = |sample: u32| {
        let point = &lit[sample as usize];
        (point.light, !point.inside_body)
    };
    let mut values: Vec<Option<(LightValue, bool)>> = vec![None; lattice.point_count()];
    for level in 0..=lattice.level {
        let step = 1 << (lattice.level - level);
        for (i, j) in (Lattice { level }).points() {
            let point = (i * step, j * step);
            let index = lattice.index(point);
            if values[index].is_some() {
                continue;
            }
            let stored = samples.find(side, corners, to_finest(point, lattice.level)).filter(|p| *p != NO_SAMPLE);
            values[index] = if let Some(sample) = stored {
                Some(light_at(sample))
            } else {
                let [a, b] = Lattice::parents(point, step).map(|p| values[lattice.index(p)]);
                match (a, b) {
                    // The light of a parent inside another body is ignored, because it says nothing about the visible
                    // surface.
                    (Some((a, true)), Some((b, true))) => Some(((a + b) * 0.5, true)),
                    (Some((a, true)), _) | (_, Some((a, true))) => Some((a, true)),
                    (either, _) => either,
                }
            };
        }
    }
    fill_unreliable(lattice, values).into_iter().map(GatheredLight::from).collect()
}

/// Replaces the light of unreliable points, which are inside other bodies, by the mean light of their reliable
/// neighbours. Replaced points become reliable. The replacement is repeated until no unreliable point has a reliable
/// neighbour.
fn fill_unreliable(lattice: Lattice, values: Vec<Option<(LightValue, bool)>>) -> Vec<LightValue> {
    let mut values: Vec<(LightValue, bool)> = values.into_iter().flatten().collect();
    debug_assert_eq!(values.len(), lattice.point_count());
    let mut unreliable: Vec<LatticePoint> = lattice.points().filter(|p| !values[lattice.index(*p)].1).collect();
    loop {
        let mut replaced: Vec<(usize, LightValue)> = Vec::new();
        unreliable.retain(|p| {
            let reliable = lattice.neighbours(*p).map(|n| values[lattice.index(n)]).filter(|(_, reliable)| *reliable);
            let (sum, count) = reliable.fold((None, 0.0), |(sum, count), (light, _)| {
                (Some(sum.map_or(light, |s: LightValue| s + light)), count + 1.0)
            });
            replaced.extend(sum.map(|sum| (lattice.index(*p), sum * (1.0 / count))));
            sum.is_none()
        });
        if replaced.is_empty() {
            return values.into_iter().map(|(light, _)| light).collect();
        }
        for (index, light) in replaced {
            values[index] = (light, true);
        }
    }
}
