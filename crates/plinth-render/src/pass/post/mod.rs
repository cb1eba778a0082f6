//! Post-processing of the composited picture: depth of field, bloom, and effects that are computed for each pixel. No
//! resources are created for effects that are off.

mod bloom;
mod depth_of_field;
mod pixel_effects;

use plinth_frame::Region;
use plinth_scene::{Scene, Shot};

use crate::RenderError;
use crate::frame_uniform::pixels_per_unit;
use crate::gpu::Gpu;
use crate::gpu_types::Lens;
use crate::pass::geometry::GeometryTargets;
use crate::pipelines::{PipelineBase, Precision};
use crate::recorder::Recorder;
use crate::targets::{TargetDescriptor, Targets, texture};
use crate::upload::geometry::filled;
use crate::upload::material::MaterialOnGpu;
use crate::upload::pool::Model;

use bloom::Bloom;
use depth_of_field::DepthOfField;
use pixel_effects::PixelEffects;

/// Format of the pictures between post-processing passes.
pub(crate) const PICTURE_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba16Float;

/// All passes that follow the composite pass.
pub(crate) struct Post {
    /// The picture to which the composite pass writes.
    pub(crate) picture: wgpu::TextureView,
    texture: wgpu::Texture,
    /// Normals and distances, which depth of field and outlines need.
    pub(crate) surfaces: Option<Surfaces>,
    depth_of_field: Option<DepthOfField>,
    bloom: Option<Bloom>,
    pixel_effects: PixelEffects,
}

/// Textures with normals and distances, and the uniform of the lens.
pub(crate) struct Surfaces {
    pub(crate) targets: GeometryTargets,
    lens: wgpu::Buffer,
}

impl Post {
    /// Creates the passes. Returns `None` if there are no effects. `reach` is the largest blur radius in pixels.
    /// `radiance` is the target to which the composite pass writes the radiance for bloom.
    pub(crate) fn new(
        base: &PipelineBase<'_>,
        scene: &Scene,
        (look, reach): (&TargetDescriptor, u32),
        model: (Model<'_>, &[MaterialOnGpu]),
        radiance: Option<&wgpu::TextureView>,
    ) -> Result<Option<Self>, RenderError> {
        let (post, gpu, frame_layout) = (&scene.post, base.gpu, base.frame_layout);
        if post.is_plain() {
            return Ok(None);
        }
        let usage = wgpu::TextureUsages::RENDER_ATTACHMENT
            | wgpu::TextureUsages::TEXTURE_BINDING
            | wgpu::TextureUsages::COPY_SRC
            | wgpu::TextureUsages::COPY_DST;
        let texture = texture(gpu, look.region, 1, look.picture_format, usage, 1);
        let picture = texture.create_view(&wgpu::TextureViewDescriptor::default());
        let surfaces = if post.needs_surfaces() {
            let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
            let lens = filled(gpu, "lens", bytemuck::bytes_of(&Lens::default()), usage)?;
            let targets = GeometryTargets::new(base, look.model_region, model, Precision::Interpolated)?;
            Some(Surfaces { targets, lens })
        } else {
            None
        };
        let depth_of_field = match &surfaces {
            Some(surfaces) if post.aperture > 0.0 => {
                Some(DepthOfField::new(gpu, frame_layout, look, reach, &picture, surfaces)?)
            }
            _ => None,
        };
        let bloom = match radiance {
            Some(radiance) => {
                let glow = (look.region, look.finished_format);
                Some(Bloom::new(gpu, frame_layout, glow, post.bloom, radiance)?)
            }
            None => None,
        };
        let sources = pixel_effects::Sources {
            picture: &picture,
            glow: bloom.as_ref().map(Bloom::result),
            blurred: depth_of_field.as_ref().map(DepthOfField::result),
            surfaces: surfaces.as_ref(),
            reach,
        };
        let pixel_effects = PixelEffects::new(gpu, frame_layout, post, look, &sources)?;
        Ok(Some(Self { picture, texture, surfaces, depth_of_field, bloom, pixel_effects }))
    }

    /// Updates the values that differ between frames.
    pub(crate) fn update(&self, gpu: &Gpu, scene: &Scene, shot: &Shot, look: &TargetDescriptor, height: u32) {
        if let Some(surfaces) = &self.surfaces {
            gpu.write(&surfaces.lens, 0, bytemuck::bytes_of(&lens(scene, shot, look, height)));
        }
    }

    /// Records all passes, the last of which draws the finished picture.
    pub(crate) fn run(&self, recorder: &mut Recorder<'_>, frame: &wgpu::BindGroup, targets: &Targets) {
        if let Some(depth_of_field) = &self.depth_of_field {
            depth_of_field.run(recorder, frame);
        }
        if let Some(bloom) = &self.bloom {
            bloom.run(recorder, frame);
        }
        self.pixel_effects.run(recorder, frame, &self.texture, targets);
    }
}

/// Maximum blur radius as a fraction of the picture's height.
const MAX_BLUR: f32 = 0.03;

/// Returns the largest blur radius over all frames, in whole pixels of a picture that is `height` pixels high. If
/// `any_camera` is true, the frames may also have cameras that are not in the scene.
pub(crate) fn blur_reach(scene: &Scene, height: u32, any_camera: bool) -> u32 {
    let radius = if any_camera {
        MAX_BLUR * height as f32
    } else {
        scene.shots.iter().map(|shot| widest_blur(scene, shot, height)).fold(0.0, f32::max)
    };
    radius.ceil() as u32
}

/// Returns the largest blur radius in a frame, in pixels. The largest radius occurs at the nearest or the farthest part
/// of the model. The formula is the same as in the shader function `blur_radius`.
fn widest_blur(scene: &Scene, shot: &Shot, height: u32) -> f32 {
    let camera = &shot.camera;
    let forward = -camera.view_from_world.row(2).truncate();
    let middle = (scene.bounds.0 + scene.bounds.1) * 0.5;
    let radius = ((scene.bounds.1 - scene.bounds.0) * 0.5).dot(forward.abs());
    let away = (middle - camera.position).dot(forward);
    let at = |distance: f32| {
        let distance = distance.max(camera.near);
        let blur = (distance - shot.focus).abs() / distance / shot.focus;
        0.5 * scene.post.aperture * blur * pixels_per_unit(camera, height)
    };
    at(away - radius).max(at(away + radius)).min(MAX_BLUR * height as f32)
}

fn lens(scene: &Scene, shot: &Shot, look: &TargetDescriptor, height: u32) -> Lens {
    let part = look.model_region;
    let (x, y) = (part.x - look.region.x, part.y - look.region.y);
    Lens {
        aperture: scene.post.aperture,
        focus: shot.focus,
        pixels_per_unit: pixels_per_unit(&shot.camera, height),
        widest_blur: widest_blur(scene, shot, height),
        part_origin: [x as f32, y as f32],
        part_size: [part.width as f32, part.height as f32],
    }
}

/// Returns the model's region after enlarging it by `room` pixels on all sides, within the drawn region. The result is
/// divided by `scale`.
fn around_model(look: &TargetDescriptor, room: u32, scale: u32) -> Region {
    let (part, drawn) = (look.model_region, look.region);
    let along = |first: u32, length: u32, limit: u32| {
        let start = first.saturating_sub(room) / scale;
        (start, (first + length + room).div_ceil(scale).min(limit.div_ceil(scale)) - start)
    };
    let (x, width) = along(part.x - drawn.x, part.width, drawn.width);
    let (y, height) = along(part.y - drawn.y, part.height, drawn.height);
    Region { x, y, width, height }
}
