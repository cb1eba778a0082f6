//! Averages the light of neighbouring vertices. Averaging removes noise, and replaces the light of points inside other
//! bodies.

use std::ops::Add;

use rayon::prelude::*;

use crate::light::LightValue;
use crate::neighbours::Neighbours;
use crate::samples::VertexPoints;
use crate::types::BakeMesh;

/// Number of smoothing passes over vertices with [`FEW_RAYS`] rays or more.
const SMOOTHING_PASSES: usize = 2;
/// Vertices with fewer rays than this are smoothed more, because the variance of their light is inversely proportional
/// to the number of rays.
const FEW_RAYS: usize = 12;
/// Maximum number of smoothing passes. More passes take longer, and the picture hardly changes.
const MAX_SMOOTHING_PASSES: usize = 3;
/// Number of passes that replace unreliable values. Each pass replaces the values of points that have a reliable
/// neighbour, and makes these points reliable.
const FILLING_PASSES: usize = 4;
/// Length scale of the smoothing kernel for vertices, in world units.
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

    /// Removes noise by averaging over neighbours that are near, face the same way and have similar light. `light`
    /// begins with the light of the vertices.
    pub(crate) fn smooth(&self, light: &mut [LightValue], rays_per_vertex: usize) {
        let noise = (FEW_RAYS as f32 / rays_per_vertex as f32).max(1.0);
        let passes = ((SMOOTHING_PASSES as f32 * noise).round() as usize).min(MAX_SMOOTHING_PASSES);
        let light = &mut light[..self.neighbours.len()];
        let mut other = light.to_vec();
        let (mut from, mut to) = (&mut *light, other.as_mut_slice());
        for _ in 0..passes {
            to.par_iter_mut().enumerate().for_each(|(i, value)| *value = self.mean_around(i, from, noise));
            std::mem::swap(&mut from, &mut to);
        }
        if !passes.is_multiple_of(2) {
            light.copy_from_slice(&other);
        }
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
