//! Vertices at the same place with the same normal are one receiver, so that seams stay invisible.

use std::collections::HashMap;

use glam::Vec3;

use crate::types::BakeMesh;

/// A place where light is gathered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Receiver {
    pub(crate) position: Vec3,
    pub(crate) normal: Vec3,
    /// From the position a little into the triangles around it: at the foot of a wall, light is that of the floor
    /// before the wall, not that of the place inside of it.
    pub(crate) inset: Vec3,
}

/// Share of the way to the middle of the triangles by which rays start inside of them.
const INSET: f32 = 0.1;
/// Longest such way, in world units.
const LONGEST_INSET: f32 = 0.005;

/// Mean way from a place to the middles of its triangles.
#[derive(Clone, Copy, Default)]
pub(crate) struct Inward {
    sum: Vec3,
    count: f32,
}

impl Inward {
    pub(crate) fn add(&mut self, to_middle: Vec3) {
        self.sum += to_middle;
        self.count += 1.0;
    }

    pub(crate) fn inset(&self, normal: Vec3) -> Vec3 {
        let way = self.sum / self.count.max(1.0) * INSET;
        way.reject_from_normalized(normal).clamp_length_max(LONGEST_INSET)
    }
}

/// What makes vertices one receiver: position, and normal in steps.
pub(crate) type Site = ([u32; 3], [i16; 3]);

pub(crate) fn site(position: Vec3, normal: Vec3) -> Site {
    // Adding zero turns −0 to +0.
    let place = (position + Vec3::ZERO).to_array().map(f32::to_bits);
    (place, normal.to_array().map(|c| (c * 500.0).round() as i16))
}

/// All receivers, and for each mesh the receiver of each vertex (`NONE` where nothing is gathered).
pub(crate) struct Welded {
    pub(crate) receivers: Vec<Receiver>,
    pub(crate) of_vertex: Vec<Vec<u32>>,
}

/// No receiver.
pub(crate) const NONE: u32 = u32::MAX;

/// Welds the vertices of all receiving meshes.
pub(crate) fn weld(meshes: &[BakeMesh]) -> Welded {
    let mut receivers = Vec::new();
    let mut known: HashMap<Site, u32> = HashMap::new();
    let of_vertex = meshes
        .iter()
        .map(|mesh| {
            if !mesh.receives || mesh.is_floor() {
                return vec![NONE; mesh.positions.len()];
            }
            // Light is gathered only where a triangle is.
            let mut used = vec![false; mesh.positions.len()];
            for i in &mesh.indices {
                used[*i as usize] = true;
            }
            mesh.positions
                .iter()
                .zip(&mesh.normals)
                .zip(used)
                .map(|((position, normal), used)| {
                    if !used {
                        return NONE;
                    }
                    *known.entry(site(*position, *normal)).or_insert_with(|| {
                        receivers.push(Receiver { position: *position, normal: *normal, inset: Vec3::ZERO });
                        (receivers.len() - 1) as u32
                    })
                })
                .collect()
        })
        .collect();
    let mut welded = Welded { receivers, of_vertex };
    welded.set_insets(meshes);
    welded
}

impl Welded {
    fn set_insets(&mut self, meshes: &[BakeMesh]) {
        let mut inward = vec![Inward::default(); self.receivers.len()];
        for (mesh, of_vertex) in
            meshes.iter().zip(&self.of_vertex).filter(|(mesh, _)| mesh.receives && !mesh.is_floor())
        {
            for t in mesh.indices.as_chunks::<3>().0 {
                let corners = t.map(|i| mesh.positions[i as usize]);
                let middle = corners.iter().sum::<Vec3>() / 3.0;
                for (i, corner) in t.iter().zip(corners) {
                    inward[of_vertex[*i as usize] as usize].add(middle - corner);
                }
            }
        }
        for (receiver, inward) in self.receivers.iter_mut().zip(inward) {
            receiver.inset = inward.inset(receiver.normal);
        }
    }
}
