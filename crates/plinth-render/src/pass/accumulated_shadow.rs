//! Draws a soft shadow of the key light on the floor. The soft shadow is the mean of many sharp shadows, each cast by
//! another point of the light.

use glam::{Mat4, Vec3};
use plinth_scene::{KeyLight, Shot};

use super::floor::{FloorArea, plane};
use super::shadow_map::{depth_texture, key_view};
use super::{cleared, kept};
use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::gpu_types::Frame;
use crate::pipelines::{ADDED, FullScreen, FullScreenTarget, full_screen};
use crate::recorder::Recorder;
use crate::upload::geometry::filled;
use crate::upload::kept_shadows::{COPIED, ShadowKey};
use crate::upload::material::MaterialOnGpu;
use crate::upload::pool::Model;

/// Number of points on the light from which shadows are drawn.
const POINTS: usize = 64;
/// Side length in texels of the shadow map that is drawn for each point.
const MAP_SIDE: u32 = 640;
/// Format of the sum of the shadows. The format must be able to represent sums of many small values.
const SUM_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::R16Float;

/// Draws the shadows and computes their sum.
pub(crate) struct AccumulatedShadow {
    /// Shadow map of the current point of the light.
    pub(crate) map: wgpu::TextureView,
    /// For each texel of the floor, the fraction of the light that is blocked.
    pub(crate) sum: wgpu::TextureView,
    area: FloorArea,
    points: Vec<Point>,
    pipeline: wgpu::RenderPipeline,
    group: wgpu::BindGroup,
}

/// A point on the light.
struct Point {
    clip_from_world: Mat4,
    buffer: wgpu::Buffer,
    /// Bind group 0 for the shadow map of this point, which replaces the shadow map of the key light.
    frame: wgpu::BindGroup,
}

/// The light, and the bounds of the model.
pub(crate) struct ShadowLight<'a> {
    pub(crate) key: &'a KeyLight,
    /// Radius of the light as a fraction of its distance from the model.
    pub(crate) size: f32,
    /// Centre of the model's bounding sphere.
    pub(crate) center: Vec3,
    pub(crate) radius: f32,
}

impl AccumulatedShadow {
    /// Creates the resources of the shadow maps. `frame_group` creates bind group 0 from a uniform buffer. `area` is
    /// the part of the floor on which the shadow falls, and `floor` is its uniform.
    pub(crate) fn new(
        gpu: &Gpu,
        frame_layout: &wgpu::BindGroupLayout,
        light: &ShadowLight<'_>,
        (area, floor): (FloorArea, &wgpu::Buffer),
        side: u32,
        frame_group: &dyn Fn(&wgpu::Buffer) -> wgpu::BindGroup,
    ) -> Result<Self, RenderError> {
        let map = depth_texture(gpu, MAP_SIDE);
        let sum = plane(gpu, side, SUM_FORMAT, wgpu::TextureUsages::RENDER_ATTACHMENT | COPIED)
            .create_view(&wgpu::TextureViewDescriptor::default());
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let points = (0..POINTS)
            .map(|i| {
                let buffer = filled(gpu, "frame", bytemuck::bytes_of(&Frame::default()), usage)?;
                let key = KeyLight { position: place(light, i), ..*light.key };
                let clip_from_world = key_view(&key, light.center, light.radius).clip_from_world;
                Ok(Point { clip_from_world, frame: frame_group(&buffer), buffer })
            })
            .collect::<Result<Vec<_>, RenderError>>()?;
        let layout = bindings::layout(
            &gpu.device,
            "accumulate",
            &[bindings::uniform(0), bindings::texture(1, wgpu::TextureSampleType::Depth)],
        );
        let pipeline = full_screen(
            gpu,
            &FullScreen {
                label: "accumulate",
                path: "pass/accumulate.wgsl",
                defines: &[],
                constants: &[("SHARE", 1.0 / POINTS as f64)],
                groups: &[frame_layout, &layout],
                target: FullScreenTarget { colors: &[SUM_FORMAT], blend: Some(ADDED), ..Default::default() },
            },
        )?;
        let resources = [floor.as_entire_binding(), bindings::view(&map)];
        let group = bindings::group(&gpu.device, "accumulate", &layout, &resources);
        Ok(Self { map, sum, area, points, pipeline, group })
    }

    /// Updates the uniforms of all points from the uniform of the frame.
    pub(crate) fn update(&self, gpu: &Gpu, frame: &Frame) {
        for point in &self.points {
            let own = Frame { key_clip_from_world: point.clip_from_world.to_cols_array_2d(), ..*frame };
            gpu.write(&point.buffer, 0, bytemuck::bytes_of(&own));
        }
    }

    /// Returns the key under which the sum of the shadows in a shot is kept.
    pub(crate) fn key(&self, model: (Model<'_>, &[MaterialOnGpu]), shot: &Shot) -> Option<ShadowKey> {
        let projections = self.points.iter().map(|point| point.clip_from_world).collect();
        ShadowKey::new(model, shot, projections, Some(self.area))
    }

    /// Returns bind group 0 for each point of the light.
    pub(crate) fn views(&self) -> impl Iterator<Item = &wgpu::BindGroup> {
        self.points.iter().map(|point| &point.frame)
    }

    /// Adds the shadow of the current shadow map to the sum.
    pub(crate) fn add(&self, recorder: &mut Recorder<'_>, frame: &wgpu::BindGroup, is_first: bool) {
        let target = if is_first { cleared(&self.sum) } else { kept(&self.sum) };
        let mut pass = recorder.pass("accumulate", frame, &[target], None);
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(1, &self.group, &[]);
        pass.draw(0..3, 0..1);
    }
}

/// Returns the position of point `i`. The points are spread evenly over the disc of the light (Vogel 1979).
fn place(light: &ShadowLight<'_>, i: usize) -> Vec3 {
    const GOLDEN_ANGLE: f32 = 2.399_963_2;
    let axis = light.key.target - light.key.position;
    let distance = axis.length().max(1e-3);
    let (right, up) = (axis / distance).any_orthonormal_pair();
    let r = light.size * distance * ((i as f32 + 0.5) / POINTS as f32).sqrt();
    let (sin, cos) = (GOLDEN_ANGLE * i as f32).sin_cos();
    light.key.position + right * (r * cos) + up * (r * sin)
}
