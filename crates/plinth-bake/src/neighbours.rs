//! Who is next to whom on the surface; noise and wrong values are mended by averages over neighbours.

use std::ops::{Add, Mul};

use glam::{Vec3, Vec4};
use rayon::prelude::*;

use crate::types::BakeMesh;
use crate::weld::{NONE, Welded};

/// Smoothing passes over all receivers.
const SMOOTHING_PASSES: usize = 2;
/// Passes that carry light into places without a value of their own.
const FILLING_PASSES: usize = 4;
/// Distance over which light is taken to change, in world units.
const REACH: f32 = 0.08;

/// Light at one receiver.
#[derive(Clone, Copy)]
pub(crate) struct Light {
    pub(crate) direct: Vec3,
    pub(crate) indirect: Vec3,
    pub(crate) visibility: Vec4,
    pub(crate) blocked: Vec4,
}

impl Add for Light {
    type Output = Self;

    fn add(self, o: Self) -> Self {
        Self {
            direct: self.direct + o.direct,
            indirect: self.indirect + o.indirect,
            visibility: self.visibility + o.visibility,
            blocked: self.blocked + o.blocked,
        }
    }
}

impl Mul<f32> for Light {
    type Output = Self;

    fn mul(self, by: f32) -> Self {
        Self {
            direct: self.direct * by,
            indirect: self.indirect * by,
            visibility: self.visibility * by,
            blocked: self.blocked * by,
        }
    }
}

/// Receivers joined by an edge, as ranges of one list.
pub(crate) struct Neighbours {
    starts: Vec<u32>,
    list: Vec<u32>,
}

impl Neighbours {
    pub(crate) fn new(meshes: &[BakeMesh], welded: &Welded) -> Self {
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for (mesh, of_vertex) in meshes.iter().zip(&welded.of_vertex).filter(|(mesh, _)| mesh.receives) {
            for t in mesh.indices.as_chunks::<3>().0 {
                let [a, b, c] = t.map(|i| of_vertex[i as usize]);
                for (from, to) in [(a, b), (b, c), (c, a)] {
                    if from != to && from != NONE && to != NONE {
                        pairs.extend([(from, to), (to, from)]);
                    }
                }
            }
        }
        pairs.par_sort_unstable();
        pairs.dedup();
        let mut starts = vec![0; welded.receivers.len() + 1];
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

    /// Gives places that are not trusted the mean of their trusted neighbours; what is far from any keeps its own.
    pub(crate) fn filled(&self, mut light: Vec<Light>, trusted: &[bool]) -> Vec<Light> {
        let mut trusted = trusted.to_vec();
        for _ in 0..FILLING_PASSES {
            let found: Vec<(usize, Light)> = (0..light.len())
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
        light
    }

    /// Takes the noise out: an average over neighbours that are near, face the same way and are lit alike.
    pub(crate) fn smoothed(&self, mut light: Vec<Light>, welded: &Welded) -> Vec<Light> {
        for _ in 0..SMOOTHING_PASSES {
            light = (0..light.len())
                .into_par_iter()
                .map(|i| {
                    let own = &welded.receivers[i];
                    let mut weights = 1.0;
                    let mut sum = light[i];
                    for n in self.of(i).iter().map(|n| *n as usize) {
                        let other = &welded.receivers[n];
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
        }
        light
    }
}
