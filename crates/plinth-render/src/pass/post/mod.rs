//! What happens to a picture after it is put together: blur of the lens, glow, and how it is developed. Nothing of it
//! exists where a render asks for none of it.

mod bloom;
mod develop;
mod focus;

use plinth_frame::Region;
use plinth_scene::{PostLook, Shot};

use crate::RenderError;
use crate::frame_uniform::pixels_per_unit;
use crate::gpu::Gpu;
use crate::gpu_types::Lens;
use crate::pass::composite::{Composite, CompositeInto};
use crate::pass::geometry::GeometryTargets;
use crate::recorder::Recorder;
use crate::targets::{TargetLook, Targets, texture};
use crate::upload::geometry::filled;

use bloom::Bloom;
use develop::Develop;
use focus::Focus;

/// Format of pictures on their way through.
pub(crate) const PICTURE_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba16Float;

/// All that comes after the composite.
pub(crate) struct Post {
    /// The picture that the composite writes.
    pub(crate) picture: wgpu::TextureView,
    /// What depth of field and ink need to know.
    pub(crate) surfaces: Option<Surfaces>,
    focus: Option<Focus>,
    glow: Option<Glow>,
    develop: Develop,
}

/// Where the surfaces are, and the lens that looks at them.
pub(crate) struct Surfaces {
    pub(crate) targets: GeometryTargets,
    lens: wgpu::Buffer,
}

/// Bloom, and the radiance it comes from.
struct Glow {
    radiance: wgpu::TextureView,
    composite: Composite,
    bloom: Bloom,
}

impl Post {
    /// `None` where a picture is finished as it is.
    pub(crate) fn new(
        gpu: &Gpu,
        frame_layout: &wgpu::BindGroupLayout,
        post: &PostLook,
        look: &TargetLook,
        targets: &Targets,
    ) -> Result<Option<Self>, RenderError> {
        if post.is_plain() {
            return Ok(None);
        }
        let usage = wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::TEXTURE_BINDING;
        let whole = || {
            texture(gpu, look.region, 1, PICTURE_FORMAT, usage, 1).create_view(&wgpu::TextureViewDescriptor::default())
        };
        let picture = whole();
        let surfaces = if post.needs_surfaces() {
            let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
            let lens = filled(gpu, "lens", bytemuck::bytes_of(&Lens::default()), usage)?;
            Some(Surfaces { targets: GeometryTargets::new(gpu, look.model_region), lens })
        } else {
            None
        };
        let focus = match &surfaces {
            Some(surfaces) if post.aperture > 0.0 => Some(Focus::new(gpu, frame_layout, look, &picture, surfaces)?),
            _ => None,
        };
        let glow = if post.bloom > 0.0 {
            let radiance = whole();
            let composite = Composite::new(gpu, frame_layout, look, targets, CompositeInto::Radiance)?;
            let bloom = Bloom::new(gpu, frame_layout, look.region, &radiance)?;
            Some(Glow { radiance, composite, bloom })
        } else {
            None
        };
        let develop = Develop::new(
            gpu,
            frame_layout,
            post,
            look,
            &develop::Sources {
                picture: &picture,
                glow: glow.as_ref().map(|glow| glow.bloom.result()),
                blurred: focus.as_ref().map(Focus::result),
                surfaces: surfaces.as_ref(),
            },
        )?;
        Ok(Some(Self { picture, surfaces, focus, glow, develop }))
    }

    /// Sets what differs between frames.
    pub(crate) fn update(&self, gpu: &Gpu, post: &PostLook, shot: &Shot, look: &TargetLook, height: u32) {
        if let Some(surfaces) = &self.surfaces {
            gpu.queue.write_buffer(&surfaces.lens, 0, bytemuck::bytes_of(&lens(post, shot, look, height)));
        }
    }

    /// From the picture to the finished one.
    pub(crate) fn run(
        &self,
        recorder: &mut Recorder<'_>,
        frame: &wgpu::BindGroup,
        layered: Option<Region>,
        finished: &wgpu::TextureView,
    ) {
        if let Some(focus) = &self.focus {
            focus.run(recorder, frame);
        }
        if let Some(Glow { radiance, composite, bloom }) = &self.glow {
            composite.run(recorder, frame, (None, None, None), layered, radiance);
            bloom.run(recorder, frame);
        }
        self.develop.run(recorder, frame, finished);
    }
}

/// The greatest radius of blur in pixels of a picture of this height.
fn widest_blur(height: u32) -> f32 {
    0.03 * height as f32
}

fn lens(post: &PostLook, shot: &Shot, look: &TargetLook, height: u32) -> Lens {
    let part = look.model_region;
    let (x, y) = (part.x - look.region.x, part.y - look.region.y);
    Lens {
        look: [post.aperture, shot.focus, pixels_per_unit(&shot.camera, height), widest_blur(height)],
        part: [x as f32, y as f32, part.width as f32, part.height as f32],
    }
}
