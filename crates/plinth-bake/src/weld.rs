//! Vertices at the same place with the same normal are one receiver, so that seams stay invisible.

use std::collections::HashMap;

use glam::Vec3;

use crate::types::BakeMesh;

/// A place where light is gathered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Receiver {
    pub(crate) position: Vec3,
    pub(crate) normal: Vec3,
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
    let mut known: HashMap<([u32; 3], [i16; 3]), u32> = HashMap::new();
    let of_vertex = meshes
        .iter()
        .map(|mesh| {
            if !mesh.receives {
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
                    // Adding zero turns −0 to +0.
                    let place = (*position + Vec3::ZERO).to_array().map(f32::to_bits);
                    let facing = normal.to_array().map(|c| (c * 500.0).round() as i16);
                    *known.entry((place, facing)).or_insert_with(|| {
                        receivers.push(Receiver { position: *position, normal: *normal });
                        (receivers.len() - 1) as u32
                    })
                })
                .collect()
        })
        .collect();
    Welded { receivers, of_vertex }
}
