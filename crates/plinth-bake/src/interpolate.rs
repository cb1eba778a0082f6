//! Interpolates the light of a mesh between two poses of the mesh.

use rayon::prelude::*;

use crate::lattice::Lattice;
use crate::types::{BakedMesh, GatheredLight, LightGrid};

impl GatheredLight {
    /// Returns the weighted sum of light values. The weights must add up to 1.
    fn weighted_sum(terms: impl IntoIterator<Item = (Self, f32)>) -> Self {
        let mut sum = [0.0; size_of::<Self>() / size_of::<f32>()];
        for (light, weight) in terms {
            let components: [f32; size_of::<Self>() / size_of::<f32>()] = bytemuck::cast(light);
            sum.iter_mut().zip(components).for_each(|(sum, component)| *sum += component * weight);
        }
        bytemuck::cast(sum)
    }
}

/// The light of a mesh in two poses, stored at the same points for both.
#[derive(Clone, Debug, Default)]
pub struct LightInterpolator {
    from: BakedMesh,
    to: BakedMesh,
}

impl LightInterpolator {
    /// Resamples the light of both poses to the same lattices. If a triangle has a lattice in only one pose, the
    /// triangle gets a lattice of the same level in the other pose. If the triangle has lattices in both poses, both
    /// lattices get the finer level. `indices` are the vertex indices of the mesh, three per triangle.
    pub fn new(from: &BakedMesh, to: &BakedMesh, indices: &[u32]) -> Self {
        let mut levels: Vec<(u32, u32)> =
            from.grids.iter().chain(&to.grids).map(|grid| (grid.triangle, grid.lattice.level)).collect();
        levels.sort_unstable();
        // Only the finest level of each triangle is kept. `dedup_by_key` keeps the first entry, so the list is
        // reversed.
        levels.reverse();
        levels.dedup_by_key(|(triangle, _)| *triangle);
        levels.reverse();
        let resampled = |mesh: &BakedMesh| BakedMesh {
            front: mesh.front.clone(),
            back: mesh.back.clone(),
            grids: levels
                .par_iter()
                .filter_map(|(triangle, level)| resampled_grid(mesh, indices, *triangle, *level))
                .collect(),
        };
        Self { from: resampled(from), to: resampled(to) }
    }

    /// Returns the light of both poses on the same lattices.
    pub const fn ends(&self) -> [&BakedMesh; 2] {
        [&self.from, &self.to]
    }

    /// Interpolates linearly between the poses: 0 gives the first pose and 1 the second.
    pub fn at(&self, fraction: f32) -> BakedMesh {
        let mix = |from: &[GatheredLight], to: &[GatheredLight]| -> Vec<GatheredLight> {
            let pairs = from.par_iter().zip(to).with_min_len(1024);
            pairs.map(|(from, to)| GatheredLight::weighted_sum([(*from, 1.0 - fraction), (*to, fraction)])).collect()
        };
        let grid = |(from, to): (&LightGrid, &LightGrid)| LightGrid {
            front: mix(&from.front, &to.front),
            back: mix(&from.back, &to.back),
            ..*from
        };
        BakedMesh {
            front: mix(&self.from.front, &self.to.front),
            back: mix(&self.from.back, &self.to.back),
            grids: self.from.grids.iter().zip(&self.to.grids).map(grid).collect(),
        }
    }
}

/// Resamples the light of a triangle to a lattice that is at least as fine as its stored lattice. Returns `None` if the
/// mesh does not have the triangle.
fn resampled_grid(mesh: &BakedMesh, indices: &[u32], triangle: u32, level: u32) -> Option<LightGrid> {
    let lattice = Lattice { level };
    let stored = mesh.grids.binary_search_by_key(&triangle, |grid| grid.triangle).ok().map(|at| &mesh.grids[at]);
    let corners = indices.get(3 * triangle as usize..)?.first_chunk::<3>()?;
    let side = |at_vertices: &[GatheredLight], on_lattice: Option<&Vec<GatheredLight>>| -> Vec<GatheredLight> {
        if at_vertices.is_empty() {
            return Vec::new();
        }
        let value = |weights: [f32; 3]| match (stored, on_lattice) {
            (Some(stored), Some(values)) => {
                let around = stored.lattice.interpolation_weights(weights[1], weights[2]);
                GatheredLight::weighted_sum(around.map(|(point, weight)| (values[stored.lattice.index(point)], weight)))
            }
            _ => GatheredLight::weighted_sum((0..3).map(|k| (at_vertices[corners[k] as usize], weights[k]))),
        };
        lattice.points().map(|point| value(lattice.weights(point))).collect()
    };
    let own_values =
        |values: fn(&LightGrid) -> &Vec<GatheredLight>| stored.map(values).filter(|values| !values.is_empty());
    Some(LightGrid {
        triangle,
        lattice,
        front: side(&mesh.front, own_values(|grid| &grid.front)),
        back: side(&mesh.back, own_values(|grid| &grid.back)),
    })
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;

    fn light(x: f32) -> GatheredLight {
        GatheredLight { direct: Vec3::splat(x), indirect: Vec3::ZERO, visibility: [x; 4], blocked: [0.0; 4] }
    }

    /// Light as a function of the barycentric weights of a point.
    type LightOverTriangle<'a> = &'a dyn Fn([f32; 3]) -> f32;

    /// Builds two triangles with four vertices. `value` is the light at each vertex. `grids` lists the lattices: the
    /// index of the triangle, the level, and the light as a function.
    fn mesh(value: [f32; 4], grids: &[(u32, u32, LightOverTriangle<'_>)]) -> BakedMesh {
        let grid = |&(triangle, level, at): &(u32, u32, LightOverTriangle<'_>)| {
            let lattice = Lattice { level };
            let front = lattice.points().map(|p| light(at(lattice.weights(p)))).collect();
            LightGrid { triangle, lattice, front, back: Vec::new() }
        };
        BakedMesh { front: value.map(light).to_vec(), back: Vec::new(), grids: grids.iter().map(grid).collect() }
    }

    const INDICES: [u32; 6] = [0, 1, 2, 2, 1, 3];

    #[test]
    fn both_poses_get_the_finer_lattice_and_keep_their_light() {
        let linear = |w: [f32; 3]| w[0] + 2.0 * w[1] + 4.0 * w[2];
        let quadratic = |w: [f32; 3]| w[1] * w[1];
        let from = mesh([1.0, 2.0, 4.0, 8.0], &[(0, 1, &linear)]);
        let to = mesh([0.0; 4], &[(0, 2, &quadratic), (1, 1, &quadratic)]);
        let between = LightInterpolator::new(&from, &to, &INDICES);
        let shape = |mesh: &BakedMesh| -> Vec<(u32, u32, usize)> {
            mesh.grids.iter().map(|g| (g.triangle, g.lattice.level, g.front.len())).collect()
        };
        let (start, end) = (between.at(0.0), between.at(1.0));
        assert_eq!((shape(&start), shape(&end)), (vec![(0, 2, 15), (1, 1, 6)], vec![(0, 2, 15), (1, 1, 6)]));
        let fine = Lattice { level: 2 };
        for point in fine.points() {
            let w = fine.weights(point);
            assert!((start.grids[0].front[fine.index(point)].direct.x - linear(w)).abs() < 1e-5);
            assert!((end.grids[0].front[fine.index(point)].direct.x - quadratic(w)).abs() < 1e-5);
        }
        // Triangle 1 has the vertices 2, 1 and 3. The point with index 2 in the lattice of triangle 1 is at the
        // triangle's second corner, which is vertex 1.
        assert_eq!(start.grids[1].front[2], light(2.0));
        assert_eq!(end.grids[1], to.grids[1]);
    }

    #[test]
    fn a_mesh_whose_triangles_are_turned_has_the_same_light() {
        let linear = |w: [f32; 3]| w[0] + 2.0 * w[1] + 4.0 * w[2];
        let original = mesh([1.0, 2.0, 4.0, 8.0], &[(1, 2, &linear)]);
        let turned = original.clone().turned();
        assert_eq!(turned.front, original.front);
        let lattice = Lattice { level: 2 };
        for point in lattice.points() {
            let [first, second, third] = lattice.weights(point);
            let found = turned.grids[0].front[lattice.index(point)];
            assert_eq!(found, light(linear([first, third, second])));
        }
        assert_eq!(turned.turned(), original);
    }

    #[test]
    fn light_is_interpolated_linearly() {
        let between = LightInterpolator::new(&mesh([1.0; 4], &[]), &mesh([0.0, 1.0, 2.0, 3.0], &[]), &INDICES);
        let direct: Vec<f32> = between.at(0.25).front.iter().map(|light| light.direct.x).collect();
        assert_eq!(direct, [0.75, 1.0, 1.25, 1.5]);
    }
}
