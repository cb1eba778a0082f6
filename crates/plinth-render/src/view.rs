//! The view of a camera: the render targets of its picture, and the passes that use them.

use glam::Mat4;

use crate::RenderError;
use crate::gpu::Gpu;
use crate::gpu_types;
use crate::layouts::Layouts;
use crate::pass::expand_samples::{ExpandSamples, SurfaceColors};
use crate::pass::glass::Glass;
use crate::pass::scene_color::SceneColorPyramid;
use crate::pass::visibility::{Classify, Shading};
use crate::targets::{TargetDescriptor, Targets};
use crate::upload::batch::Batch;

/// The picture of the model as seen by one camera, with the passes that draw it.
pub(crate) struct View {
    pub(crate) look: TargetDescriptor,
    pub(crate) targets: Targets,
    pub(crate) classify: Classify,
    pub(crate) expand_samples: Option<ExpandSamples>,
    pub(crate) scene_color: Option<SceneColorPyramid>,
    /// Passes for glass that is drawn through a visibility buffer.
    pub(crate) glass: Option<Glass>,
    /// Transform from world space to clip space for the camera of the current frame.
    pub(crate) clip_from_world: Mat4,
    /// Bind group 0, and another bind group 0 for passes that draw the shadow maps.
    pub(crate) frame_group: wgpu::BindGroup,
    pub(crate) frame_group_without_maps: wgpu::BindGroup,
    frame_buffer: wgpu::Buffer,
}

impl View {
    /// Creates the view. `frame_groups` creates bind group 0 from a uniform buffer, with and without the shadow maps.
    pub(crate) fn new(
        gpu: &Gpu,
        layouts: &Layouts,
        look: TargetDescriptor,
        (batches, triangles): (&[Batch], &wgpu::Buffer),
        frame_groups: &dyn Fn(&wgpu::Buffer) -> [wgpu::BindGroup; 2],
    ) -> Result<Self, RenderError> {
        let targets = Targets::new(gpu, look);
        let shading = Shading { layout: &layouts.batch, batches, triangles, scene_color: None };
        let classify = Classify::new(gpu, &layouts.frame, targets.solid_maps(), look, &shading)?;
        let expand_samples = match (&targets.transparent, &targets.colors) {
            (Some(_), Some(colors)) => Some(ExpandSamples::new(
                gpu,
                &layouts.frame,
                (&targets.surfaces, colors),
                SurfaceColors::Shares,
                &look,
            )?),
            _ => None,
        };
        let scene_color = match (&targets.scene_color, &targets.colors, &targets.transparent) {
            (Some(target), Some(colors), Some(transparent)) => {
                let all = (&targets, target, colors, transparent);
                Some(SceneColorPyramid::new(gpu, &layouts.frame, &layouts.scene, look.samples, all)?)
            }
            _ => None,
        };
        let glass = match (&targets.glass, &scene_color) {
            (Some(glass), Some(scene_color)) => {
                let shading = Shading { layout: &layouts.glass, scene_color: Some(&scene_color.views), ..shading };
                Some(Glass::new(gpu, &layouts.frame, (&targets, glass), look, &shading)?)
            }
            _ => None,
        };
        let frame_buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("frame"),
            size: size_of::<gpu_types::Frame>() as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let [frame_group, frame_group_without_maps] = frame_groups(&frame_buffer);
        Ok(Self {
            look,
            targets,
            classify,
            expand_samples,
            scene_color,
            glass,
            clip_from_world: Mat4::IDENTITY,
            frame_group,
            frame_group_without_maps,
            frame_buffer,
        })
    }

    /// Updates the values for the next frame.
    pub(crate) fn update(&mut self, gpu: &Gpu, frame: &gpu_types::Frame) {
        self.clip_from_world = Mat4::from_cols_array_2d(&frame.clip_from_world);
        gpu.write(&self.frame_buffer, 0, bytemuck::bytes_of(frame));
    }
}
