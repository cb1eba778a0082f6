//! The light of a mesh between two of its poses.

use rayon::prelude::*;

use crate::lattice::Lattice;
use crate::types::{BakedMesh, GatheredLight, LightGrid};

impl GatheredLight {
    /// The sum of some lights, each times its share. The shares add up to 1.
    fn mixed(parts: impl IntoIterator<Item = (Self, f32)>) -> Self {
        let mut sum = [0.0; size_of::<Self>() / size_of::<f32>()];
        for (light, share) in parts {
            let numbers: [f32; size_of::<Self>() / size_of::<f32>()] = bytemuck::cast(light);
            sum.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number * share);
        }
        bytemuck::cast(sum)
    }
}

/// The light of one mesh in two poses, at the same places.
#[derive(Clone, Debug, Default)]
pub struct LightBetween {
    from: BakedMesh,
    to: BakedMesh,
}

impl LightBetween {
    /// A triangle that has a lattice in one of the poses has it in both, the finer where each has one. `indices` are those
    /// of the mesh, three a triangle.
    pub fn new(from: &BakedMesh, to: &BakedMesh, indices: &[u32]) -> Self {
        let mut levels: Vec<(u32, u32)> =
            from.grids.iter().chain(&to.grids).map(|grid| (grid.triangle, grid.lattice.level)).collect();
        levels.sort_unstable();
        // The last of a triangle is its finest.
        levels.reverse();
        levels.dedup_by_key(|(triangle, _)| *triangle);
        levels.reverse();
        let resampled = |mesh: &BakedMesh| BakedMesh {
            front: mesh.front.clone(),
            back: mesh.back.clone(),
            grids: levels
                .par_iter()
                .filter_map(|(triangle, level)| grid_of(mesh, indices, *triangle, *level))
                .collect(),
        };
        Self { from: resampled(from), to: resampled(to) }
    }

    /// The light at a share of the way from the first pose to the second.
    pub fn at(&self, share: f32) -> BakedMesh {
        let mix = |from: &[GatheredLight], to: &[GatheredLight]| -> Vec<GatheredLight> {
            let pairs = from.par_iter().zip(to).with_min_len(1024);
            pairs.map(|(from, to)| GatheredLight::mixed([(*from, 1.0 - share), (*to, share)])).collect()
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

/// The light of a triangle on a lattice that is not coarser than its own. None: the mesh has no such triangle.
fn grid_of(mesh: &BakedMesh, indices: &[u32], triangle: u32, level: u32) -> Option<LightGrid> {
    let lattice = Lattice { level };
    let own = mesh.grids.binary_search_by_key(&triangle, |grid| grid.triangle).ok().map(|at| &mesh.grids[at]);
    let corners = indices.get(3 * triangle as usize..)?.first_chunk::<3>()?;
    let side = |at_vertices: &[GatheredLight], on_lattice: Option<&Vec<GatheredLight>>| -> Vec<GatheredLight> {
        if at_vertices.is_empty() {
            return Vec::new();
        }
        let value = |weights: [f32; 3]| match (own, on_lattice) {
            (Some(own), Some(values)) => {
                let around = own.lattice.around(weights[1], weights[2]);
                GatheredLight::mixed(around.map(|(point, share)| (values[own.lattice.index(point)], share)))
            }
            _ => GatheredLight::mixed((0..3).map(|k| (at_vertices[corners[k] as usize], weights[k]))),
        };
        lattice.points().map(|point| value(lattice.weights(point))).collect()
    };
    let of_own = |values: fn(&LightGrid) -> &Vec<GatheredLight>| own.map(values).filter(|values| !values.is_empty());
    Some(LightGrid {
        triangle,
        lattice,
        front: side(&mesh.front, of_own(|grid| &grid.front)),
        back: side(&mesh.back, of_own(|grid| &grid.back)),
    })
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;

    fn light(x: f32) -> GatheredLight {
        GatheredLight { direct: Vec3::splat(x), indirect: Vec3::ZERO, visibility: [x; 4], blocked: [0.0; 4] }
    }

    /// Light by barycentric weights.
    type OverTriangle<'a> = &'a dyn Fn([f32; 3]) -> f32;

    /// Two triangles over four vertices; the light at the vertices is `value`, and some triangles have lattices.
    fn mesh(value: [f32; 4], grids: &[(u32, u32, OverTriangle<'_>)]) -> BakedMesh {
        let grid = |&(triangle, level, at): &(u32, u32, OverTriangle<'_>)| {
            let lattice = Lattice { level };
            let front = lattice.points().map(|p| light(at(lattice.weights(p)))).collect();
            LightGrid { triangle, lattice, front, back: Vec::new() }
        };
        BakedMesh { front: value.map(light).to_vec(), back: Vec::new(), grids: grids.iter().map(grid).collect() }
    }

    const INDICES: [u32; 6] = [0, 1, 2, 2, 1, 3];

    #[test]
    fn both_poses_get_the_finer_lattice_and_say_what_they_said() {
        let linear = |w: [f32; 3]| w[0] + 2.0 * w[1] + 4.0 * w[2];
        let bent = |w: [f32; 3]| w[1] * w[1];
        let from = mesh([1.0, 2.0, 4.0, 8.0], &[(0, 1, &linear)]);
        let to = mesh([0.0; 4], &[(0, 2, &bent), (1, 1, &bent)]);
        let between = LightBetween::new(&from, &to, &INDICES);
        let shape = |mesh: &BakedMesh| -> Vec<(u32, u32, usize)> {
            mesh.grids.iter().map(|g| (g.triangle, g.lattice.level, g.front.len())).collect()
        };
        let (start, end) = (between.at(0.0), between.at(1.0));
        assert_eq!((shape(&start), shape(&end)), (vec![(0, 2, 15), (1, 1, 6)], vec![(0, 2, 15), (1, 1, 6)]));
        let fine = Lattice { level: 2 };
        for point in fine.points() {
            let w = fine.weights(point);
            assert!((start.grids[0].front[fine.index(point)].direct.x - linear(w)).abs() < 1e-5);
            assert!((end.grids[0].front[fine.index(point)].direct.x - bent(w)).abs() < 1e-5);
        }
        // Its corners are the vertices 2, 1 and 3, and the third point is the second corner.
        assert_eq!(start.grids[1].front[2], light(2.0));
        assert_eq!(end.grids[1], to.grids[1]);
    }

    #[test]
    fn halfway_is_the_mean() {
        let between = LightBetween::new(&mesh([1.0; 4], &[]), &mesh([0.0, 1.0, 2.0, 3.0], &[]), &INDICES);
        let seen: Vec<f32> = between.at(0.25).front.iter().map(|light| light.direct.x).collect();
        assert_eq!(seen, [0.75, 1.0, 1.25, 1.5]);
    }
}
