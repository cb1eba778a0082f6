//! Normals for corners that have none.

use std::collections::HashMap;

use glam::Vec3;

use super::ImportError;
use super::obj::{Corner, NONE, Obj, Smoothing, Triangle};
use crate::limits::Budget;

/// Where nothing is said, faces that meet at more than this angle keep a hard edge: its cosine.
const CREASE: f32 = 0.6;
/// Where more faces meet, the edges by angle stay hard: averaging all of them for each takes time with their square.
const MAX_AROUND: usize = 64;

/// What the faces around each position make of its normals; over the whole file, so that parts meet without a seam.
pub(super) struct Smooth {
    /// Positions and weighted normals of the corners that are smooth by angle, sorted by position.
    around: Vec<(u32, Vec3)>,
    /// Sums of weighted normals by position and smoothing group.
    groups: HashMap<(u32, u32), Vec3>,
}

/// What [`Smooth`] takes for each triangle.
const BYTES_PER_TRIANGLE: u64 = 3 * 2 * (size_of::<(u32, Vec3)>() as u64);

impl Smooth {
    /// Looks at all triangles that have corners without normals.
    pub(super) fn of(obj: &Obj, budget: &Budget) -> Result<Self, ImportError> {
        let mut around: Vec<(u32, Vec3)> = Vec::new();
        let mut groups: HashMap<(u32, u32), Vec3> = HashMap::new();
        for triangle in obj.parts.iter().flat_map(|p| &p.triangles) {
            if triangle.corners.iter().all(|c| given(obj, *c).is_some()) {
                continue;
            }
            let taken = budget.take_bytes(BYTES_PER_TRIANGLE);
            taken.map_err(|e| ImportError::Model { problem: e.to_string() })?;
            let angles = angles(obj, triangle);
            let unit = unit_normal(obj, triangle);
            for (corner, angle) in triangle.corners.into_iter().zip(angles) {
                let normal = unit * angle;
                match triangle.smoothing {
                    Smoothing::Off => {}
                    Smoothing::ByAngle => around.push((corner.position, normal)),
                    Smoothing::Group(group) => *groups.entry((corner.position, group)).or_default() += normal,
                }
            }
        }
        // Stable: sums are made in the order of the file.
        around.sort_by_key(|(position, _)| *position);
        Ok(Self { around, groups })
    }

    /// The unit normal of a corner of a triangle.
    pub(super) fn normal(&self, obj: &Obj, triangle: &Triangle, corner: Corner) -> Vec3 {
        if let Some(normal) = given(obj, corner) {
            return normal;
        }
        let own = unit_normal(obj, triangle).normalize_or(Vec3::Y);
        match triangle.smoothing {
            Smoothing::Off => own,
            Smoothing::Group(group) => {
                self.groups.get(&(corner.position, group)).map_or(own, |sum| sum.normalize_or(own))
            }
            Smoothing::ByAngle => {
                let from = self.around.partition_point(|(position, _)| *position < corner.position);
                let rest = &self.around[from..];
                let near = &rest[..rest.partition_point(|(position, _)| *position == corner.position)];
                if near.len() > MAX_AROUND {
                    return own;
                }
                let turns_little = |n: &&(u32, Vec3)| n.1.normalize_or_zero().dot(own) >= CREASE;
                near.iter().filter(turns_little).map(|n| n.1).sum::<Vec3>().normalize_or(own)
            }
        }
    }
}

/// The file's normal, unless it is missing or has no direction.
fn given(obj: &Obj, corner: Corner) -> Option<Vec3> {
    (corner.normal != NONE).then(|| Vec3::from(obj.normals[corner.normal as usize]))?.try_normalize()
}

fn corners(obj: &Obj, triangle: &Triangle) -> [Vec3; 3] {
    triangle.corners.map(|c| Vec3::from(obj.positions[c.position as usize]))
}

/// Zero where it cannot be told.
fn unit_normal(obj: &Obj, triangle: &Triangle) -> Vec3 {
    let [a, b, c] = corners(obj, triangle);
    // Scaled first: the cross product of tiny edges would vanish, that of long ones overflow.
    let (u, v) = (b - a, c - a);
    let scale = u.abs().max_element().max(v.abs().max_element()).max(f32::MIN_POSITIVE);
    (u / scale).cross(v / scale).normalize_or_zero()
}

/// Weights that do not depend on how a polygon was cut (Thürmer and Wüthrich 1998, "Computing Vertex Normals from
/// Polygonal Facets").
fn angles(obj: &Obj, triangle: &Triangle) -> [f32; 3] {
    let p = corners(obj, triangle);
    std::array::from_fn(|i| {
        let to = |k: usize| (p[(i + k) % 3] - p[i]).normalize_or_zero();
        to(1).dot(to(2)).clamp(-1.0, 1.0).acos()
    })
}
