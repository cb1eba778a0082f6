//! Where light is gathered: at vertices, and at points of lattices over large triangles.
//!
//! Vertices at the same position with the same normal are one place, and so are points on the edge between two such
//! vertices: light goes on evenly over seams and over triangles of different density. Each side of a surface has places
//! of its own.

use glam::Vec3;
use rustc_hash::FxHashMap;

use crate::lattice::{Lattice, Point};
use crate::types::BakeMesh;

/// Level of the finest lattice. Points of all lattices are named by their coordinates in it.
pub(crate) const FINEST: u32 = Lattice::FINEST;
/// No place.
pub(crate) const NONE: u32 = u32::MAX;
/// Share of the way to the middle of the triangles by which rays from vertices start inside of them.
const INSET: f32 = 0.1;
/// Longest such way, in world units.
const LONGEST_INSET: f32 = 0.005;

/// A place where light is gathered, on one side of a surface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) position: Vec3,
    /// On the side that is lit.
    pub(crate) normal: Vec3,
    /// From the position a little into the triangles around it: at the foot of a wall, light is that of the floor
    /// before the wall, not that of the place inside of it.
    pub(crate) inset: Vec3,
}

/// A side of a triangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Face {
    pub(crate) mesh: u32,
    pub(crate) triangle: u32,
    pub(crate) back: bool,
}

/// What points of lattices are known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    /// On the edge between two places, so many parts of the finest lattice from the first, which has the lower number.
    Edge(u32, u32, u32),
    /// Inside of a triangle.
    Inside(Face, Point),
}

/// The place of each vertex of a mesh, on both sides; empty where nothing is gathered.
#[derive(Clone, Default)]
pub(crate) struct VertexPlaces {
    pub(crate) front: Vec<u32>,
    pub(crate) back: Vec<u32>,
}

/// All places where light is gathered, and the meshes that they lie on.
#[derive(Clone)]
pub(crate) struct Places<'a> {
    pub(crate) meshes: &'a [BakeMesh],
    pub(crate) list: Vec<Place>,
    pub(crate) of_vertex: Vec<VertexPlaces>,
    known: FxHashMap<Key, u32>,
}

impl<'a> Places<'a> {
    /// Places of the vertices of all meshes that receive.
    pub(crate) fn of_vertices(meshes: &'a [BakeMesh]) -> Self {
        let mut list = Vec::new();
        let mut known: FxHashMap<([u32; 3], [i16; 3]), u32> = FxHashMap::default();
        let mut place = |position: Vec3, normal: Vec3| {
            *known.entry((position_bits(position), normal_steps(normal))).or_insert_with(|| {
                list.push(Place { position, normal, inset: Vec3::ZERO });
                (list.len() - 1) as u32
            })
        };
        let of_vertex = meshes
            .iter()
            .map(|mesh| {
                if !mesh.receives || mesh.is_floor() {
                    return VertexPlaces::default();
                }
                // Light is gathered only where a triangle is.
                let mut used = vec![false; mesh.positions.len()];
                for i in &mesh.indices {
                    used[*i as usize] = true;
                }
                let mut side = |sign: f32| {
                    let vertices = mesh.positions.iter().zip(&mesh.normals).zip(&used);
                    vertices.map(|((p, n), used)| if *used { place(*p, *n * sign) } else { NONE }).collect()
                };
                let front = side(1.0);
                VertexPlaces { front, back: if mesh.double_sided { side(-1.0) } else { Vec::new() } }
            })
            .collect();
        let mut places = Self { meshes, list, of_vertex, known: FxHashMap::default() };
        places.inset_vertices();
        places
    }

    fn inset_vertices(&mut self) {
        let mut inward = vec![(Vec3::ZERO, 0.0); self.list.len()];
        for (mesh, of_vertex) in self.meshes.iter().zip(&self.of_vertex) {
            for side in [&of_vertex.front, &of_vertex.back].into_iter().filter(|side| !side.is_empty()) {
                for t in 0..mesh.indices.len() / 3 {
                    let middle = mesh.triangle(t).iter().sum::<Vec3>() / 3.0;
                    for i in mesh.corners(t) {
                        let (sum, count) = &mut inward[side[i] as usize];
                        *sum += middle - mesh.positions[i];
                        *count += 1.0;
                    }
                }
            }
        }
        for (place, (sum, count)) in self.list.iter_mut().zip(inward) {
            let way = sum / f32::max(count, 1.0) * INSET;
            place.inset = way.reject_from_normalized(place.normal).clamp_length_max(LONGEST_INSET);
        }
    }

    /// Number of places.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// The sides of a mesh that receive light.
    pub(crate) fn sides(&self, mesh: usize) -> impl Iterator<Item = bool> + use<> {
        let of_vertex = &self.of_vertex[mesh];
        let (front, back) = (!of_vertex.front.is_empty(), !of_vertex.back.is_empty());
        [false, true].into_iter().filter(move |is_back| if *is_back { back } else { front })
    }

    /// Places of a triangle's corners.
    pub(crate) fn corners(&self, face: Face) -> [u32; 3] {
        let of_vertex = &self.of_vertex[face.mesh as usize];
        let side = if face.back { &of_vertex.back } else { &of_vertex.front };
        self.meshes[face.mesh as usize].corners(face.triangle as usize).map(|i| side[i])
    }

    /// The place of a point of the finest lattice, if it is known.
    pub(crate) fn find(&self, face: Face, corners: [u32; 3], point: Point) -> Option<u32> {
        match locate(face, corners, point) {
            Location::Corner(k) => Some(corners[k]),
            Location::Other(key) => self.known.get(&key).copied(),
        }
    }

    /// The place of a point of the finest lattice, which is added where it is not known.
    pub(crate) fn find_or_add(&mut self, face: Face, corners: [u32; 3], point: Point) -> u32 {
        match locate(face, corners, point) {
            Location::Corner(k) => corners[k],
            Location::Other(key) => {
                if let Some(known) = self.known.get(&key) {
                    return *known;
                }
                let place = self.place_at(face, point);
                self.list.push(place);
                let number = (self.list.len() - 1) as u32;
                self.known.insert(key, number);
                number
            }
        }
    }

    /// Calls `visit` with each known point inside of a face, in no order.
    pub(crate) fn each_inside(&self, mut visit: impl FnMut(Face, Point)) {
        self.known.keys().for_each(|key| {
            if let Key::Inside(face, point) = key {
                visit(*face, *point);
            }
        });
    }

    /// Calls `visit` with each known point on an edge: its ends and its parts from the first, in no order.
    pub(crate) fn each_on_edge(&self, mut visit: impl FnMut(u32, u32, u32)) {
        self.known.keys().for_each(|key| {
            if let Key::Edge(from, to, parts) = key {
                visit(*from, *to, *parts);
            }
        });
    }

    fn place_at(&self, face: Face, point: Point) -> Place {
        let mesh = &self.meshes[face.mesh as usize];
        let at = mesh.corners(face.triangle as usize);
        let weights = Lattice { level: FINEST }.weights(point);
        let mix = |values: &[Vec3]| (0..3).map(|k| values[at[k]] * weights[k]).sum::<Vec3>();
        let normal = mix(&mesh.normals).normalize_or(Vec3::Y) * if face.back { -1.0 } else { 1.0 };
        let [a, b, c] = mesh.triangle(face.triangle as usize);
        // From an edge into the triangle, at right angles to it.
        let inset = weights.iter().position(|w| *w == 0.0).map_or(Vec3::ZERO, |k| {
            let (from, to, opposite) = [(b, c, a), (c, a, b), (a, b, c)][k];
            // In the triangle's plane: at right angles to the normal it would lead below the surface in a hollow.
            let way = (opposite - from).reject_from(to - from) * INSET;
            if way.is_finite() { way.clamp_length_max(LONGEST_INSET) } else { Vec3::ZERO }
        });
        Place { position: mix(&mesh.positions), normal, inset }
    }
}

enum Location {
    Corner(usize),
    Other(Key),
}

fn locate(face: Face, corners: [u32; 3], (i, j): Point) -> Location {
    let whole = Lattice { level: FINEST }.parts();
    let k = whole - i - j;
    let edge = |from: u32, to: u32, parts: u32| {
        Location::Other(if from <= to { Key::Edge(from, to, parts) } else { Key::Edge(to, from, whole - parts) })
    };
    match (k, i, j) {
        (_, 0, 0) => Location::Corner(0),
        (0, _, 0) => Location::Corner(1),
        (0, 0, _) => Location::Corner(2),
        (_, _, 0) => edge(corners[0], corners[1], i),
        (0, _, _) => edge(corners[1], corners[2], j),
        (_, 0, _) => edge(corners[0], corners[2], j),
        _ => Location::Other(Key::Inside(face, (i, j))),
    }
}

fn position_bits(position: Vec3) -> [u32; 3] {
    // Adding zero turns −0 to +0.
    (position + Vec3::ZERO).to_array().map(f32::to_bits)
}

fn normal_steps(normal: Vec3) -> [i16; 3] {
    normal.to_array().map(|c| (c * 500.0).round() as i16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_on_an_edge_in_a_hollow_lies_on_its_triangle() {
        // A valley along z whose normals are smooth: they point straight up at its bottom.
        let mesh = BakeMesh {
            positions: vec![Vec3::ZERO, Vec3::Z, Vec3::new(1.0, 0.5, 0.0), Vec3::new(-1.0, 0.5, 0.0)],
            normals: vec![Vec3::Y; 4],
            indices: vec![0, 1, 2, 1, 0, 3],
            occludes: true,
            receives: true,
            ..BakeMesh::default()
        };
        let meshes = [mesh];
        let mut places = Places::of_vertices(&meshes);
        for triangle in [0, 1] {
            let face = Face { mesh: 0, triangle, back: false };
            let corners = places.corners(face);
            let place = places.find_or_add(face, corners, (128, 0)) as usize;
            let at = places.list[place].position + places.list[place].inset;
            assert!(at.x.abs() > 1e-3 && (at.y - 0.5 * at.x.abs()).abs() < 1e-6, "{at}");
        }
    }

    fn square() -> BakeMesh {
        BakeMesh {
            positions: vec![Vec3::ZERO, Vec3::X, Vec3::X + Vec3::Y, Vec3::Y],
            normals: vec![Vec3::Z; 4],
            indices: vec![0, 1, 2, 2, 3, 0],
            double_sided: true,
            occludes: true,
            receives: true,
            ..BakeMesh::default()
        }
    }

    #[test]
    fn triangles_share_the_places_on_their_edge_and_sides_share_none() {
        let meshes = [square()];
        let mut places = Places::of_vertices(&meshes);
        assert_eq!(places.len(), 8);
        let face = |triangle, back| Face { mesh: 0, triangle, back };
        let mut at = |face, point| {
            let corners = places.corners(face);
            places.find_or_add(face, corners, point)
        };
        // The diagonal runs from corner 2 to 0 of the first triangle and from 0 to 2 of the second.
        assert_eq!(at(face(0, false), (0, 64)), at(face(1, false), (0, 192)));
        assert_ne!(at(face(0, false), (0, 64)), at(face(0, true), (0, 64)));
        assert_ne!(at(face(0, false), (64, 64)), at(face(1, false), (64, 64)));
        let above = at(face(0, false), (64, 64));
        let below = at(face(0, true), (64, 64));
        assert_eq!(places.list[above as usize].normal, -places.list[below as usize].normal);
        assert_eq!(places.list[above as usize].position, places.list[below as usize].position);
    }

    #[test]
    fn a_place_on_an_edge_starts_inside_of_its_triangle() {
        let meshes = [square()];
        let mut places = Places::of_vertices(&meshes);
        let face = Face { mesh: 0, triangle: 0, back: false };
        let corners = places.corners(face);
        let place = places.find_or_add(face, corners, (128, 0)) as usize;
        let inset = places.list[place].inset;
        assert!(inset.y > 0.001 && inset.x.abs() < 1e-6 && inset.z.abs() < 1e-6, "{inset}");
    }
}
