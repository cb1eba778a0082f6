//! Finds sample points on the inside of closed double-sided meshes.
//!
//! Many files mark all materials as double-sided. The back side of a closed surface is then never seen and gets no light from
//! the environment, but its vertices would cast as many rays as those of the front side. They cast only [`ENCLOSED_RAYS`] rays,
//! which suffice to find out that they are dark:
//!
//! 1. Some back vertices of each mesh are tested. The mesh counts as closed if at nearly all of them no ray reaches the
//!    environment, and no camera sees them.
//! 2. At a back vertex of a closed mesh, each of the [`ENCLOSED_RAYS`] rays must be blocked by a back face of an opaque
//!    double-sided mesh. Otherwise the vertex casts as many rays as all others.
//! 3. No camera sees a triangle of the vertex. A mesh that counts as closed can have a small part that is open, such as a cup
//!    in a house.
//!
//! The second condition would not suffice alone: where little light arrives, such as between the leaves of a plant, the few
//! rays of many vertices would miss it.
//!
//! The number of rays of all other vertices does not increase. The smoothing takes no account of the fewer rays, because the
//! light from the environment is zero without noise, and so is its reflection.

use std::slice;

use glam::Vec3;
use rayon::prelude::*;

use crate::gather::Scene;
use crate::samples::{NO_SAMPLE, SamplePoint, SamplePoints};
use crate::sampling::RayDirections;

/// Number of rays of a sample point that is enclosed by back faces.
pub(crate) const ENCLOSED_RAYS: usize = 4;
/// Maximum number of vertices of a mesh that are tested.
const MAX_TESTED: usize = 128;
/// Minimum number of vertices that are tested. If a mesh has too few vertices for them, it does not count as closed.
const MIN_TESTED: usize = 16;
/// Number of vertices of a mesh per tested vertex. The test must cost less than the rays that it saves.
const VERTICES_PER_TESTED: usize = 8;
/// Number of rays per tested vertex.
const TEST_RAYS: usize = 8;
/// In a closed mesh, at most one of this many tested vertices gets light or is seen. Joints between parts often have
/// small gaps.
const TESTED_PER_GAP: usize = 64;
/// Maximum number of cameras for which a vertex is tested. If there are more, neighbouring vertices are tested for different
/// ones. Consecutive cameras usually see much the same.
const MAX_CAMERAS: usize = 4;

/// Returns for each sample point whether it is at a vertex on the back side of a closed mesh. A point that is also on another
/// side, or at a triangle that a camera sees, gets false.
pub(crate) fn points_in_closed_meshes(
    scene: &Scene<'_>,
    samples: &SamplePoints<'_>,
    camera_positions: &[Vec3],
) -> Vec<bool> {
    let directions = RayDirections::by_cosine(TEST_RAYS);
    let is_open_at = |sample: u32| {
        let point = &samples.list[sample as usize];
        !scene.is_dark(point, &directions) || scene.is_seen(point, camera_positions)
    };
    let vertex_samples = &samples.vertex_samples;
    let is_closed: Vec<bool> = vertex_samples.par_iter().map(|of_mesh| is_closed(&of_mesh.back, is_open_at)).collect();
    let mut out = vec![false; samples.len()];
    if !is_closed.contains(&true) {
        return out;
    }
    let mut mark = |vertices: &[u32], value: bool| {
        for sample in vertices.iter().filter(|sample| **sample != NO_SAMPLE) {
            out[*sample as usize] = value;
        }
    };
    for (of_mesh, is_closed) in vertex_samples.iter().zip(&is_closed) {
        if *is_closed {
            mark(&of_mesh.back, true);
        }
    }
    for (of_mesh, is_closed) in vertex_samples.iter().zip(&is_closed) {
        mark(&of_mesh.front, false);
        if !is_closed {
            mark(&of_mesh.back, false);
        }
    }
    clear_seen(scene, samples, camera_positions, &mut out);
    out
}

/// Sets the entries of all corners of triangles of which a camera sees a corner to false. The unseen corners count, too, because
/// light is interpolated between them.
fn clear_seen(scene: &Scene<'_>, samples: &SamplePoints<'_>, camera_positions: &[Vec3], in_closed_mesh: &mut [bool]) {
    let step = camera_positions.len().div_ceil(MAX_CAMERAS).max(1);
    let is_seen = |(i, point): (usize, &SamplePoint)| {
        let mut cameras = camera_positions.iter().skip(i % step).step_by(step);
        in_closed_mesh[i] && cameras.any(|camera| scene.is_seen(point, slice::from_ref(camera)))
    };
    let seen: Vec<bool> = samples.list.par_iter().enumerate().map(is_seen).collect();
    if !seen.contains(&true) {
        return;
    }
    for (mesh, of_mesh) in samples.meshes.iter().zip(&samples.vertex_samples) {
        if of_mesh.back.is_empty() {
            continue;
        }
        for triangle in mesh.indices.as_chunks::<3>().0 {
            let corners = triangle.map(|i| of_mesh.back[i as usize] as usize);
            if corners.iter().any(|corner| seen[*corner]) {
                for corner in corners {
                    in_closed_mesh[corner] = false;
                }
            }
        }
    }
}

/// Returns whether a mesh is closed. `back` has the sample points of its vertices on the back side. `is_open_at` returns
/// whether a sample point gets light or is seen.
fn is_closed(back: &[u32], is_open_at: impl Fn(u32) -> bool + Sync) -> bool {
    let points: Vec<u32> = back.iter().copied().filter(|sample| *sample != NO_SAMPLE).collect();
    let tested = (points.len() / VERTICES_PER_TESTED).min(MAX_TESTED);
    if tested < MIN_TESTED {
        return false;
    }
    let is_open = |k: &usize| is_open_at(points[tested_index(*k, tested, points.len())]);
    let open = (0..tested).into_par_iter().filter(is_open).count();
    open * TESTED_PER_GAP <= tested
}

/// Returns the index among `count` vertices of the tested vertex number `k`. Each of `tested` groups of consecutive vertices has
/// one. Its place in the group varies, because the groups may be equal parts of the mesh with their vertices in the same order.
fn tested_index(k: usize, tested: usize, count: usize) -> usize {
    k * count / tested + k * 40_503 % (count / tested)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tested_vertices_of_equal_parts_differ() {
        for (tested, count) in [(16, 128), (69, 558), (128, 12_800), (128, 1_000_003)] {
            let indices: Vec<usize> = (0..tested).map(|k| tested_index(k, tested, count)).collect();
            assert!(indices.is_sorted_by(|a, b| a < b) && indices[tested - 1] < count, "{indices:?}");
        }
        let mut places: Vec<usize> = (0..128).map(|k| tested_index(k, 128, 12_800) % 100).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 100);
    }
}
