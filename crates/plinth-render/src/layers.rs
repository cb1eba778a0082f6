//! Draws the views of a dataset: aligned images of colour, depth and normals.

use plinth_frame::{Layers, LayersSink, PixelFormat, Region};
use plinth_scene::{Background, Scene, Shot};

use crate::RenderError;
use crate::delivery::straight;
use crate::draw_in_order::{self, PictureKind};
use crate::frame_plan::FramePlan;
use crate::pass::geometry::GeometryTargets;
use crate::pipelines::Precision;
use crate::readback::PlaneView;
use crate::recorder::Recorder;
use crate::renderer::Renderer;
use crate::upload::pool::number_triangles;

/// Number of bytes per pixel of the texture with normals and distances.
const SURFACE_BYTES: u32 = 16;

impl Renderer<'_> {
    /// Draws the shots with the indices `wanted`, in this order, with depth and normals. The result of a shot does not
    /// depend on the other shots. The background must be transparent, and the format must be `Rgba8`. A scene in which the
    /// model moves must be that of a dataset.
    /// Errors: if the background is not transparent, the device fails, or the sink stops.
    pub fn render_layers(
        &mut self,
        scene: &Scene,
        wanted: &[u32],
        sink: &mut dyn LayersSink,
    ) -> Result<(), RenderError> {
        if scene.background != Background::Transparent || self.picture.format != PixelFormat::Rgba8 {
            return Err(RenderError::LayersNeedTransparency);
        }
        let shots: Vec<&Shot> = wanted.iter().filter_map(|index| scene.shots.get(*index as usize)).collect();
        draw_in_order::draw(self, scene, &shots, &Views, &mut |layers| {
            sink.layers(layers).map_err(|source| RenderError::Sink { source })?;
            Ok(sink.spare())
        })
    }

    /// Returns the images of a view. The buffers of `spare` are reused. Outside the drawn region, all images are empty.
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

/// The [`PictureKind`] of dataset views with colour, depth and normals.
struct Views;

impl PictureKind for Views {
    type Picture = Layers;
    type Targets = GeometryTargets;

    fn targets(&self, renderer: &Renderer<'_>) -> Result<GeometryTargets, RenderError> {
        number_triangles(renderer.gpu, &renderer.gpu_scene.pools)?;
        let all = (renderer.gpu_scene.model(), renderer.gpu_scene.materials.as_slice());
        GeometryTargets::new(&renderer.pipeline_base(), renderer.view.look.model_region, all, Precision::Exact)
    }

    fn planes(&self, renderer: &Renderer<'_>, targets: &GeometryTargets) -> Vec<(wgpu::Texture, Region, u32)> {
        let look = &renderer.view.look;
        vec![
            (renderer.view.targets.finished.clone(), look.region, renderer.color_bytes()),
            (targets.surface.clone(), look.model_region, SURFACE_BYTES),
        ]
    }

    fn record(&self, renderer: &Renderer<'_>, targets: &GeometryTargets, recorder: &mut Recorder<'_>) {
        FramePlan { gpu_scene: &renderer.gpu_scene, recorder }.geometry(&renderer.view, targets);
    }

    fn read(&self, renderer: &Renderer<'_>, shot: &Shot, planes: &[PlaneView<'_>], spare: Option<Layers>) -> Layers {
        renderer.layers(shot.index, planes, spare)
    }
}

/// Returns mutable slices of the rows of a region. `whole` contains rows of `width` elements.
fn rows_of<T>(whole: &mut [T], width: u32, part: Region) -> impl Iterator<Item = &mut [T]> {
    let (left, right) = (part.x as usize, (part.x + part.width) as usize);
    whole
        .chunks_exact_mut(width as usize)
        .skip(part.y as usize)
        .take(part.height as usize)
        .map(move |row| &mut row[left..right])
}
