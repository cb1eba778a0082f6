//! Finds neighbouring sample points on a surface, and fits the light at lattice points to that of their neighbours.

use std::ops::Range;

use glam::{Mat3, Vec3};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use crate::coarse::CoarseSamples;
use crate::gather::GatherResult;
use crate::light::LightValue;
use crate::samples::{NO_SAMPLE, SamplePoints, VertexPoints};
use crate::types::BakeMesh;

/// The linear function at a lattice point is fitted to the light at the points that are at most this many lattice steps
/// away.
const MAX_FIT_STEPS: usize = 3;
/// Distance within which indirect light is assumed to be linear, as a fraction of the harmonic mean of the distances to
/// the occluders (Ward, Rubinstein and Clear 1988, "A Ray Tracing Solution for Diffuse Interreflection", eq. 4).
const INDIRECT_FIT_RADIUS: f32 = 0.3;
/// Same as `INDIRECT_FIT_RADIUS`, for light that arrives directly from the environment. This value is smaller because
/// small lamps cast narrow shadows.
const DIRECT_FIT_RADIUS: f32 = 0.1;

/// The neighbours of each sample point. `list` contains the neighbours of all points, one point after the other. The
/// neighbours of point i begin at index `starts[i]`.
pub(crate) struct Neighbours {
    starts: Vec<u32>,
    list: Vec<u32>,
}

impl Neighbours {
    /// Makes vertices neighbours if they share an edge.
    pub(crate) fn of_vertices(meshes: &[BakeMesh], vertices: &VertexPoints) -> Self {
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for (mesh, vertex_samples) in meshes.iter().zip(&vertices.of_mesh) {
            for side in [&vertex_samples.front, &vertex_samples.back].into_iter().filter(|side| !side.is_empty()) {
                for t in mesh.indices.as_chunks::<3>().0 {
                    let [a, b, c] = t.map(|i| side[i as usize]);
                    for (from, to) in [(a, b), (b, c), (c, a)] {
                        if from != to && from != NO_SAMPLE && to != NO_SAMPLE {
                            pairs.extend([(from, to), (to, from)]);
                        }
                    }
                }
            }
        }
        Self::new(&pairs, vertices.list.len())
    }

    /// Makes adjacent points of the lattices on large triangles neighbours.
    pub(crate) fn on_lattices(coarse: &CoarseSamples<'_>) -> Self {
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for (lattice, samples) in coarse.lattices() {
            for point in lattice.points() {
                let from = samples[lattice.index(point)];
                pairs.extend(lattice.neighbours(point).map(|p| (from, samples[lattice.index(p)])));
            }
        }
        Self::new(&pairs, coarse.samples.len())
    }

    /// Sorts the pairs into lists, in which each neighbour occurs once.
    fn new(pairs: &[(u32, u32)], len: usize) -> Self {
        let mut ends = vec![0; len];
        for (from, _) in pairs {
            ends[*from as usize] += 1;
        }
        let mut sum = 0;
        for end in &mut ends {
            (*end, sum) = (sum, sum + *end);
        }
        // `ends[i]` begins as the start of point i's list in `all`, and grows with each neighbour that is stored.
        let mut all = vec![0; pairs.len()];
        for (from, to) in pairs {
            let end = &mut ends[*from as usize];
            all[*end as usize] = *to;
            *end += 1;
        }
        let (mut starts, mut list) = (Vec::with_capacity(len + 1), Vec::with_capacity(pairs.len() / 2));
        let mut start = 0;
        for end in ends {
            starts.push(list.len() as u32);
            let neighbours = &mut all[start..end as usize];
            neighbours.sort_unstable();
            list.extend(
                neighbours.iter().enumerate().filter(|(k, to)| *k == 0 || neighbours[k - 1] != **to).map(|(_, to)| to),
            );
            start = end as usize;
        }
        starts.push(list.len() as u32);
        Self { starts, list }
    }

    pub(crate) fn of(&self, i: usize) -> &[u32] {
        &self.list[self.range(i)]
    }

    /// Returns the indices of the neighbours of a point in the list of all neighbours of all points.
    pub(crate) fn range(&self, i: usize) -> Range<usize> {
        self.starts[i] as usize..self.starts[i + 1] as usize
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Removes noise at lattice points by fitting a linear function to the light around each point (Cleveland 1979,
    /// "Robust Locally Weighted Regression"). If other surfaces are farther away, the fit includes more distant points.
    /// Gradients are preserved, even at the borders of a surface.
    pub(crate) fn fit(&self, light: &mut [LightValue], gathered: &[GatherResult], samples: &SamplePoints<'_>) {
        let fitted: Vec<Option<LightValue>> = (0..self.len())
            .into_par_iter()
            .map(|i| {
                (!self.of(i).is_empty()).then(|| {
                    let nearby = self.within_steps(i, MAX_FIT_STEPS);
                    let weights = |radius: f32| fit_weights(i, &nearby, gathered, samples, radius);
                    let (direct, indirect) = (weights(DIRECT_FIT_RADIUS), weights(INDIRECT_FIT_RADIUS));
                    let mut out = light[i] * 0.0;
                    for ((n, direct), indirect) in nearby.iter().zip(direct).zip(indirect) {
                        let other = &light[*n];
                        out.direct += other.direct * direct;
                        out.visibility += other.visibility * direct;
                        out.indirect += other.indirect * indirect;
                        out.blocked += other.blocked * indirect;
                    }
                    out.non_negative()
                })
            })
            .collect();
        for (light, fitted) in light.iter_mut().zip(fitted) {
            *light = fitted.unwrap_or(*light);
        }
    }

    /// Returns a sample point, and all points that can be reached from it in at most `max_steps` steps.
    fn within_steps(&self, center: usize, max_steps: usize) -> Vec<usize> {
        let mut found = vec![center];
        let mut is_found = FxHashSet::from_iter([center]);
        let mut first = 0;
        for _ in 0..max_steps {
            let end = found.len();
            for k in first..end {
                for n in self.of(found[k]).iter().map(|n| *n as usize) {
                    if is_found.insert(n) {
                        found.push(n);
                    }
                }
            }
            first = end;
        }
        found
    }
}

/// Fits a linear function to the values at the points `nearby`. The fitted value at `center` is a weighted sum of the
/// values at `nearby`. Returns the weights of this sum.
fn fit_weights(
    center: usize,
    nearby: &[usize],
    gathered: &[GatherResult],
    samples: &SamplePoints<'_>,
    radius: f32,
) -> Vec<f32> {
    let sample = &samples.list[center];
    let (x, y) = sample.normal.any_orthonormal_pair();
    let points: Vec<(f32, Vec3)> = nearby
        .iter()
        .map(|n| {
            let other = &samples.list[*n];
            let offset = other.position - sample.position;
            let distance = offset.length()
                * gathered[center].mean_inverse_distance.max(gathered[*n].mean_inverse_distance)
                / radius;
            let facing = sample.normal.dot(other.normal).max(0.0).powi(8);
            let weight =
                if gathered[*n].is_inside_body() && *n != center { 0.0 } else { facing * (-distance * distance).exp() };
            (weight, Vec3::new(1.0, offset.dot(x), offset.dot(y)))
        })
        .collect();
    let mut matrix = Mat3::ZERO;
    for (weight, p) in &points {
        matrix += Mat3::from_cols(*p * p.x, *p * p.y, *p * p.z) * *weight;
    }
    // Ridge regression makes the slope zero in a direction in which the points have no extent.
    let squared_extent = points.iter().map(|(w, p)| w * (p.y * p.y + p.z * p.z)).sum::<f32>();
    matrix.y_axis.y += 0.01 * squared_extent + 1e-12;
    matrix.z_axis.z += 0.01 * squared_extent + 1e-12;
    let row = matrix.inverse().x_axis;
    if !row.is_finite() {
        return points.iter().enumerate().map(|(k, _)| if k == 0 { 1.0 } else { 0.0 }).collect();
    }
    points.iter().map(|(weight, p)| weight * row.dot(*p)).collect()
}
