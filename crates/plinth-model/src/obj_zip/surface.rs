//! Computes normals for the corners that have no normal in the file.

use std::collections::HashMap;

use glam::Vec3;

use super::ImportError;
use super::obj::{Corner, NONE, Obj, Smoothing, Triangle};
use crate::limits::Budget;

/// Minimum cosine of the angle between the normals of two faces at which the edge between them is smooth, if the faces
/// have no smoothing group.
const MIN_SMOOTH_COSINE: f32 = 0.6;
/// If more corners than this meet at a position, all edges there stay hard, because averaging takes quadratic time.
const MAX_SMOOTHED_FACES: usize = 64;

/// The face normals at each position, from which smooth normals are computed. They include the faces of all parts of
/// the file, so there is no visible seam between parts.
pub(super) struct SmoothNormals {
    /// Position index and weighted face normal of each corner that is smoothed by angle. The list is sorted by position
    /// index.
    by_angle: Vec<(u32, Vec3)>,
    /// Sums of weighted face normals by position index and smoothing group.
    by_group: HashMap<(u32, u32), Vec3>,
}

/// Memory that [`SmoothNormals`] takes per triangle, in bytes.
const BYTES_PER_TRIANGLE: u64 = 3 * 2 * (size_of::<(u32, Vec3)>() as u64);

impl SmoothNormals {
    /// Collects the face normals of all triangles that have a corner without a normal.
    pub(super) fn of(obj: &Obj, budget: &Budget) -> Result<Self, ImportError> {
        let mut by_angle: Vec<(u32, Vec3)> = Vec::new();
        let mut by_group: HashMap<(u32, u32), Vec3> = HashMap::new();
        for triangle in obj.parts.iter().flat_map(|p| &p.triangles) {
            if triangle.corners.iter().all(|c| file_normal(obj, *c).is_some()) {
                continue;
            }
            let counted = budget.take_bytes(BYTES_PER_TRIANGLE);
            counted.map_err(|e| ImportError::Model { problem: e.to_string() })?;
            let angles = angles(obj, triangle);
            let unit = unit_normal(obj, triangle);
            for (corner, angle) in triangle.corners.into_iter().zip(angles) {
                let normal = unit * angle;
                match triangle.smoothing {
                    Smoothing::Off => {}
                    Smoothing::ByAngle => by_angle.push((corner.position, normal)),
                    Smoothing::Group(group) => *by_group.entry((corner.position, group)).or_default() += normal,
                }
            }
        }
        // The sort is stable, so the normals at a position are summed in the order of the file.
        by_angle.sort_by_key(|(position, _)| *position);
        Ok(Self { by_angle, by_group })
    }

    /// Returns the unit normal of a corner of a triangle.
    pub(super) fn normal(&self, obj: &Obj, triangle: &Triangle, corner: Corner) -> Vec3 {
        if let Some(normal) = file_normal(obj, corner) {
            return normal;
        }
        let face_normal = unit_normal(obj, triangle).normalize_or(Vec3::Y);
        match triangle.smoothing {
            Smoothing::Off => face_normal,
            Smoothing::Group(group) => {
                self.by_group.get(&(corner.position, group)).map_or(face_normal, |sum| sum.normalize_or(face_normal))
            }
            Smoothing::ByAngle => {
                let from = self.by_angle.partition_point(|(position, _)| *position < corner.position);
                let rest = &self.by_angle[from..];
                let at_position = &rest[..rest.partition_point(|(position, _)| *position == corner.position)];
                if at_position.len() > MAX_SMOOTHED_FACES {
                    return face_normal;
                }
                let is_smooth = |n: &&(u32, Vec3)| n.1.normalize_or_zero().dot(face_normal) >= MIN_SMOOTH_COSINE;
                at_position.iter().filter(is_smooth).map(|n| n.1).sum::<Vec3>().normalize_or(face_normal)
            }
        }
    }
}

/// Returns the normal of a corner from the file. Returns `None` if there is no normal or its length is zero.
fn file_normal(obj: &Obj, corner: Corner) -> Option<Vec3> {
    (corner.normal != NONE).then(|| Vec3::from(obj.normals[corner.normal as usize]))?.try_normalize()
}

fn corners(obj: &Obj, triangle: &Triangle) -> [Vec3; 3] {
    triangle.corners.map(|c| Vec3::from(obj.positions[c.position as usize]))
}

/// Returns the unit face normal of a triangle, or zero if the triangle is degenerate.
fn unit_normal(obj: &Obj, triangle: &Triangle) -> Vec3 {
    let [a, b, c] = corners(obj, triangle);
    // The edges are scaled first. Otherwise the cross product would underflow for tiny edges and overflow for long
    // edges.
    let (u, v) = (b - a, c - a);
    let scale = u.abs().max_element().max(v.abs().max_element()).max(f32::MIN_POSITIVE);
    (u / scale).cross(v / scale).normalize_or_zero()
}

/// Returns the angles at the three corners of a triangle. Face normals are weighted by these angles, so that the result
/// does not depend on how a polygon was triangulated (Thürmer and Wüthrich 1998, "Computing Vertex Normals from
/// Polygonal Facets").
fn angles(obj: &Obj, triangle: &Triangle) -> [f32; 3] {
    let p = corners(obj, triangle);
    std::array::from_fn(|i| {
        let to = |k: usize| (p[(i + k) % 3] - p[i]).normalize_or_zero();
        to(1).dot(to(2)).clamp(-1.0, 1.0).acos()
    })
}
