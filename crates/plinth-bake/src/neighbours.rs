//! Who is next to whom on the surface; noise and wrong values are mended by averages over neighbours.

use std::ops::Add;

use glam::{Mat3, Vec3};
use rayon::prelude::*;

use crate::coarse::Coarse;
use crate::gather::Gathered;
use crate::light::Light;
use crate::places::{NONE, Places};

/// Smoothing passes over all places.
const SMOOTHING_PASSES: usize = 2;
/// Passes that carry light into places without a value of their own.
const FILLING_PASSES: usize = 4;
/// Distance over which light is taken to change, in world units.
const REACH: f32 = 0.08;

/// Steps from a place on a lattice to the farthest of which its light is fitted.
const FITTED_RINGS: usize = 3;
/// Distance over which light from other surfaces is taken to be even, in units of their (harmonic mean) distance
/// (Ward, Rubinstein and Clear 1988, "A Ray Tracing Solution for Diffuse Interreflection", eq. 4).
const EVEN: f32 = 0.3;
/// The same for the light of the environment: shadows of small lamps are narrower.
const EVEN_DIRECT: f32 = 0.1;

/// Places that are next to each other, as ranges of one list.
pub(crate) struct Neighbours {
    starts: Vec<u32>,
    list: Vec<u32>,
}

impl Neighbours {
    /// Vertices that are joined by an edge; their places are the first ones.
    pub(crate) fn of_vertices(places: &Places<'_>, vertices: usize) -> Self {
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for (mesh, of_vertex) in places.meshes.iter().zip(&places.of_vertex) {
            for side in [&of_vertex.front, &of_vertex.back].into_iter().filter(|side| !side.is_empty()) {
                for t in mesh.indices.as_chunks::<3>().0 {
                    let [a, b, c] = t.map(|i| side[i as usize]);
                    for (from, to) in [(a, b), (b, c), (c, a)] {
                        if from != to && from != NONE && to != NONE {
                            pairs.extend([(from, to), (to, from)]);
                        }
                    }
                }
            }
        }
        Self::new(pairs, vertices)
    }

    /// Points that are next to each other on the lattices of large triangles.
    pub(crate) fn on_lattices(coarse: &Coarse<'_>) -> Self {
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for (lattice, places) in coarse.grids() {
            for point in lattice.points() {
                let from = places[lattice.index(point)];
                pairs.extend(lattice.neighbours(point).map(|p| (from, places[lattice.index(p)])));
            }
        }
        Self::new(pairs, coarse.places.len())
    }

    fn new(mut pairs: Vec<(u32, u32)>, places: usize) -> Self {
        pairs.par_sort_unstable();
        pairs.dedup();
        let mut starts = vec![0; places + 1];
        for (from, _) in &pairs {
            starts[*from as usize + 1] += 1;
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        Self { starts, list: pairs.into_iter().map(|(_, to)| to).collect() }
    }

    fn of(&self, i: usize) -> &[u32] {
        &self.list[self.starts[i] as usize..self.starts[i + 1] as usize]
    }

    fn places(&self) -> usize {
        self.starts.len() - 1
    }

    /// Gives places that are not trusted the mean of their trusted neighbours; what is far from any keeps its own.
    pub(crate) fn fill(&self, light: &mut [Light], trusted: &[bool]) {
        let mut trusted = trusted.to_vec();
        for _ in 0..FILLING_PASSES {
            let found: Vec<(usize, Light)> = (0..self.places())
                .filter(|i| !trusted[*i])
                .filter_map(|i| {
                    let good = self.of(i).iter().map(|n| *n as usize).filter(|n| trusted[*n]);
                    let sum = good.clone().map(|n| light[n]).reduce(Add::add)?;
                    Some((i, sum * (1.0 / good.count() as f32)))
                })
                .collect();
            if found.is_empty() {
                break;
            }
            for (i, value) in found {
                light[i] = value;
                trusted[i] = true;
            }
        }
    }

    /// Takes the noise out: an average over neighbours that are near, face the same way and are lit alike.
    pub(crate) fn smooth(&self, light: &mut [Light], places: &Places<'_>) {
        for _ in 0..SMOOTHING_PASSES {
            let smooth: Vec<Light> = (0..self.places())
                .into_par_iter()
                .map(|i| {
                    let own = &places.list[i];
                    let mut weights = 1.0;
                    let mut sum = light[i];
                    for n in self.of(i).iter().map(|n| *n as usize) {
                        let other = &places.list[n];
                        let facing = own.normal.dot(other.normal).max(0.0);
                        // A step in light is not noise: values far apart mix less.
                        let step = (light[n].direct - light[i].direct).abs().max_element();
                        let distance = own.position.distance(other.position) / REACH;
                        let weight = facing.powi(8) * (-step * step * 12.0 - distance * distance).exp() * 0.6;
                        sum = sum + light[n] * weight;
                        weights += weight;
                    }
                    sum * (1.0 / weights)
                })
                .collect();
            light[..smooth.len()].copy_from_slice(&smooth);
        }
    }

    /// Takes the noise out of places on lattices: light is fitted by a plane over each place's surroundings (Cleveland
    /// 1979, "Robust Locally Weighted Regression"), the wider the farther other surfaces are. Gradients stay, at the
    /// borders of a surface too.
    pub(crate) fn fit(&self, light: &mut [Light], gathered: &[Gathered], places: &Places<'_>) {
        let fitted: Vec<Option<Light>> = (0..self.places())
            .into_par_iter()
            .map(|i| {
                let around = self.around(i, FITTED_RINGS);
                (around.len() > 1).then(|| {
                    let shares = |even: f32| fit_shares(i, &around, gathered, places, even);
                    let (direct, indirect) = (shares(EVEN_DIRECT), shares(EVEN));
                    let mut out = light[i] * 0.0;
                    for ((n, direct), indirect) in around.iter().zip(direct).zip(indirect) {
                        let near = &light[*n];
                        out.direct += near.direct * direct;
                        out.visibility += near.visibility * direct;
                        out.indirect += near.indirect * indirect;
                        out.blocked += near.blocked * indirect;
                    }
                    out.at_least_none()
                })
            })
            .collect();
        for (light, fitted) in light.iter_mut().zip(fitted) {
            *light = fitted.unwrap_or(*light);
        }
    }

    /// A place and those up to so many steps from it.
    fn around(&self, place: usize, rings: usize) -> Vec<usize> {
        let mut found = vec![place];
        let mut first = 0;
        for _ in 0..rings {
            let end = found.len();
            for k in first..end {
                for n in self.of(found[k]).iter().map(|n| *n as usize) {
                    if !found.contains(&n) {
                        found.push(n);
                    }
                }
            }
            first = end;
        }
        found
    }
}

/// The share of each of `around` in the value at the first of them of a plane that is fitted to all.
fn fit_shares(own: usize, around: &[usize], gathered: &[Gathered], places: &Places<'_>, even: f32) -> Vec<f32> {
    let place = &places.list[own];
    let (x, y) = place.normal.any_orthonormal_pair();
    let points: Vec<(f32, Vec3)> = around
        .iter()
        .map(|n| {
            let other = &places.list[*n];
            let way = other.position - place.position;
            let distance = way.length() * gathered[own].nearness.max(gathered[*n].nearness) / even;
            let facing = place.normal.dot(other.normal).max(0.0).powi(8);
            let weight =
                if gathered[*n].is_inside() && *n != own { 0.0 } else { facing * (-distance * distance).exp() };
            (weight, Vec3::new(1.0, way.dot(x), way.dot(y)))
        })
        .collect();
    let mut matrix = Mat3::ZERO;
    for (weight, p) in &points {
        matrix += Mat3::from_cols(*p * p.x, *p * p.y, *p * p.z) * *weight;
    }
    // Where all lie on one line, or there is one alone, there is no slope across.
    let size = points.iter().map(|(w, p)| w * (p.y * p.y + p.z * p.z)).sum::<f32>();
    matrix.y_axis.y += 0.01 * size + 1e-12;
    matrix.z_axis.z += 0.01 * size + 1e-12;
    let row = matrix.inverse().x_axis;
    if !row.is_finite() {
        return points.iter().enumerate().map(|(k, _)| if k == 0 { 1.0 } else { 0.0 }).collect();
    }
    points.iter().map(|(weight, p)| weight * row.dot(*p)).collect()
}
