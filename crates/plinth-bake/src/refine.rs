//! Adds sample points where interpolating the light would be wrong. The light is computed at the midpoint of each edge
//! of a sub-triangle. If this light differs too much from the mean of the light at the edge's ends, the sub-triangle is
//! split into four.

use std::cmp::Ordering;

use glam::Vec3;
use rayon::prelude::*;

use crate::coarse::{CoarseSamples, to_finest};
use crate::gather::{GatherResult, Scene};
use crate::lattice::{Lattice, LatticePoint};
use crate::light::{LightValue, LitPoint};
use crate::radiosity::Radiosity;
use crate::samples::{MAX_LEVEL, SamplePoint, SamplePoints, TriangleSide};
use crate::sampling::RayDirections;
use crate::types::BakeOptions;

/// If the occluders are farther away than this many edge lengths of a sub-triangle, the light on the sub-triangle is
/// assumed to be smooth.
const MAX_OCCLUDER_DISTANCE: f32 = 8.0;
/// If the light at the corners differs by less than this multiple of `BakeOptions::max_error`, and no occluder is near,
/// the light between the corners is assumed to be linear.
const MAX_CORNER_DIFFERENCE: f32 = 4.0;

/// Maximum number of probes that a task computes. With larger tasks, threads have nothing to do while the last task runs.
const MAX_PROBES_PER_TASK: usize = 32;

/// Triangles are not refined if their longest edge is at most this long, in world units.
pub(crate) const MAX_UNREFINED_EDGE: f32 = 0.05;

/// A part of a triangle, whose corners are three adjacent points of a lattice.
#[derive(Clone, Copy)]
pub(crate) struct SubTriangle {
    side: TriangleSide,
    level: u32,
    points: [LatticePoint; 3],
    /// Length of the longest edge of the whole triangle, in world units.
    longest: f32,
}

impl SubTriangle {
    /// Returns the midpoints of the edges, in coordinates of the finest lattice.
    fn midpoints(&self) -> [LatticePoint; 3] {
        let [a, b, c] = self.points;
        [(a, b), (b, c), (c, a)].map(|(p, q)| (p.0.midpoint(q.0), p.1.midpoint(q.1)))
    }

    fn split(&self) -> [Self; 4] {
        let [a, b, c] = self.points;
        let [ab, bc, ca] = self.midpoints();
        let sub_triangle = |points| Self { points, level: self.level + 1, ..*self };
        [sub_triangle([a, ab, ca]), sub_triangle([ab, b, bc]), sub_triangle([ca, bc, c]), sub_triangle([ab, bc, ca])]
    }

    /// Returns the indices of the sample points at the corners. Returns `None` if a corner has no sample point.
    pub(crate) fn corners(&self, samples: &SamplePoints<'_>) -> Option<[u32; 3]> {
        let corners = samples.corners(self.side);
        let [a, b, c] = self.points.map(|p| samples.find(self.side, corners, p));
        Some([a?, b?, c?])
    }

    fn edge_length(&self) -> f32 {
        self.longest / (1 << self.level) as f32
    }

    /// Compares by size, and by place if the sizes are equal.
    fn largest_first(&self, other: &Self) -> Ordering {
        let by_size = other.edge_length().total_cmp(&self.edge_length());
        by_size.then(self.side.cmp(&other.side)).then(self.points.cmp(&other.points))
    }
}

/// Adds sample points and computes their light.
pub(crate) struct Refiner<'a> {
    pub(crate) scene: &'a Scene<'a>,
    pub(crate) radiosity: &'a Radiosity<'a>,
    pub(crate) directions: &'a RayDirections,
    /// Maximum number of sample points that are probed.
    pub(crate) max_probes: usize,
    pub(crate) camera_positions: &'a [Vec3],
    pub(crate) options: &'a BakeOptions,
}

impl Refiner<'_> {
    /// Adds sample points inside the sub-triangles. The points are added to `samples`, and their light to `lit`.
    pub(crate) fn refine(
        &self,
        mut sub_triangles: Vec<SubTriangle>,
        samples: &mut SamplePoints<'_>,
        lit: &mut Vec<LitPoint>,
    ) {
        let mut remaining = self.max_probes;
        while !sub_triangles.is_empty() && remaining > 0 {
            // The largest sub-triangles come first, because they matter most if the budget does not suffice for all.
            sub_triangles.sort_by(SubTriangle::largest_first);
            let unverified: Vec<SubTriangle> = sub_triangles
                .into_iter()
                .filter(|sub_triangle| self.needs_probing(sub_triangle, samples, lit))
                .collect();
            let before = samples.len();
            let mut split_candidates = Vec::with_capacity(unverified.len());
            let mut edge_ends: Vec<[u32; 2]> = Vec::new();
            for sub_triangle in unverified {
                if 2 * (samples.len() - before) >= remaining {
                    break;
                }
                let corners = samples.corners(sub_triangle.side);
                let Some(ends) = sub_triangle.corners(samples) else { continue };
                let mut midpoints = [0; 3];
                for (k, point) in sub_triangle.midpoints().into_iter().enumerate() {
                    midpoints[k] = samples.find_or_add(sub_triangle.side, corners, point);
                    if samples.len() > before + edge_ends.len() {
                        edge_ends.push([ends[k], ends[(k + 1) % 3]]);
                    }
                }
                split_candidates.push((sub_triangle, midpoints));
            }
            let probed = self.probe_all(edge_ends.iter().flatten().copied(), samples, lit);
            remaining = remaining.saturating_sub(samples.len() - before + probed);
            let added: Vec<LitPoint> = samples.list[before..]
                .par_iter()
                .with_max_len(MAX_PROBES_PER_TASK)
                .zip(&edge_ends)
                .map(|(sample, ends)| self.light_between(sample, ends.map(|i| &lit[i as usize])))
                .collect();
            lit.extend(added);
            sub_triangles = split_candidates
                .into_iter()
                .filter(|(sub_triangle, midpoints)| self.needs_split(sub_triangle, *midpoints, samples, lit))
                .flat_map(|(sub_triangle, _)| sub_triangle.split())
                .filter(|sub_triangle| {
                    sub_triangle.level < MAX_LEVEL && sub_triangle.edge_length() > 2.0 * self.options.min_spacing
                })
                .collect();
        }
    }

    /// Casts the probe rays of a sample point. The directions of probe rays are the same at all sample points with the
    /// same normal. Returns the light, the full result of the rays, and the largest irradiance along a single ray.
    fn probe(&self, sample: &SamplePoint) -> (LightValue, GatherResult, f32) {
        let mut occluders = Vec::with_capacity(self.directions.len());
        let gathered = self.scene.gather(sample, self.directions, &mut occluders);
        let (indirect, occluder_luminance, max_ray_irradiance) = self.radiosity.reflected_onto(&gathered, &occluders);
        let max_ray_irradiance = max_ray_irradiance.max(gathered.max_ray_irradiance);
        (LightValue::new(&gathered, indirect, occluder_luminance), gathered, max_ray_irradiance)
    }

    /// Probes the given sample points unless they have been probed before. Returns the number of points that were
    /// probed.
    fn probe_all(&self, indices: impl Iterator<Item = u32>, samples: &SamplePoints<'_>, lit: &mut [LitPoint]) -> usize {
        let mut unprobed: Vec<u32> = indices.filter(|i| lit[*i as usize].probe.is_none()).collect();
        unprobed.sort_unstable();
        unprobed.dedup();
        let probes = unprobed.par_iter().with_max_len(MAX_PROBES_PER_TASK);
        let found: Vec<LightValue> = probes.map(|i| self.probe(&samples.list[*i as usize]).0).collect();
        for (i, probe) in unprobed.iter().zip(&found) {
            lit[*i as usize].probe = Some(*probe);
        }
        found.len()
    }

    /// Computes the light at the midpoint of an edge. The result is the mean of the light at both ends, plus the
    /// difference between the probe at the midpoint and the mean of the probes at the ends. All three probes have the
    /// same sampling noise, so the noise cancels out.
    fn light_between(&self, sample: &SamplePoint, ends: [&LitPoint; 2]) -> LitPoint {
        let (probe, gathered, max_ray_irradiance) = self.probe(sample);
        let ends: Vec<(LightValue, LightValue)> =
            ends.iter().filter(|end| !end.inside_body).filter_map(|end| Some((end.light, end.probe?))).collect();
        let light = if ends.is_empty() {
            probe
        } else {
            let mean = |field: fn(&(LightValue, LightValue)) -> LightValue| {
                ends.iter().map(field).reduce(|a, b| a + b).map_or(probe, |sum| sum * (1.0 / ends.len() as f32))
            };
            let change = probe + mean(|end| end.1) * -1.0;
            let magnitude = (gathered.unoccluded * change.direct + change.indirect).abs().max_element();
            // The change is reduced by the light of the brightest ray, because a change of this size may be noise,
            // caused by a single ray that is blocked only at this point.
            (mean(|end| end.0) + change * (1.0 - max_ray_irradiance / magnitude.max(max_ray_irradiance))).non_negative()
        };
        LitPoint {
            probe: Some(probe),
            ..LitPoint::new(light, &gathered, self.scene.is_seen(sample, self.camera_positions))
        }
    }

    /// Returns whether a camera sees the sub-triangle and the light between its corners could be non-linear.
    fn needs_probing(&self, sub_triangle: &SubTriangle, samples: &SamplePoints<'_>, lit: &[LitPoint]) -> bool {
        let Some(corners) = sub_triangle.corners(samples) else { return false };
        if sub_triangle.edge_length() <= 2.0 * self.options.min_spacing {
            return false;
        }
        let corners = corners.map(|c| &lit[c as usize]);
        if !corners.iter().any(|c| c.seen) || corners.iter().all(|c| c.inside_body) {
            return false;
        }
        if corners.iter().any(|c| c.inside_body) {
            return true;
        }
        let max_inverse_distance = corners.iter().map(|c| c.mean_inverse_distance).fold(0.0, f32::max);
        let albedo = self.albedo(sub_triangle);
        let max_difference = (0..3).map(|k| difference(albedo, corners[k], corners[(k + 1) % 3])).fold(0.0, f32::max);
        max_inverse_distance * sub_triangle.edge_length() * MAX_OCCLUDER_DISTANCE > 1.0
            || max_difference > MAX_CORNER_DIFFERENCE * self.options.max_error
    }

    /// Returns whether the light at the midpoint of any edge differs too much from the mean of the light at the edge's
    /// ends.
    fn needs_split(
        &self,
        sub_triangle: &SubTriangle,
        midpoints: [u32; 3],
        samples: &SamplePoints<'_>,
        lit: &[LitPoint],
    ) -> bool {
        let Some(corners) = sub_triangle.corners(samples) else { return false };
        let albedo = self.albedo(sub_triangle);
        (0..3).any(|k| {
            let (a, b) = (&lit[corners[k] as usize], &lit[corners[(k + 1) % 3] as usize]);
            let middle = &lit[midpoints[k] as usize];
            let inside = [a, b, middle].map(|l| l.inside_body);
            if inside.contains(&true) {
                // If only a part of the sub-triangle is inside another body, the sub-triangle contains the border of
                // this body and must be split.
                return inside.contains(&false);
            }
            difference(albedo, &a.midpoint(b), middle) > self.options.max_error
        })
    }

    fn albedo(&self, sub_triangle: &SubTriangle) -> Vec3 {
        let mesh = &self.scene.meshes[sub_triangle.side.mesh as usize];
        let corners = mesh.corners(sub_triangle.side.triangle as usize);
        // The error is weighted by the albedo. The minimum keeps dark surfaces from being refined too little. It is higher
        // for surfaces with a texture, whose brightness varies within a triangle. An albedo above 1 counts as 1.
        let min_albedo = if mesh.texture.is_some() { 0.5 } else { 0.1 };
        (corners.map(|i| mesh.albedo[i]).iter().sum::<Vec3>() / 3.0).clamp(Vec3::splat(min_albedo), Vec3::ONE)
    }
}

/// Returns the sub-triangles with which refinement starts: those of the coarse lattices, and whole triangles without a
/// lattice. Triangles with edges up to `MAX_UNREFINED_EDGE` are omitted. If there are more than `most`, the largest are
/// returned.
pub(crate) fn initial_sub_triangles(coarse: &CoarseSamples<'_>, most: usize) -> Vec<SubTriangle> {
    let mut sub_triangles = Vec::new();
    for (m, mesh) in coarse.samples.meshes.iter().enumerate() {
        for back in coarse.samples.sides(m) {
            for t in 0..mesh.indices.len() / 3 {
                let [a, b, c] = mesh.triangle(t);
                let longest = a.distance(b).max(b.distance(c)).max(c.distance(a));
                if longest <= MAX_UNREFINED_EDGE {
                    continue;
                }
                let side = TriangleSide { mesh: m as u32, triangle: t as u32, back };
                let lattice = coarse.lattice(side);
                sub_triangles.extend(lattice_sub_triangles(lattice).map(|points| SubTriangle {
                    side,
                    level: lattice.level,
                    points,
                    longest,
                }));
            }
        }
    }
    if sub_triangles.len() > most {
        sub_triangles.select_nth_unstable_by(most, SubTriangle::largest_first);
        sub_triangles.truncate(most);
    }
    sub_triangles
}

/// Returns all sub-triangles of a lattice, in coordinates of the finest lattice.
fn lattice_sub_triangles(lattice: Lattice) -> impl Iterator<Item = [LatticePoint; 3]> {
    lattice.triangles().map(move |points| points.map(|p| to_finest(p, lattice.level)))
}

/// Returns how much the colour of a surface in the light `a` differs from its colour in the light `b`: the largest
/// difference of a channel, in display encoding (0 to 1).
fn difference(albedo: Vec3, a: &LitPoint, b: &LitPoint) -> f32 {
    let displayed =
        |lit: &LitPoint| (albedo * lit.irradiance / std::f32::consts::PI).clamp(Vec3::ZERO, Vec3::ONE).powf(1.0 / 2.2);
    (displayed(a) - displayed(b)).abs().max_element()
}
