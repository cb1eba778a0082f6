//! Checks that data from the cache matches the model. Even a file with a valid checksum may be wrong, because a
//! compromised job may have written it.

use plinth_bake::{BakedMesh, Lattice, LightGrid};
use plinth_scene::PosedPrimitive;

use super::distance_field::DistanceField;
use super::{EnvironmentLight, ModelLight, PrepareInputs, SurfaceLight};
use crate::ibl::OctahedralMap;
use crate::pass::floor::AMBIENT_SIDE;

/// Maximum side length of maps in texels, and of the distance field in cells.
const MAX_SIDE: u32 = 4096;

impl EnvironmentLight {
    /// Returns whether each map has as many texels as its size requires.
    pub(super) fn is_valid(&self) -> bool {
        let sound = |map: &OctahedralMap| {
            let texels = |mip: usize| ((map.side >> mip).max(1) as usize).pow(2);
            (1..=MAX_SIDE).contains(&map.side)
                && (1..=MAX_SIDE.ilog2() as usize).contains(&map.mips.len())
                && map.mips.iter().enumerate().all(|(mip, list)| list.len() == texels(mip))
        };
        sound(&self.specular) && sound(&self.irradiance)
    }
}

impl ModelLight {
    /// Returns whether all indices refer to existing vertices of this model, and all lists have the right lengths.
    pub(super) fn matches_inputs(&self, inputs: &PrepareInputs<'_>) -> bool {
        let names_vertices = |(indices, posed): (&Vec<u32>, &PosedPrimitive)| {
            indices.iter().all(|i| (*i as usize) < posed.positions.len())
        };
        self.indices.len() == inputs.posed.len()
            && self.indices.iter().zip(inputs.posed).all(names_vertices)
            && self.light.matches_inputs(inputs, &self.indices)
            && is_valid(&self.field)
    }
}

impl SurfaceLight {
    /// Returns whether all lists of the light have the lengths that the triangles in `indices` require.
    pub(super) fn matches_inputs(&self, inputs: &PrepareInputs<'_>, indices: &[Vec<u32>]) -> bool {
        let cells = if inputs.floor.is_some() { (AMBIENT_SIDE * AMBIENT_SIDE) as usize } else { 0 };
        let lists = || self.baked.iter().zip(inputs.posed).zip(indices);
        self.baked.len() == inputs.posed.len()
            && indices.len() == inputs.posed.len()
            && self.floor_ambient.len() == cells
            && lists().all(|((mesh, posed), indices)| mesh_fits(mesh, posed.positions.len(), indices.len() / 3))
    }
}

fn mesh_fits(mesh: &BakedMesh, vertices: usize, triangles: usize) -> bool {
    let all_or_none = |list: usize, all: usize| list == 0 || list == all;
    let grid_fits = |grid: &LightGrid| {
        (grid.triangle as usize) < triangles
            && grid.lattice.level <= Lattice::MAX_LEVEL
            && grid.front.len() == grid.lattice.point_count()
            && all_or_none(grid.back.len(), grid.front.len())
    };
    all_or_none(mesh.front.len(), vertices)
        && all_or_none(mesh.back.len(), vertices)
        && mesh.grids.iter().all(grid_fits)
        && mesh.grids.is_sorted_by(|a, b| a.triangle < b.triangle)
}

fn is_valid(field: &DistanceField) -> bool {
    let [x, y, z] = field.size.to_array();
    let cells = [x, y, z].iter().map(|side| *side as usize).product::<usize>();
    [x, y, z].iter().all(|side| *side <= MAX_SIDE) && field.distances.len() == cells && field.radiance.len() == cells
}

#[cfg(test)]
mod tests {
    use glam::{UVec3, Vec3, Vec4};
    use plinth_bake::GatheredLight;

    use super::*;

    const LEVEL_1: Lattice = Lattice { level: 1 };

    /// Returns the light of two triangles with four vertices.
    fn mesh() -> BakedMesh {
        let some = |count| vec![GatheredLight::default(); count];
        let grid = |triangle| LightGrid { triangle, lattice: LEVEL_1, front: some(6), back: Vec::new() };
        BakedMesh { front: some(4), back: some(4), grids: vec![grid(0), grid(1)] }
    }

    #[test]
    fn light_of_other_triangles_does_not_fit() {
        assert!(mesh_fits(&mesh(), 4, 2) && mesh_fits(&BakedMesh::default(), 4, 2));
        let changes: [fn(&mut BakedMesh); 8] = [
            |mesh| mesh.front.truncate(3),
            |mesh| mesh.back.push(GatheredLight::default()),
            |mesh| mesh.grids[1].triangle = 2,
            |mesh| mesh.grids[1].triangle = 0,
            |mesh| mesh.grids[0].lattice.level = 2,
            |mesh| mesh.grids[0].lattice.level = 31,
            |mesh| mesh.grids[0].front.truncate(5),
            |mesh| mesh.grids[0].back.push(GatheredLight::default()),
        ];
        for (i, change) in changes.into_iter().enumerate() {
            let mut mesh = mesh();
            change(&mut mesh);
            assert!(!mesh_fits(&mesh, 4, 2), "{i}");
        }
    }

    #[test]
    fn maps_and_fields_with_a_wrong_length_are_rejected() {
        let map =
            |side, mips: &[usize]| OctahedralMap { side, mips: mips.iter().map(|n| vec![[0.5; 4]; *n]).collect() };
        let light = |specular, irradiance| EnvironmentLight { sun: None, specular, irradiance };
        assert!(light(map(4, &[16, 4, 1]), map(2, &[4])).is_valid());
        for broken in [map(4, &[16, 4, 2]), map(4, &[]), map(0, &[1]), map(8, &[16]), map(1, &[1; 40])] {
            assert!(!light(broken, map(2, &[4])).is_valid());
        }
        let field = |size, cells| DistanceField {
            size,
            origin: Vec3::ZERO,
            cell: 0.1,
            distances: vec![0.0; cells],
            radiance: vec![Vec4::ONE; cells],
        };
        assert!(is_valid(&field(UVec3::new(2, 3, 1), 6)) && is_valid(&DistanceField::default()));
        assert!(!is_valid(&field(UVec3::new(2, 3, 2), 6)) && !is_valid(&field(UVec3::new(6000, 1, 1), 6000)));
    }
}
