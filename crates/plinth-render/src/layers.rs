//! Draws aligned layers of dataset views: colour, depth and normals.

use plinth_frame::{Layers, LayersSink, PixelFormat, Region};
use plinth_scene::{Background, Scene};

use crate::RenderError;
use crate::delivery::straight;
use crate::frame_plan::FramePlan;
use crate::pass::geometry::GeometryTargets;
use crate::pipelines::Precision;
use crate::readback::{PlaneView, Readback};
use crate::renderer::Renderer;

impl Renderer<'_> {
    /// Draws the `wanted` shots of the scene, given by index, in that order, with depth and normals. The layers of a
    /// shot do not depend on which others are wanted. The background must be transparent and the format `Rgba8`.
    /// Errors: the background is not transparent, the device fails, or the sink stops.
    pub fn render_layers(
        &mut self,
        scene: &Scene,
        wanted: &[u32],
        sink: &mut dyn LayersSink,
    ) -> Result<(), RenderError> {
        if scene.background != Background::Transparent || self.picture.format != PixelFormat::Rgba8 {
            return Err(RenderError::LayersNeedTransparency);
        }
        let part = self.view.look.model_region;
        let model = (self.stage.batches.as_slice(), self.stage.materials.as_slice());
        let targets = GeometryTargets::new(&self.pipeline_base(), part, model, Precision::Exact)?;
        let planes = [(self.view.look.region, self.color_bytes()), (part, 16)];
        let mut ring = Readback::new(self.gpu, &planes, self.frames_in_flight());
        let mut clip_time = None;
        let mut first = true;
        for shot in wanted.iter().filter_map(|index| scene.shots.get(*index as usize)) {
            if ring.is_full() {
                self.deliver_layers(&mut ring, sink)?;
            }
            let pose_changed = first || clip_time != shot.clip_time;
            clip_time = shot.clip_time;
            if pose_changed && !first {
                self.pose(scene, clip_time)?;
            }
            let finished = self.view.targets.finished.clone();
            self.submit(&mut ring, shot.index, &[&finished, &targets.surface], |renderer, recorder| {
                renderer.encode(recorder, scene, shot, first, pose_changed);
                FramePlan { stage: &renderer.stage, recorder }.geometry(&renderer.view, &targets);
            })?;
            first = false;
        }
        while self.deliver_layers(&mut ring, sink)? {}
        Ok(())
    }

    /// Delivers the oldest view that is being drawn; returns whether there was one.
    fn deliver_layers(&self, ring: &mut Readback, sink: &mut dyn LayersSink) -> Result<bool, RenderError> {
        let spare = sink.spare();
        let Some(layers) = ring.take(self.gpu, |index, planes| self.layers(index, planes, spare))? else {
            return Ok(false);
        };
        sink.layers(layers).map_err(|source| RenderError::Sink { source })?;
        Ok(true)
    }

    /// Returns the layers of a view, reusing the buffers of `spare`. Pixels outside of the drawn region are empty in
    /// all layers.
    fn layers(&self, index: u32, planes: &[PlaneView<'_>], spare: Option<Layers>) -> Layers {
        let (width, height) = (self.picture.width, self.picture.height);
        let mut layers = spare.unwrap_or_else(|| Layers::nothing(width, height));
        layers.index = index;
        let look = &self.view.look;
        if let [color, surface] = planes {
            for (to, from) in rows_of(&mut layers.color, width, look.region).zip(color.rows()) {
                for (to, pixel) in to.iter_mut().zip(from.as_chunks().0) {
                    *to = straight(*pixel);
                }
            }
            let depth = rows_of(&mut layers.depth, width, look.model_region);
            let normal = rows_of(&mut layers.normal, width, look.model_region);
            for ((depth, normal), from) in depth.zip(normal).zip(surface.rows()) {
                for ((depth, normal), bytes) in depth.iter_mut().zip(normal).zip(from.as_chunks::<16>().0) {
                    let [x, y, z, distance]: [f32; 4] = bytemuck::pod_read_unaligned(bytes);
                    (*depth, *normal) = (distance, [x, y, z]);
                }
            }
        }
        layers
    }
}

/// Returns the rows of a region of a picture.
fn rows_of<T>(whole: &mut [T], width: u32, part: Region) -> impl Iterator<Item = &mut [T]> {
    let (left, right) = (part.x as usize, (part.x + part.width) as usize);
    whole
        .chunks_exact_mut(width as usize)
        .skip(part.y as usize)
        .take(part.height as usize)
        .map(move |row| &mut row[left..right])
}
