//! Describes the surfaces that are visible at a point of a frame. The description contains all values with which
//! settings can refer to a surface, such as the names of its mesh and material.

use glam::{DMat3, DQuat, DVec3, EulerRot, Vec2, Vec3};
use plinth_model::{Material, Primitive};
use plinth_spec::limits;
use plinth_spec::preview::{MAX_OUTLINE_CORNERS, MAX_SURFACES, MaterialValues, SurfaceAtPoint, SurfacesAtPoint};
use rayon::prelude::*;

use super::hit::{Cover, Hit, hits, primitive_of};
use super::view::{FrameView, Ray};
use crate::environment::srgb_from_linear;
use crate::scene::Scene;
use crate::shot::{PosedPrimitive, Shot};

/// A surface counts as horizontal if the absolute value of the y component of its normal is at least this. A horizontal
/// surface contains no direction that points up in the world, so the upper edge of a decal on it points up in the
/// frame.
const HORIZONTAL: f64 = 0.95;

/// The data that is needed to describe a hit.
struct Found<'a> {
    scene: &'a Scene,
    view: &'a FrameView<'a>,
    ray: &'a Ray,
    /// The primitives in the pose that the frame shows.
    posed: &'a [PosedPrimitive],
    /// The primitives in their pose in the first frame, onto which decals are projected.
    first_pose: &'a [PosedPrimitive],
}

impl Scene {
    /// Returns the camera of a shot, and the surfaces that are visible at a point of its frame. `point` is the position
    /// in the frame as fractions of its width and height, from the top left. `aspect` is the width of the frame divided
    /// by its height. The model's lines and points are ignored.
    pub fn surfaces_at(&self, shot: &Shot, point: [f64; 2], aspect: f64) -> SurfacesAtPoint {
        let view = FrameView::new(shot, aspect as f32);
        let camera = view.pose();
        let Some(ray) = view.ray(Vec2::new(point[0] as f32, point[1] as f32)) else {
            return SurfacesAtPoint { camera, surfaces: Vec::new() };
        };
        let posed = self.pose(shot.clip_time);
        let first_time = self.shots.first().and_then(|first| first.clip_time);
        let first_pose = (first_time != shot.clip_time).then(|| self.pose(first_time));
        let first_pose = first_pose.as_deref().unwrap_or(&posed);
        let found = Found { scene: self, view: &view, ray: &ray, posed: &posed, first_pose };
        let mut surfaces = Vec::new();
        let mut listed: Vec<(usize, usize)> = Vec::new();
        for hit in hits(&self.model, &posed, &ray) {
            let Some(primitive) = primitive_of(&self.model, &posed[hit.posed]) else { continue };
            let cover = hit.cover(&self.model, primitive);
            let surface = (posed[hit.posed].node, primitive.material);
            // A glass is hit twice, on its front and on its back. Both count as one surface.
            if cover != Cover::Nothing && !listed.contains(&surface) {
                listed.push(surface);
                surfaces.push(found.describe(&hit, primitive));
            }
            if cover == Cover::Whole || surfaces.len() == MAX_SURFACES {
                break;
            }
        }
        SurfacesAtPoint { camera, surfaces }
    }
}

impl Found<'_> {
    /// Describes a surface. Model files can contain longer names than settings accept. A too long mesh name is
    /// shortened, and a too long material name is left out.
    fn describe(&self, hit: &Hit, primitive: &Primitive) -> SurfaceAtPoint {
        let (model, drawn) = (&self.scene.model, &self.posed[hit.posed]);
        let material = &model.materials[primitive.material];
        let upright_from_world = self.scene.upright_from_world;
        let placed = &self.first_pose[hit.posed];
        let position = hit.mix(&placed.positions).unwrap_or_default();
        let normal = upright_from_world.transform_vector3(front_normal(hit, placed).as_dvec3()).normalize_or(DVec3::Z);
        let frame_up = upright_from_world.transform_vector3(self.view.up().as_dvec3());
        let name = |is_decal: bool| Some(material.name.clone()).filter(|_| material.overlay == is_decal);
        SurfaceAtPoint {
            mesh: model.nodes[drawn.node].name.chars().take(limits::NAME_CHARS).collect(),
            material: name(false).filter(|name| !name.is_empty() && name.chars().count() <= limits::NAME_CHARS),
            values: values(material),
            decal: name(true),
            is_back: hit.is_back,
            position: upright_from_world.transform_point3(position.as_dvec3()).to_array(),
            normal: normal.to_array(),
            euler: decal_angles(normal, frame_up),
            uv: hit.uv(material, primitive).map(|uv| uv.as_dvec2().to_array()),
            point: self.view.drawn(self.ray, hit.depth).as_dvec3().to_array(),
            outline: self.outline(drawn.node),
        }
    }

    /// Returns the corners of a convex polygon that approximates the convex hull of a mesh in the frame. Each corner is
    /// the projected vertex that is farthest in one of several evenly spaced directions.
    fn outline(&self, node: usize) -> Vec<[f64; 2]> {
        let vertices = self.posed.par_iter().filter(|one| one.node == node).flat_map(|one| &one.positions);
        let seen: Vec<Vec2> =
            vertices.filter_map(|vertex| self.view.project(*vertex)).filter(|p| p.is_finite()).collect();
        let farthest = |i: usize| {
            let direction = Vec2::from_angle(std::f32::consts::TAU * i as f32 / MAX_OUTLINE_CORNERS as f32);
            seen.iter().copied().max_by(|a, b| a.dot(direction).total_cmp(&b.dot(direction)))
        };
        let mut corners: Vec<Vec2> = (0..MAX_OUTLINE_CORNERS).into_par_iter().filter_map(farthest).collect();
        corners.dedup();
        if corners.len() > 1 && corners.first() == corners.last() {
            corners.pop();
        }
        corners.into_iter().map(|corner| corner.as_dvec2().to_array()).collect()
    }
}

/// Returns the unit normal of the surface's front at the point, in world space.
fn front_normal(hit: &Hit, posed: &PosedPrimitive) -> Vec3 {
    let [a, b, c] = hit.corners.map(|v| posed.positions[v]);
    let outward = (b - a).cross(c - a).normalize_or(Vec3::Z);
    let outward = if posed.mirrored { -outward } else { outward };
    // If the interpolated normal contradicts the winding order, the geometric normal is used, because decals skip
    // triangles that face away from the normal of the decal.
    hit.mix(&posed.normals).map(Vec3::normalize_or_zero).filter(|normal| normal.dot(outward) > 0.0).unwrap_or(outward)
}

/// Returns the rotation of a decal on a surface with the unit normal `normal`, as Euler angles in the order XYZ.
/// `frame_up` is the direction that points up in the frame.
fn decal_angles(normal: DVec3, frame_up: DVec3) -> [f64; 3] {
    let up = if normal.y.abs() < HORIZONTAL { DVec3::Y } else { frame_up };
    let right = up.cross(normal).normalize_or(normal.any_orthonormal_vector());
    let turn = DQuat::from_mat3(&DMat3::from_cols(right, normal.cross(right), normal));
    let (x, y, z) = turn.to_euler(EulerRot::XYZ);
    [x, y, z]
}

fn values(material: &Material) -> MaterialValues {
    let [r, g, b, alpha] = material.base_color;
    let byte = |linear: f32| (srgb_from_linear(linear.clamp(0.0, 1.0)) * 255.0).round() as u8;
    // Removes the rounding errors of single precision: 0.9 is stored as 0.899999976.
    let rounded = |value: f32| (f64::from(value) * 1e5).round() / 1e5;
    MaterialValues {
        color: format!("#{:02x}{:02x}{:02x}", byte(r), byte(g), byte(b)),
        roughness: rounded(material.perceptual_roughness),
        metalness: rounded(material.metallic),
        opacity: rounded(alpha),
    }
}
