//! The places for which light between surfaces is solved: vertices, and lattices of an even density over what is large.

use rustc_hash::FxHashMap;

use crate::lattice::{Lattice, Point};
use crate::places::{FINEST, Face, Places};
use crate::types::BakeOptions;

/// Coarsest lattices are not finer than this.
const MAX_LEVEL: u32 = 6;
/// Share of the places that is left out where vertices take all rays that they may.
const LEFT_OUT: f32 = 0.6;
/// Growth of the distance between places where there would be too many.
const WIDER: f32 = 1.25;

/// Lattices over large triangles, with the places of their points.
pub(crate) struct Coarse<'a> {
    pub(crate) places: Places<'a>,
    /// Places of the vertices; the others are points of lattices.
    pub(crate) vertices: usize,
    grids: FxHashMap<Face, (Lattice, Vec<u32>)>,
    /// The faces that have a lattice, in order.
    pub(crate) faces: Vec<Face>,
}

impl<'a> Coarse<'a> {
    /// `spent` is the share of their rays that vertices take: the more it is, the fewer places there are.
    pub(crate) fn new(mut places: Places<'a>, options: &BakeOptions, spent: f32) -> Self {
        let vertices = places.len();
        let closest = options.spacing * (1.0 + spent * spent);
        let most = (options.max_places as f32 * (1.0 - LEFT_OUT * spent)) as usize;
        let large = large_triangles(&places, closest);
        let spacing = spacing(&large, closest, most);
        let mut grids = FxHashMap::default();
        let mut faces = Vec::new();
        for (mesh, triangle, longest) in large {
            let lattice = Lattice { level: level(longest, spacing) };
            if lattice.level == 0 {
                continue;
            }
            for back in places.sides(mesh as usize) {
                let face = Face { mesh, triangle, back };
                let corners = places.corners(face);
                let of_point = |p| places.find_or_add(face, corners, finest(p, lattice.level));
                grids.insert(face, (lattice, lattice.points().map(of_point).collect()));
                faces.push(face);
            }
        }
        Self { places, vertices, grids, faces }
    }

    /// All lattices with the places of their points.
    pub(crate) fn grids(&self) -> impl Iterator<Item = (Lattice, &[u32])> {
        self.faces.iter().filter_map(|face| self.grids.get(face)).map(|(lattice, places)| (*lattice, places.as_slice()))
    }

    /// The lattice of a face; its corners alone where it is small.
    pub(crate) fn lattice(&self, face: Face) -> Lattice {
        self.grids.get(&face).map_or(Lattice { level: 0 }, |(lattice, _)| *lattice)
    }

    /// The triangles that a face is made of, as places with the weights of the face's corners.
    pub(crate) fn parts(&self, face: Face) -> Vec<[(u32, [f32; 3]); 3]> {
        let Some((lattice, places)) = self.grids.get(&face) else {
            let [a, b, c] = self.places.corners(face);
            return vec![[(a, [1.0, 0.0, 0.0]), (b, [0.0, 1.0, 0.0]), (c, [0.0, 0.0, 1.0])]];
        };
        lattice.triangles().map(|part| part.map(|p| (places[lattice.index(p)], lattice.weights(p)))).collect()
    }

    /// The places around a spot, with their shares.
    pub(crate) fn around(&self, face: Face, u: f32, v: f32) -> [(u32, f32); 3] {
        if let Some((lattice, places)) = self.grids.get(&face) {
            lattice.around(u, v).map(|(p, share)| (places[lattice.index(p)], share))
        } else {
            let [a, b, c] = self.places.corners(face);
            [(a, 1.0 - u - v), (b, u), (c, v)]
        }
    }
}

/// A point of a lattice in coordinates of the finest one.
pub(crate) const fn finest((i, j): Point, level: u32) -> Point {
    (i << (FINEST - level), j << (FINEST - level))
}

/// Times that an edge is halved until its parts are about as long as this.
pub(crate) fn level(longest: f32, spacing: f32) -> u32 {
    (longest / spacing).max(1.0).log2().round().min(MAX_LEVEL as f32) as u32
}

/// Triangles with an edge that is longer than this: mesh, number and longest edge.
fn large_triangles(places: &Places<'_>, spacing: f32) -> Vec<(u32, u32, f32)> {
    let mut out = Vec::new();
    for (m, mesh) in places.meshes.iter().enumerate() {
        if places.sides(m).next().is_none() {
            continue;
        }
        for t in 0..mesh.indices.len() / 3 {
            let [a, b, c] = mesh.triangle(t);
            let longest = a.distance(b).max(b.distance(c)).max(c.distance(a));
            if longest > spacing {
                out.push((m as u32, t as u32, longest));
            }
        }
    }
    out
}

/// The distance of places at which there are not too many of them.
fn spacing(large: &[(u32, u32, f32)], closest: f32, most: usize) -> f32 {
    let mut spacing = closest;
    let count = |spacing: f32| -> usize {
        large.iter().map(|(_, _, longest)| Lattice { level: level(*longest, spacing) }.points_in_all()).sum()
    };
    while count(spacing) > most && spacing < 4.0 {
        spacing *= WIDER;
    }
    spacing
}
