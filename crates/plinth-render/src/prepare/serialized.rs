//! Converts prepared light to bytes for the cache, and back.

use std::sync::Arc;

use bytemuck::{AnyBitPattern, NoUninit};
use glam::{UVec3, Vec3};
use plinth_bake::{BakedMesh, Lattice, LightGrid, Sun};

use super::distance_field::DistanceField;
use super::{EnvironmentLight, ModelLight, SurfaceLight};
use crate::ibl::OctahedralMap;

/// Writes lists, each preceded by its length. The byte order is native, because files are only read on the machine that
/// wrote them.
#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn list<T: NoUninit>(&mut self, list: &[T]) {
        self.0.extend((list.len() as u64).to_ne_bytes());
        self.0.extend_from_slice(bytemuck::cast_slice(list));
    }
}

/// Reads the lists that `Writer` wrote. Reading fails if the data is too short.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn list<T: AnyBitPattern + NoUninit>(&mut self) -> Option<Vec<T>> {
        let (length, rest) = self.0.split_first_chunk::<8>()?;
        let bytes = usize::try_from(u64::from_ne_bytes(*length)).ok()?.checked_mul(size_of::<T>())?;
        let (content, rest) = rest.split_at_checked(bytes)?;
        self.0 = rest;
        Some(bytemuck::pod_collect_to_vec(content))
    }

    fn array<T: AnyBitPattern + NoUninit, const N: usize>(&mut self) -> Option<[T; N]> {
        self.list()?.try_into().ok()
    }

    fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

impl EnvironmentLight {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        let sun = self.sun.map(|sun| [sun.to_light, sun.irradiance, Vec3::splat(sun.angular_radius)]);
        out.list(sun.as_slice().as_flattened());
        for map in [&self.specular, &self.irradiance] {
            out.list(&[map.side, map.mips.len() as u32]);
            map.mips.iter().for_each(|mip| out.list(mip));
        }
        out.0
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut read = Reader(bytes);
        let sun = match *read.list::<Vec3>()? {
            [] => None,
            [to_light, irradiance, radius] => Some(Sun { to_light, irradiance, angular_radius: radius.x }),
            _ => return None,
        };
        let mut map = || {
            let [side, mips] = read.array::<u32, 2>()?;
            let mips = (0..mips).map(|_| read.list()).collect::<Option<_>>()?;
            Some(OctahedralMap { side, mips })
        };
        let out = Self { sun, specular: map()?, irradiance: map()? };
        read.end()?;
        Some(out)
    }
}

impl ModelLight {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.list(&[self.indices.len() as u32]);
        self.indices.iter().for_each(|indices| out.list(indices));
        self.light.write(&mut out);
        out.list(&self.field.size.to_array());
        out.list(&[self.field.origin.extend(self.field.cell)]);
        out.list(&self.field.distances);
        out.list(&self.field.radiance);
        out.0
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut read = Reader(bytes);
        let [primitives] = read.array::<u32, 1>()?;
        let indices = Arc::new((0..primitives).map(|_| read.list()).collect::<Option<_>>()?);
        let light = SurfaceLight::read(&mut read)?;
        let size = UVec3::from(read.array::<u32, 3>()?);
        let [corner] = read.array::<glam::Vec4, 1>()?;
        let (origin, cell) = (corner.truncate(), corner.w);
        let field = DistanceField { size, origin, cell, distances: read.list()?, radiance: read.list()? };
        let out = Self { indices, geometry: None, light, field };
        read.end()?;
        Some(out)
    }
}

impl SurfaceLight {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        self.write(&mut out);
        out.0
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut read = Reader(bytes);
        let out = Self::read(&mut read)?;
        read.end()?;
        Some(out)
    }

    fn write(&self, out: &mut Writer) {
        out.list(&[self.baked.len() as u32]);
        for mesh in &self.baked {
            out.list(&mesh.front);
            out.list(&mesh.back);
            let head = |grid: &LightGrid| [grid.triangle, grid.lattice.level];
            out.list(&mesh.grids.iter().map(head).collect::<Vec<_>>());
            for grid in &mesh.grids {
                out.list(&grid.front);
                out.list(&grid.back);
            }
        }
        out.list(&self.floor_ambient);
    }

    fn read(read: &mut Reader<'_>) -> Option<Self> {
        let [meshes] = read.array::<u32, 1>()?;
        let baked = (0..meshes).map(|_| baked_mesh(read)).collect::<Option<_>>()?;
        Some(Self { baked, floor_ambient: read.list()? })
    }
}

fn baked_mesh(read: &mut Reader<'_>) -> Option<BakedMesh> {
    let (front, back) = (read.list()?, read.list()?);
    let heads = read.list::<[u32; 2]>()?;
    let grid = |[triangle, level]: [u32; 2]| {
        Some(LightGrid { triangle, lattice: Lattice { level }, front: read.list()?, back: read.list()? })
    };
    let grids = heads.into_iter().map(grid).collect::<Option<_>>()?;
    Some(BakedMesh { front, back, grids })
}

#[cfg(test)]
mod tests {
    use plinth_bake::GatheredLight;

    use super::*;

    #[test]
    fn environment_light_round_trips() {
        let map = |side| OctahedralMap { side, mips: vec![vec![[0.25; 4]; 4], vec![[0.5; 4]]] };
        let sun = Sun { to_light: Vec3::Y, irradiance: Vec3::new(3.0, 2.0, 1.0), angular_radius: 0.01 };
        for sun in [None, Some(sun)] {
            let light = EnvironmentLight { sun, specular: map(2), irradiance: map(4) };
            let bytes = light.to_bytes();
            let read = EnvironmentLight::from_bytes(&bytes).unwrap();
            assert_eq!((read.sun, read.specular.mips), (light.sun, light.specular.mips));
            assert_eq!((read.irradiance.side, bytes.len()), (4, read_length(&bytes, EnvironmentLight::from_bytes)));
        }
    }

    #[test]
    fn light_on_a_model_round_trips() {
        let at = |x: f32| GatheredLight { direct: Vec3::splat(x), ..GatheredLight::default() };
        let grid = LightGrid { triangle: 3, lattice: Lattice { level: 1 }, front: vec![at(0.5)], back: vec![at(0.7)] };
        let light = ModelLight {
            indices: Arc::new(vec![vec![0, 1, 2], Vec::new()]),
            geometry: None,
            light: SurfaceLight {
                baked: vec![
                    BakedMesh { front: vec![at(0.1)], back: vec![at(0.2)], grids: vec![grid] },
                    BakedMesh::default(),
                ],
                floor_ambient: vec![0.9],
            },
            field: DistanceField {
                size: UVec3::new(1, 2, 1),
                origin: Vec3::NEG_ONE,
                cell: 0.5,
                distances: vec![0.25, -0.25],
                radiance: vec![glam::Vec4::ONE; 2],
            },
        };
        let bytes = light.to_bytes();
        let read = ModelLight::from_bytes(&bytes).unwrap();
        assert_eq!((&read.indices, &read.light.baked), (&light.indices, &light.light.baked));
        assert_eq!((read.field.size, read.field.origin, read.field.cell), (light.field.size, Vec3::NEG_ONE, 0.5));
        assert_eq!((read.field.distances, read.field.radiance), (light.field.distances, light.field.radiance));
        assert_eq!((read.light.floor_ambient, bytes.len()), (vec![0.9], read_length(&bytes, ModelLight::from_bytes)));
        let bytes = light.light.to_bytes();
        let read = SurfaceLight::from_bytes(&bytes).unwrap();
        assert_eq!((read.baked, read.floor_ambient), (light.light.baked, vec![0.9]));
        assert_eq!(bytes.len(), read_length(&bytes, SurfaceLight::from_bytes));
    }

    /// Returns the number of bytes that `read` accepts, and checks that `read` accepts no other length.
    fn read_length<T>(bytes: &[u8], read: impl Fn(&[u8]) -> Option<T>) -> usize {
        assert!(read(&[bytes, &[0]].concat()).is_none());
        let readable: Vec<usize> = (0..=bytes.len()).filter(|end| read(&bytes[..*end]).is_some()).collect();
        assert_eq!(readable.len(), 1);
        readable[0]
    }
}
