//! Averages the light of neighbouring vertices. Averaging removes noise, and replaces the light of points inside other
//! bodies.

use std::ops::Add;

use rayon::prelude::*;

use crate::gather::GatherResult;
use crate::light::LightValue;
use crate::neighbours::Neighbours;
use crate::samples::VertexPoints;
use crate::types::BakeMesh;

/// Minimum number of smoothing passes.
const MIN_PASSES: usize = 2;
/// Maximum number of smoothing passes.
const MAX_PASSES: usize = 16;
/// Desired product of smoothing passes and rays per vertex. On a regular mesh, a value is the mean of about 5 n vertices after n
/// passes, so it is the mean of about 1000 rays.
const RAY_PASSES: usize = 200;
/// Maximum product of smoothing passes and vertices, which limits the time, unless it allows fewer than [`MIN_PASSES`].
const VERTEX_PASSES: usize = 8_000_000;
/// Vertices with fewer rays than this are smoothed across larger differences, because the variance of their light is inversely
/// proportional to the number of rays.
const FEW_RAYS: usize = 36;
/// Distance over which light is smoothed by more than [`MIN_PASSES`] passes, as a fraction of the harmonic mean of the distances
/// to the occluders. Light varies faster where occluders are near (Ward, Rubinstein and Clear 1988, "A Ray Tracing Solution for
/// Diffuse Interreflection", eq. 4).
const SMOOTHING_RADIUS: f32 = 0.15;
/// Number of passes that replace unreliable values. Each pass replaces the values of points that have a reliable
/// neighbour, and makes these points reliable.
const FILLING_PASSES: usize = 4;
/// Angle between normals over which light is smoothed by more than [`MIN_PASSES`] passes, in radians. Smoothing over a larger
/// angle would change the light of curved surfaces.
const SMOOTHING_ANGLE: f32 = 0.8;
/// Length scale of the kernel of one smoothing pass, in world units.
const SMOOTHING_LENGTH: f32 = 0.08;

/// The neighbours of each vertex, and the part of their weights that does not depend on light.
pub(crate) struct VertexSmoothing {
    neighbours: Neighbours,
    /// One entry for each neighbour of each vertex, in the order of `neighbours`.
    pairs: Vec<Pair>,
}

/// A vertex and one of its neighbours.
#[derive(Clone, Copy)]
struct Pair {
    /// Eighth power of the cosine of the angle between both normals, or 0 if the cosine is negative.
    facing: f32,
    /// Square of the distance between both vertices, in units of [`SMOOTHING_LENGTH`].
    distance2: f32,
}

impl VertexSmoothing {
    pub(crate) fn new(meshes: &[BakeMesh], vertices: &VertexPoints) -> Self {
        let neighbours = Neighbours::of_vertices(meshes, vertices);
        let pair = |i: usize, n: u32| {
            let (point, other) = (&vertices.list[i], &vertices.list[n as usize]);
            let distance = point.position.distance(other.position) / SMOOTHING_LENGTH;
            Pair { facing: point.normal.dot(other.normal).max(0.0).powi(8), distance2: distance * distance }
        };
        let of_vertex = |i: usize| neighbours.of(i).iter().map(move |n| pair(i, *n));
        let pairs = (0..neighbours.len()).into_par_iter().flat_map_iter(of_vertex).collect();
        Self { neighbours, pairs }
    }

    /// Replaces each unreliable value by the mean of the reliable neighbours. A point that is more than
    /// `FILLING_PASSES` steps away from every reliable point keeps its value.
    pub(crate) fn fill(&self, light: &mut [LightValue], reliable: &[bool]) {
        let mut reliable = reliable.to_vec();
        for _ in 0..FILLING_PASSES {
            let found: Vec<(usize, LightValue)> = (0..self.neighbours.len())
                .filter(|i| !reliable[*i])
                .filter_map(|i| {
                    let reliable_neighbours =
                        self.neighbours.of(i).iter().map(|n| *n as usize).filter(|n| reliable[*n]);
                    let sum = reliable_neighbours.clone().map(|n| light[n]).reduce(Add::add)?;
                    Some((i, sum * (1.0 / reliable_neighbours.count() as f32)))
                })
                .collect();
            if found.is_empty() {
                break;
            }
            for (i, value) in found {
                light[i] = value;
                reliable[i] = true;
            }
        }
    }

    /// Removes noise by averaging over neighbours that are near, face the same way and have similar light. `light` and
    /// `gathered` begin with those of the vertices.
    pub(crate) fn smooth(&self, light: &mut [LightValue], gathered: &[GatherResult], rays_per_vertex: usize) {
        let noise = (FEW_RAYS as f32 / rays_per_vertex as f32).max(1.0);
        let count = self.neighbours.len();
        let passes = (RAY_PASSES / rays_per_vertex).min(VERTEX_PASSES / count.max(1)).clamp(MIN_PASSES, MAX_PASSES);
        let passes_of: Vec<usize> =
            (0..count).into_par_iter().map(|i| self.passes_within_radius(i, &gathered[i]).min(passes)).collect();
        let light = &mut light[..count];
        let mut other = light.to_vec();
        let (mut from, mut to) = (&mut *light, other.as_mut_slice());
        for pass in 0..passes {
            // Each pass reduces the noise, so smaller differences are edges. Among the exponents 0.5, 1 and 1.5, the last
            // gave the smallest errors on dense meshes.
            let noise = noise / ((pass + 1) as f32).powf(1.5);
            to.par_iter_mut().zip(&passes_of).enumerate().for_each(|(i, (value, passes))| {
                *value = if pass < *passes { self.mean_around(i, from, noise) } else { from[i] };
            });
            std::mem::swap(&mut from, &mut to);
        }
        if !passes.is_multiple_of(2) {
            light.copy_from_slice(&other);
        }
    }

    /// Returns the number of passes after which a vertex is smoothed over [`SMOOTHING_RADIUS`] or [`SMOOTHING_ANGLE`], but at least
    /// [`MIN_PASSES`]. Mean square distances and angles grow in proportion to the number of passes.
    fn passes_within_radius(&self, i: usize, gathered: &GatherResult) -> usize {
        let pairs = &self.pairs[self.neighbours.range(i)];
        let mean = |of: &dyn Fn(&Pair) -> f32| pairs.iter().map(of).sum::<f32>() / pairs.len().max(1) as f32;
        let radius = SMOOTHING_RADIUS / (SMOOTHING_LENGTH * gathered.mean_inverse_distance);
        // For small angles, the eighth power of the cosine is 1 − 4 angle².
        let angle2 = mean(&|pair| (1.0 - pair.facing) * 0.25);
        let passes = (radius * radius / mean(&|pair| pair.distance2)).min(SMOOTHING_ANGLE * SMOOTHING_ANGLE / angle2);
        (passes as usize).max(MIN_PASSES)
    }

    /// Returns the weighted mean of the light of a vertex and its neighbours.
    fn mean_around(&self, i: usize, light: &[LightValue], noise: f32) -> LightValue {
        let mut weights = 1.0;
        let mut sum = light[i];
        for (n, pair) in self.neighbours.of(i).iter().zip(&self.pairs[self.neighbours.range(i)]) {
            let other = light[*n as usize];
            // A large difference in light is probably an edge rather than noise, so the neighbour gets a small weight.
            let step = (other.direct - light[i].direct).abs().max_element();
            let weight = pair.facing * (-step * step * 12.0 / noise - pair.distance2).exp() * 0.6;
            sum = sum + other * weight;
            weights += weight;
        }
        sum * (1.0 / weights)
    }
}
