//! The points at which light is computed: vertices, and lattice points on large triangles.
//!
//! Vertices with the same position and normal share a sample point. With [`BakeOptions::shared_cell`], so do close vertices
//! of small triangles. Lattice points of neighbouring triangles that coincide on the common edge share a sample point, too.
//! Therefore light is continuous across seams, and between triangles of different density. The two sides of a surface have
//! separate sample points.
//!
//! [`BakeOptions::shared_cell`]: crate::BakeOptions::shared_cell

use glam::Vec3;
use rustc_hash::FxHashMap;

use crate::lattice::{Lattice, LatticePoint};
use crate::refine::MAX_UNREFINED_EDGE;
use crate::types::BakeMesh;

/// Level of the finest lattice. Points of coarser lattices are also identified by their coordinates in the finest
/// lattice.
pub(crate) const MAX_LEVEL: u32 = Lattice::MAX_LEVEL;
/// Value that is stored instead of an index for vertices without a sample point.
pub(crate) const NO_SAMPLE: u32 = u32::MAX;
/// Ray origins at vertices are moved towards the centres of the adjacent triangles by this fraction of the distance.
const INSET: f32 = 0.1;
/// Maximum distance by which a ray origin is moved, in world units.
const MAX_INSET: f32 = 0.005;

/// A point on one side of a surface at which light is computed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SamplePoint {
    pub(crate) position: Vec3,
    /// Unit normal on the lit side.
    pub(crate) normal: Vec3,
    /// Small offset of the ray origin into the adjacent triangles. Without this offset, a floor vertex at the foot of a
    /// wall would be sampled inside the wall.
    pub(crate) inset: Vec3,
}

/// The front or back side of a triangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TriangleSide {
    pub(crate) mesh: u32,
    pub(crate) triangle: u32,
    pub(crate) back: bool,
}

/// The key by which a lattice point is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum PointKey {
    /// A point on an edge. The first two numbers are the sample indices of the edge's ends, the lower index first. The
    /// third number is the distance from the first end, in steps of the finest lattice.
    Edge(u32, u32, u32),
    /// A point inside a triangle.
    Inside(TriangleSide, LatticePoint),
}

/// For each vertex of a mesh, the index of its sample point, separately for the two sides. The list of a side is empty
/// if the light on this side is not computed.
#[derive(Clone, Default)]
pub(crate) struct VertexSamples {
    pub(crate) front: Vec<u32>,
    pub(crate) back: Vec<u32>,
}

/// The sample points at the vertices of all meshes. They do not depend on light.
pub(crate) struct VertexPoints {
    pub(crate) list: Vec<SamplePoint>,
    pub(crate) of_mesh: Vec<VertexSamples>,
}

/// The key by which the sample point of a vertex is found.
#[derive(PartialEq, Eq, Hash)]
enum VertexKey {
    /// The bits of the position, and the normal in steps of 1/500.
    Exact([u32; 3], [i16; 3]),
    /// The mesh, the cube of a grid that contains the position, and the normal in steps of 1/2.
    Cell(u32, [i32; 3], [i16; 3]),
}

impl VertexPoints {
    /// Creates the sample points at the vertices of every mesh that receives light. If `cell` is positive, vertices of one
    /// mesh share a sample point if they are in the same cube of a grid, have similar normals, and belong only to triangles
    /// that are not refined. `cell` is the side of the cubes in world units.
    pub(crate) fn new(meshes: &[BakeMesh], cell: f32) -> Self {
        let mut list = Vec::new();
        let mut index_by_vertex: FxHashMap<VertexKey, u32> = FxHashMap::default();
        let mut index_of = |position: Vec3, normal: Vec3, key: VertexKey| {
            *index_by_vertex.entry(key).or_insert_with(|| {
                list.push(SamplePoint { position, normal, inset: Vec3::ZERO });
                (list.len() - 1) as u32
            })
        };
        let of_mesh = meshes
            .iter()
            .zip(0..)
            .map(|(mesh, number)| {
                if !mesh.receives_light || mesh.is_shadow_catcher {
                    return VertexSamples::default();
                }
                // Light is not computed for vertices that no triangle uses.
                let mut used = vec![false; mesh.positions.len()];
                for i in &mesh.indices {
                    used[*i as usize] = true;
                }
                let is_dense = if cell > 0.0 { vertices_of_small_triangles(mesh) } else { vec![false; used.len()] };
                let mut side = |sign: f32| {
                    let mut sample_of_vertex = |i: usize| {
                        let (position, normal) = (mesh.positions[i], mesh.normals[i] * sign);
                        let key = if is_dense[i] {
                            VertexKey::Cell(number, cube(position, cell), quantized_normal(normal, 2.0))
                        } else {
                            VertexKey::Exact(position_bits(position), quantized_normal(normal, 500.0))
                        };
                        index_of(position, normal, key)
                    };
                    let vertices = used.iter().enumerate();
                    vertices.map(|(i, used)| if *used { sample_of_vertex(i) } else { NO_SAMPLE }).collect()
                };
                let front = side(1.0);
                VertexSamples { front, back: if mesh.double_sided { side(-1.0) } else { Vec::new() } }
            })
            .collect();
        let mut points = Self { list, of_mesh };
        points.move_origins_inwards(meshes);
        points
    }

    fn move_origins_inwards(&mut self, meshes: &[BakeMesh]) {
        let mut inward = vec![(Vec3::ZERO, 0.0); self.list.len()];
        for (mesh, vertex_samples) in meshes.iter().zip(&self.of_mesh) {
            for side in [&vertex_samples.front, &vertex_samples.back].into_iter().filter(|side| !side.is_empty()) {
                for t in 0..mesh.indices.len() / 3 {
                    let center = mesh.triangle(t).iter().sum::<Vec3>() / 3.0;
                    for i in mesh.corners(t) {
                        let (sum, count) = &mut inward[side[i] as usize];
                        *sum += center - mesh.positions[i];
                        *count += 1.0;
                    }
                }
            }
        }
        for (sample, (sum, count)) in self.list.iter_mut().zip(inward) {
            let offset = sum / f32::max(count, 1.0) * INSET;
            sample.inset = offset.reject_from_normalized(sample.normal).clamp_length_max(MAX_INSET);
        }
    }
}

/// All sample points, and the meshes to which they belong.
#[derive(Clone)]
pub(crate) struct SamplePoints<'a> {
    pub(crate) meshes: &'a [BakeMesh],
    pub(crate) list: Vec<SamplePoint>,
    pub(crate) vertex_samples: Vec<VertexSamples>,
    index_by_key: FxHashMap<PointKey, u32>,
}

impl<'a> SamplePoints<'a> {
    /// Starts with the sample points at the vertices of `meshes`. `vertices` may have been created from meshes without the
    /// shadow catchers at the end of `meshes`, whose vertices are not sample points.
    pub(crate) fn new(meshes: &'a [BakeMesh], vertices: &VertexPoints) -> Self {
        let mut vertex_samples = vertices.of_mesh.clone();
        vertex_samples.resize_with(meshes.len(), VertexSamples::default);
        Self { meshes, list: vertices.list.clone(), vertex_samples, index_by_key: FxHashMap::default() }
    }

    /// Returns the number of sample points.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns the sides of a mesh that receive light. `true` is the back side.
    pub(crate) fn sides(&self, mesh: usize) -> impl Iterator<Item = bool> + use<> {
        let vertex_samples = &self.vertex_samples[mesh];
        let (front, back) = (!vertex_samples.front.is_empty(), !vertex_samples.back.is_empty());
        [false, true].into_iter().filter(move |is_back| if *is_back { back } else { front })
    }

    /// Returns the indices of the sample points at the corners of a triangle.
    pub(crate) fn corners(&self, side: TriangleSide) -> [u32; 3] {
        let vertex_samples = &self.vertex_samples[side.mesh as usize];
        let sample_of_vertex = if side.back { &vertex_samples.back } else { &vertex_samples.front };
        self.meshes[side.mesh as usize].corners(side.triangle as usize).map(|i| sample_of_vertex[i])
    }

    /// Returns the index of the sample point at a point of the finest lattice. Returns `None` if there is no sample
    /// point.
    pub(crate) fn find(&self, side: TriangleSide, corners: [u32; 3], point: LatticePoint) -> Option<u32> {
        match locate(side, corners, point) {
            PointLocation::Corner(k) => Some(corners[k]),
            PointLocation::Other(key) => self.index_by_key.get(&key).copied(),
        }
    }

    /// Returns the index of the sample point at a point of the finest lattice. Adds the sample point if there is none.
    pub(crate) fn find_or_add(&mut self, side: TriangleSide, corners: [u32; 3], point: LatticePoint) -> u32 {
        match locate(side, corners, point) {
            PointLocation::Corner(k) => corners[k],
            PointLocation::Other(key) => {
                if let Some(index) = self.index_by_key.get(&key) {
                    return *index;
                }
                let sample = self.sample_point_at(side, point);
                self.list.push(sample);
                let index = (self.list.len() - 1) as u32;
                self.index_by_key.insert(key, index);
                index
            }
        }
    }

    /// Calls `visit` for each sample point inside a triangle. The order is arbitrary.
    pub(crate) fn for_each_inside(&self, mut visit: impl FnMut(TriangleSide, LatticePoint)) {
        self.index_by_key.keys().for_each(|key| {
            if let PointKey::Inside(side, point) = key {
                visit(*side, *point);
            }
        });
    }

    /// Calls `visit` with the three fields of `PointKey::Edge` for each sample point on an edge. The order is
    /// arbitrary.
    pub(crate) fn for_each_on_edge(&self, mut visit: impl FnMut(u32, u32, u32)) {
        self.index_by_key.keys().for_each(|key| {
            if let PointKey::Edge(from, to, steps) = key {
                visit(*from, *to, *steps);
            }
        });
    }

    fn sample_point_at(&self, side: TriangleSide, point: LatticePoint) -> SamplePoint {
        let mesh = &self.meshes[side.mesh as usize];
        let corners = mesh.corners(side.triangle as usize);
        let weights = Lattice { level: MAX_LEVEL }.weights(point);
        let interpolate = |values: &[Vec3]| (0..3).map(|k| values[corners[k]] * weights[k]).sum::<Vec3>();
        let normal = interpolate(&mesh.normals).normalize_or(Vec3::Y) * if side.back { -1.0 } else { 1.0 };
        let [a, b, c] = mesh.triangle(side.triangle as usize);
        // The offset of a point on an edge is perpendicular to the edge and points into the triangle.
        let inset = weights.iter().position(|w| *w == 0.0).map_or(Vec3::ZERO, |k| {
            let (from, to, opposite) = [(b, c, a), (c, a, b), (a, b, c)][k];
            // The offset is in the plane of the triangle. If the offset were perpendicular to a smoothed normal, the
            // ray origin could be below a concave surface.
            let offset = (opposite - from).reject_from(to - from) * INSET;
            if offset.is_finite() { offset.clamp_length_max(MAX_INSET) } else { Vec3::ZERO }
        });
        SamplePoint { position: interpolate(&mesh.positions), normal, inset }
    }
}

enum PointLocation {
    Corner(usize),
    Other(PointKey),
}

fn locate(side: TriangleSide, corners: [u32; 3], (i, j): LatticePoint) -> PointLocation {
    let segments = Lattice { level: MAX_LEVEL }.segments();
    let k = segments - i - j;
    let edge = |from: u32, to: u32, steps: u32| {
        PointLocation::Other(if from <= to {
            PointKey::Edge(from, to, steps)
        } else {
            PointKey::Edge(to, from, segments - steps)
        })
    };
    match (k, i, j) {
        (_, 0, 0) => PointLocation::Corner(0),
        (0, _, 0) => PointLocation::Corner(1),
        (0, 0, _) => PointLocation::Corner(2),
        (_, _, 0) => edge(corners[0], corners[1], i),
        (0, _, _) => edge(corners[1], corners[2], j),
        (_, 0, _) => edge(corners[0], corners[2], j),
        _ => PointLocation::Other(PointKey::Inside(side, (i, j))),
    }
}

fn position_bits(position: Vec3) -> [u32; 3] {
    // Adding zero turns −0 into +0, so that equal positions have the same bits.
    (position + Vec3::ZERO).to_array().map(f32::to_bits)
}

/// Rounds a unit vector to multiples of 1/`steps`.
fn quantized_normal(normal: Vec3, steps: f32) -> [i16; 3] {
    normal.to_array().map(|c| (c * steps).round() as i16)
}

/// Returns the cube of a grid that contains a position. `side` is the side of the cubes.
fn cube(position: Vec3, side: f32) -> [i32; 3] {
    position.to_array().map(|c| (c / side).floor() as i32)
}

/// Returns for each vertex whether all its triangles are too small to be refined.
fn vertices_of_small_triangles(mesh: &BakeMesh) -> Vec<bool> {
    let mut is_dense = vec![true; mesh.positions.len()];
    for t in 0..mesh.indices.len() / 3 {
        let [a, b, c] = mesh.triangle(t);
        if a.distance_squared(b).max(b.distance_squared(c)).max(c.distance_squared(a))
            > MAX_UNREFINED_EDGE * MAX_UNREFINED_EDGE
        {
            for i in mesh.corners(t) {
                is_dense[i] = false;
            }
        }
    }
    is_dense
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ray_origin_at_a_concave_edge_lies_on_its_triangle() {
        // The mesh is a valley along z with smooth normals. At the bottom, the normals point straight up.
        let mesh = BakeMesh {
            positions: vec![Vec3::ZERO, Vec3::Z, Vec3::new(1.0, 0.5, 0.0), Vec3::new(-1.0, 0.5, 0.0)],
            normals: vec![Vec3::Y; 4],
            indices: vec![0, 1, 2, 1, 0, 3],
            occludes: true,
            receives_light: true,
            ..BakeMesh::default()
        };
        let meshes = [mesh];
        let mut samples = SamplePoints::new(&meshes, &VertexPoints::new(&meshes, 0.0));
        for triangle in [0, 1] {
            let side = TriangleSide { mesh: 0, triangle, back: false };
            let corners = samples.corners(side);
            let sample = samples.find_or_add(side, corners, (128, 0)) as usize;
            let origin = samples.list[sample].position + samples.list[sample].inset;
            assert!(origin.x.abs() > 1e-3 && (origin.y - 0.5 * origin.x.abs()).abs() < 1e-6, "{origin}");
        }
    }

    fn square() -> BakeMesh {
        BakeMesh {
            positions: vec![Vec3::ZERO, Vec3::X, Vec3::X + Vec3::Y, Vec3::Y],
            normals: vec![Vec3::Z; 4],
            indices: vec![0, 1, 2, 2, 3, 0],
            double_sided: true,
            occludes: true,
            receives_light: true,
            ..BakeMesh::default()
        }
    }

    #[test]
    fn triangles_share_sample_points_on_their_edge_but_sides_do_not() {
        let meshes = [square()];
        let mut samples = SamplePoints::new(&meshes, &VertexPoints::new(&meshes, 0.0));
        assert_eq!(samples.len(), 8);
        let side = |triangle, back| TriangleSide { mesh: 0, triangle, back };
        let mut index_at = |side, point| {
            let corners = samples.corners(side);
            samples.find_or_add(side, corners, point)
        };
        // In the first triangle, the diagonal runs from corner 2 to corner 0. In the second triangle, the diagonal runs
        // from corner 0 to corner 2.
        assert_eq!(index_at(side(0, false), (0, 64)), index_at(side(1, false), (0, 192)));
        assert_ne!(index_at(side(0, false), (0, 64)), index_at(side(0, true), (0, 64)));
        assert_ne!(index_at(side(0, false), (64, 64)), index_at(side(1, false), (64, 64)));
        let above = index_at(side(0, false), (64, 64));
        let below = index_at(side(0, true), (64, 64));
        assert_eq!(samples.list[above as usize].normal, -samples.list[below as usize].normal);
        assert_eq!(samples.list[above as usize].position, samples.list[below as usize].position);
    }

    /// A square of 20 × 20 small squares with sides of 0.01, and one large triangle beside it.
    fn dense_square() -> BakeMesh {
        let mut positions: Vec<Vec3> =
            (0..21 * 21).map(|i| Vec3::new((i % 21) as f32 + 0.3, (i / 21) as f32 + 0.3, 0.0) * 0.01).collect();
        let mut indices: Vec<u32> = (0..20 * 20)
            .flat_map(|i| {
                let corner = i / 20 * 21 + i % 20;
                [corner, corner + 1, corner + 22, corner, corner + 22, corner + 21]
            })
            .collect();
        positions.extend([Vec3::new(1.0, 0.0, 0.0), Vec3::new(1.001, 0.0, 0.0), Vec3::new(1.0, 1.0, 0.0)]);
        indices.extend([441, 442, 443]);
        let normals = vec![Vec3::Z; positions.len()];
        BakeMesh { positions, normals, indices, occludes: true, receives_light: true, ..square() }
    }

    #[test]
    fn close_vertices_of_small_triangles_share_sample_points_in_cells() {
        let meshes = [dense_square(), dense_square()];
        let exact = VertexPoints::new(&meshes[..1], 0.0);
        assert_eq!(exact.list.len(), 2 * 444);
        let shared = VertexPoints::new(&meshes, 0.025);
        // The squares of both meshes and sides touch 9 × 9 cells. The vertices of the large triangles, which lie between the
        // same points, are shared by both meshes.
        assert_eq!(shared.list.len(), 2 * (2 * 81 + 3));
        for (mesh, of_mesh) in meshes.iter().zip(&shared.of_mesh) {
            for (samples, sign) in [(&of_mesh.front, 1.0), (&of_mesh.back, -1.0)] {
                for (i, sample) in samples.iter().enumerate() {
                    let sample = &shared.list[*sample as usize];
                    let offset = sample.position - mesh.positions[i];
                    assert!(offset.abs().max_element() <= if i < 441 { 0.025 } else { 0.0 }, "{i}: {offset}");
                    assert_eq!(sample.normal, Vec3::Z * sign);
                }
            }
        }
    }

    #[test]
    fn the_ray_origin_at_an_edge_lies_inside_the_triangle() {
        let meshes = [square()];
        let mut samples = SamplePoints::new(&meshes, &VertexPoints::new(&meshes, 0.0));
        let side = TriangleSide { mesh: 0, triangle: 0, back: false };
        let corners = samples.corners(side);
        let sample = samples.find_or_add(side, corners, (128, 0)) as usize;
        let inset = samples.list[sample].inset;
        assert!(inset.y > 0.001 && inset.x.abs() < 1e-6 && inset.z.abs() < 1e-6, "{inset}");
    }
}
