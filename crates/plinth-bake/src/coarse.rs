//! The sample points for which the radiosity equations are solved: the vertices, and evenly spaced lattice points on
//! large triangles.

use crate::lattice::{Lattice, LatticePoint};
use crate::samples::{MAX_LEVEL, SamplePoints, TriangleSide};
use crate::types::BakeOptions;

/// Maximum level of the lattices before refinement.
const MAX_INITIAL_LEVEL: u32 = 6;
/// Fraction of the lattice points that is omitted if the vertices use the whole ray budget.
const DROPPED_FRACTION: f32 = 0.6;
/// Value that is stored instead of an index for triangles without a lattice.
const NO_LATTICE: u32 = u32::MAX;
/// Factor by which the spacing is multiplied repeatedly while there are too many lattice points.
const SPACING_GROWTH: f32 = 1.25;

/// The sample points of all vertices, and of lattices on large triangles.
pub(crate) struct CoarseSamples<'a> {
    pub(crate) samples: SamplePoints<'a>,
    /// Number of sample points at vertices. In the list of sample points, the vertices precede the lattice points.
    pub(crate) vertex_count: usize,
    lattices: Vec<(Lattice, Vec<u32>)>,
    /// For each mesh and each of its two sides: the index into `lattices` for each triangle, or `NO_LATTICE`. The list
    /// of a side without lattices is empty.
    lattice_of: Vec<[Vec<u32>; 2]>,
    /// The sides of triangles that have a lattice, sorted.
    pub(crate) sides: Vec<TriangleSide>,
}

impl<'a> CoarseSamples<'a> {
    /// Creates the lattices. `vertex_ray_share` is the fraction of the ray budget that the vertices use. The larger
    /// this fraction is, the fewer lattice points are created.
    pub(crate) fn new(mut samples: SamplePoints<'a>, options: &BakeOptions, vertex_ray_share: f32) -> Self {
        let vertex_count = samples.len();
        let min_spacing = options.spacing * (1.0 + vertex_ray_share * vertex_ray_share);
        let max_points = (options.max_lattice_points as f32 * (1.0 - DROPPED_FRACTION * vertex_ray_share)) as usize;
        let large = large_triangles(&samples, min_spacing);
        let spacing = spacing(&samples, &large, min_spacing, max_points);
        let mut lattices = Vec::new();
        let mut lattice_of: Vec<[Vec<u32>; 2]> = samples.meshes.iter().map(|_mesh| Default::default()).collect();
        let mut sides = Vec::new();
        for (mesh, triangle, longest) in large {
            let lattice = Lattice { level: level(longest, spacing) };
            if lattice.level == 0 {
                continue;
            }
            for back in samples.sides(mesh as usize) {
                let side = TriangleSide { mesh, triangle, back };
                let corners = samples.corners(side);
                let sample_at = |p| samples.find_or_add(side, corners, to_finest(p, lattice.level));
                lattices.push((lattice, lattice.points().map(sample_at).collect()));
                sides.push(side);
                let of_triangles = &mut lattice_of[mesh as usize][usize::from(back)];
                of_triangles.resize(samples.meshes[mesh as usize].indices.len() / 3, NO_LATTICE);
                of_triangles[triangle as usize] = lattices.len() as u32 - 1;
            }
        }
        Self { samples, vertex_count, lattices, lattice_of, sides }
    }

    /// Returns each lattice, together with the indices of its sample points.
    pub(crate) fn lattices(&self) -> impl Iterator<Item = (Lattice, &[u32])> {
        self.lattices.iter().map(|(lattice, samples)| (*lattice, samples.as_slice()))
    }

    /// Returns the lattice of a triangle side. For small triangles, this is a lattice of level 0, which consists of the
    /// corners.
    pub(crate) fn lattice(&self, side: TriangleSide) -> Lattice {
        self.lattice_at(side).map_or(Lattice { level: 0 }, |(lattice, _)| *lattice)
    }

    /// Returns the lattice of a triangle side with the indices of its sample points. Returns `None` if the triangle has
    /// no lattice.
    fn lattice_at(&self, side: TriangleSide) -> Option<&(Lattice, Vec<u32>)> {
        let of_triangles = &self.lattice_of[side.mesh as usize][usize::from(side.back)];
        of_triangles.get(side.triangle as usize).and_then(|index| self.lattices.get(*index as usize))
    }

    /// Returns the sub-triangles between the lattice points of a triangle side. Each corner is the index of a sample
    /// point, with the point's barycentric weights in the whole triangle.
    pub(crate) fn sub_triangles(&self, side: TriangleSide) -> Vec<[(u32, [f32; 3]); 3]> {
        let Some((lattice, samples)) = self.lattice_at(side) else {
            let [a, b, c] = self.samples.corners(side);
            return vec![[(a, [1.0, 0.0, 0.0]), (b, [0.0, 1.0, 0.0]), (c, [0.0, 0.0, 1.0])]];
        };
        lattice.triangles().map(|corners| corners.map(|p| (samples[lattice.index(p)], lattice.weights(p)))).collect()
    }

    /// Returns the three sample points around the barycentric position (u, v), with the weights for interpolating
    /// between them.
    pub(crate) fn interpolation_weights(&self, side: TriangleSide, u: f32, v: f32) -> [(u32, f32); 3] {
        if let Some((lattice, samples)) = self.lattice_at(side) {
            lattice.interpolation_weights(u, v).map(|(p, weight)| (samples[lattice.index(p)], weight))
        } else {
            let [a, b, c] = self.samples.corners(side);
            [(a, 1.0 - u - v), (b, u), (c, v)]
        }
    }
}

/// Converts the coordinates of a point in a lattice of the given level to coordinates in the finest lattice.
pub(crate) const fn to_finest((i, j): LatticePoint, level: u32) -> LatticePoint {
    (i << (MAX_LEVEL - level), j << (MAX_LEVEL - level))
}

/// Returns how many times an edge of length `longest` must be halved to be about as long as `spacing`.
pub(crate) fn level(longest: f32, spacing: f32) -> u32 {
    (longest / spacing).max(1.0).log2().round().min(MAX_INITIAL_LEVEL as f32) as u32
}

/// Returns each triangle with an edge longer than `spacing`, as mesh index, triangle index and length of the longest
/// edge.
fn large_triangles(samples: &SamplePoints<'_>, spacing: f32) -> Vec<(u32, u32, f32)> {
    let mut out = Vec::new();
    for (m, mesh) in samples.meshes.iter().enumerate() {
        if samples.sides(m).next().is_none() {
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

/// Returns `min_spacing`, or a larger spacing if there would otherwise be more than `max_points` lattice points.
fn spacing(samples: &SamplePoints<'_>, large: &[(u32, u32, f32)], min_spacing: f32, max_points: usize) -> f32 {
    let mut spacing = min_spacing;
    let count = |spacing: f32| -> usize {
        let points = |(mesh, _, longest): &(u32, u32, f32)| match level(*longest, spacing) {
            0 => 0,
            level => Lattice { level }.point_count() * samples.sides(*mesh as usize).count(),
        };
        large.iter().map(points).sum()
    };
    while count(spacing) > max_points && spacing < 4.0 {
        spacing *= SPACING_GROWTH;
    }
    spacing
}
