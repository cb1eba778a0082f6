//! Draws points and lines in the passes that determine which surfaces are visible: shadow maps, visibility and
//! geometry.
//!
//! The vertex shader reads each point or line by its number, and expands it to one or two triangles. Therefore no
//! triangles are stored, and nothing is uploaded when the camera moves. Shading also reads points and lines by their
//! number, like triangles.

use glam::Vec3;
use plinth_scene::{Camera, Scene};

use crate::frame_uniform::pixels_per_unit;
use crate::upload::batch::Batch;
use crate::upload::material::MaterialOnGpu;
use crate::upload::sprites::Sprites;

impl Sprites {
    /// Draws all points or lines with the current pipeline.
    pub(crate) fn draw(&self, pass: &mut wgpu::RenderPass<'_>, material: &MaterialOnGpu) {
        pass.set_bind_group(1, &self.group, &[]);
        if let Some(alpha_test) = &material.alpha_test {
            pass.set_bind_group(2, &alpha_test.group, &[]);
        }
        pass.draw(0..self.count * self.kind.drawn_vertices(), 0..1);
    }
}

/// Returns the maximum distance in pixels, in any frame, between a point or line and the outline with which it is
/// drawn. `height` is the height of the picture. If `any_camera` is true, the frames may also have cameras that are not in
/// the scene.
pub(crate) fn reach(scene: &Scene, height: u32, batches: &[Batch], any_camera: bool) -> u32 {
    let farthest = |sprites: &Sprites| {
        if any_camera {
            return sprites.look.most_pixels;
        }
        scene.shots.iter().fold(0.0, |reach: f32, shot| {
            let nearest = least_depth(&shot.camera, scene.bounds);
            reach.max(sprites.radius(pixels_per_unit(&shot.camera, height), nearest))
        })
    };
    batches.iter().filter_map(|batch| batch.sprites.as_ref()).map(farthest).fold(0.0, f32::max).ceil() as u32
}

/// Returns a lower bound of the distances along the camera's axis between the camera and the visible points of a box. A
/// point far from the axis is much closer along the axis than in a straight line.
fn least_depth(camera: &Camera, (min, max): (Vec3, Vec3)) -> f32 {
    let center = (min + max) * 0.5;
    let forward = -camera.view_from_world.row(2).truncate();
    let depth = (center - camera.position).dot(forward);
    (depth - (max - center).length()).max(camera.near)
}

#[cfg(test)]
mod tests {
    use glam::{Mat4, Vec2};

    use super::*;

    #[test]
    fn no_visible_point_of_a_box_is_closer_than_the_least_depth() {
        let camera = Camera {
            view_from_world: Mat4::IDENTITY,
            position: Vec3::ZERO,
            fov_y: 2.3,
            pixel_aspect: 1.0,
            principal_point: Vec2::ZERO,
            near: 0.1,
            far: 50.0,
        };
        let around = |center: Vec3| (center - Vec3::splat(0.5), center + Vec3::splat(0.5));
        // The camera looks along -Z. The second box is near the edge of the picture, the third beside the camera.
        let boxes = [(Vec3::NEG_Z * 4.0, 3.5), (Vec3::new(6.0, 0.0, -4.0), 3.5), (Vec3::new(6.0, 0.0, 0.0), 0.1)];
        for (center, nearest) in boxes {
            let depth = least_depth(&camera, around(center));
            assert!(depth <= nearest && depth > nearest - 0.4 && depth >= camera.near, "{center}: {depth}");
        }
    }
}
