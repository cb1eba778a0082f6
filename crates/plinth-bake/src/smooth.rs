//! Takes the noise out: an average over neighbours on the surface that face the same way.

use glam::{Vec3, Vec4};
use rayon::prelude::*;

use crate::types::{BakeMesh, BakedVertex};
use crate::weld::{NONE, Welded};

/// Passes over all receivers.
const PASSES: usize = 2;

/// Smooths what was gathered.
pub(crate) fn smooth(meshes: &[BakeMesh], welded: &Welded, baked: &mut Vec<BakedVertex>) {
    let neighbours = neighbours(meshes, welded);
    for _ in 0..PASSES {
        *baked = (0..baked.len())
            .into_par_iter()
            .map(|i| {
                let normal = welded.receivers[i].normal;
                let mut weight_sum = 1.0;
                let mut sum = Sum::of(&baked[i], 1.0);
                for n in neighbours.of(i) {
                    let facing = normal.dot(welded.receivers[*n as usize].normal).max(0.0);
                    // A step in light is not noise: values far apart mix less.
                    let step = (baked[*n as usize].direct - baked[i].direct).abs().max_element();
                    let weight = facing.powi(8) * (-step * step * 12.0).exp() * 0.6;
                    sum.add(&baked[*n as usize], weight);
                    weight_sum += weight;
                }
                sum.over(weight_sum)
            })
            .collect();
    }
}

struct Sum {
    direct: Vec3,
    indirect: Vec3,
    visibility: Vec4,
}

impl Sum {
    fn of(v: &BakedVertex, weight: f32) -> Self {
        Self { direct: v.direct * weight, indirect: v.indirect * weight, visibility: Vec4::from(v.visibility) * weight }
    }

    fn add(&mut self, v: &BakedVertex, weight: f32) {
        self.direct += v.direct * weight;
        self.indirect += v.indirect * weight;
        self.visibility += Vec4::from(v.visibility) * weight;
    }

    fn over(&self, weight: f32) -> BakedVertex {
        BakedVertex {
            direct: self.direct / weight,
            indirect: self.indirect / weight,
            visibility: (self.visibility / weight).to_array(),
        }
    }
}

/// Receivers joined by an edge, as ranges of one list.
struct Neighbours {
    starts: Vec<u32>,
    list: Vec<u32>,
}

impl Neighbours {
    fn of(&self, i: usize) -> &[u32] {
        &self.list[self.starts[i] as usize..self.starts[i + 1] as usize]
    }
}

fn neighbours(meshes: &[BakeMesh], welded: &Welded) -> Neighbours {
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
    Neighbours { starts, list: pairs.into_iter().map(|(_, to)| to).collect() }
}
