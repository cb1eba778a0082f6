//! The view of a camera: the render targets of its picture, and the passes that use them.

use glam::Mat4;
use plinth_frame::Region;

use crate::RenderError;
use crate::gpu::Gpu;
use crate::gpu_scene::GpuScene;
use crate::gpu_types;
use crate::host_visibility::HostVisibility;
use crate::layouts::Layouts;
use crate::pass::around_blended::AroundBlended;
use crate::pass::composite::ModelParts;
use crate::pass::expand_samples::{ExpandSamples, SurfaceColors};
use crate::pass::glass::Glass;
use crate::pass::scene_color::SceneColorPyramid;
use crate::pass::shading::{Shaded, ShadingOrder};
use crate::pass::visibility::{Classify, Shading};
use crate::targets::{TargetDescriptor, Targets};
use crate::upload::pool::Model;

/// The picture of the model as seen by one camera, with the passes that draw it.
pub(crate) struct View {
    pub(crate) look: TargetDescriptor,
    pub(crate) targets: Targets,
    pub(crate) classify: Classify,
    /// The visible surfaces, if the processor determines them.
    pub(crate) host_visibility: Option<HostVisibility>,
    pub(crate) expand_samples: Option<ExpandSamples>,
    /// `None` if all opaque surfaces are always shaded into the same target.
    pub(crate) around_blended: Option<AroundBlended>,
    pub(crate) scene_color: Option<SceneColorPyramid>,
    /// Passes for glass that is drawn through a visibility buffer.
    pub(crate) glass: Option<Glass>,
    /// Transform from world space to clip space for the camera of the current frame.
    pub(crate) clip_from_world: Mat4,
    /// For each batch, the region of the canvas in which it can be visible in the current frame.
    pub(crate) parts: Vec<Option<Region>>,
    /// How the batches are shaded in the current frame.
    pub(crate) shaded: Shaded,
    /// The vertex stream of shading, which contains `shaded.instances`.
    pub(crate) shaded_batches: wgpu::Buffer,
    /// Bind group 0. Passes that draw the shadow maps use `frame_group_without_maps` instead.
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
        (model, triangles): (Model<'_>, &wgpu::Buffer),
        frame_groups: &dyn Fn(&wgpu::Buffer) -> [wgpu::BindGroup; 2],
    ) -> Result<Self, RenderError> {
        let targets = Targets::new(gpu, look);
        let shading = Shading { layout: &layouts.pool, model, triangles, scene_color: None };
        let classify = Classify::new(gpu, &layouts.frame, targets.solid_maps(), look, &shading)?;
        let expand_samples = match (&targets.transparent, &targets.colors) {
            (Some(_), Some(colors)) => Some(ExpandSamples::new(
                gpu,
                &layouts.frame,
                (&targets.surfaces, colors),
                &classify.tiles,
                SurfaceColors::Shares,
                &look,
            )?),
            _ => None,
        };
        let around_blended = AroundBlended::new(gpu, &layouts.frame, &look)?;
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
        let shaded_batches = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("shaded batches"),
            size: ShadingOrder::max_bytes(model.batches, look.on_host),
            usage: wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let [frame_group, frame_group_without_maps] = frame_groups(&frame_buffer);
        Ok(Self {
            look,
            targets,
            classify,
            host_visibility: look.on_host.then(HostVisibility::default),
            expand_samples,
            around_blended,
            scene_color,
            glass,
            clip_from_world: Mat4::IDENTITY,
            parts: Vec::new(),
            shaded: Shaded::default(),
            shaded_batches,
            frame_group,
            frame_group_without_maps,
            frame_buffer,
        })
    }

    /// Returns what is needed to shade surfaces directly into the picture around blended surfaces. Returns `None` if the
    /// frame, whose surfaces are in the regions `model`, is drawn without.
    pub(crate) fn around_blended(&self, model: ModelParts) -> Option<&AroundBlended> {
        self.around_blended.as_ref().filter(|_around| AroundBlended::saves_time(model))
    }

    /// Updates the values for the next frame.
    pub(crate) fn update(&mut self, gpu: &Gpu, frame: &gpu_types::Frame, gpu_scene: &GpuScene) {
        self.clip_from_world = Mat4::from_cols_array_2d(&frame.clip_from_world);
        gpu.write(&self.frame_buffer, 0, bytemuck::bytes_of(frame));
        let transparent = gpu_scene.transparent_part(self);
        if let Some(host_visibility) = &mut self.host_visibility {
            let maps = (&self.look, &self.targets, &self.classify.tiles);
            host_visibility.update(gpu, (frame, transparent), maps, gpu_scene);
        }
        let batches = 0..gpu_scene.batches.len();
        self.parts = batches.map(|i| gpu_scene.part_of(&self.look, &self.clip_from_world, i)).collect();
        let seen = self.host_visibility.as_ref().and_then(|host_visibility| host_visibility.seen.as_ref());
        self.shaded = gpu_scene.shading.shaded(&self.look, &self.clip_from_world, (&self.parts, seen), gpu_scene);
        gpu.write(&self.shaded_batches, 0, bytemuck::cast_slice(&self.shaded.instances));
    }
}
