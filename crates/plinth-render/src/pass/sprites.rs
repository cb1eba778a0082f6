//! Draws points and lines in the passes that determine which surfaces are visible: shadow maps, visibility and
//! geometry.
//!
//! The vertex shader reads each point or line by its number, and expands it to one or two triangles. Therefore no
//! triangles are stored, and nothing is uploaded when the camera moves. Shading also reads points and lines by their
//! number, like triangles.

use plinth_scene::Scene;

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
    let center = (scene.bounds.0 + scene.bounds.1) * 0.5;
    let radius = (scene.bounds.1 - center).length();
    let farthest = |sprites: &Sprites| {
        if any_camera {
            return sprites.look.most_pixels;
        }
        scene.shots.iter().fold(0.0, |reach: f32, shot| {
            let nearest = (shot.camera.position.distance(center) - radius).max(shot.camera.near);
            reach.max(sprites.radius(pixels_per_unit(&shot.camera, height), nearest))
        })
    };
    batches.iter().filter_map(|batch| batch.sprites.as_ref()).map(farthest).fold(0.0, f32::max).ceil() as u32
}
