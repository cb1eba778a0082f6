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
//!
//! The second condition would not suffice alone: where little light arrives, such as between the leaves of a plant, the few
//! rays of many vertices would miss it.
//!
//! The number of rays of all other vertices does not increase. The smoothing takes no account of the fewer rays, because the
//! light from the environment is zero without noise, and so is its reflection.

use glam::Vec3;
use rayon::prelude::*;

use crate::gather::Scene;
use crate::samples::{NO_SAMPLE, SamplePoints};
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

/// Returns for each sample point whether it is at a vertex on the back side of a closed mesh. A point that is also on another
/// side gets false.
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
    out
}

/// Returns whether a mesh is closed. `back` has the sample points of its vertices on the back side. `is_open_at` returns
/// whether a sample point gets light or is seen.
fn is_closed(back: &[u32], is_open_at: impl Fn(u32) -> bool + Sync) -> bool {
    let points: Vec<u32> = back.iter().copied().filter(|sample| *sample != NO_SAMPLE).collect();
    let tested = (points.len() / VERTICES_PER_TESTED).min(MAX_TESTED);
    if tested < MIN_TESTED {
        return false;
    }
    let open = (0..tested).into_par_iter().filter(|k| is_open_at(points[k * points.len() / tested])).count();
    open * TESTED_PER_GAP <= tested
}
