//! What frames are drawn into.

use plinth_frame::Region;

use crate::gpu::Gpu;
use crate::pipelines::{DEPTH_FORMAT, SurfaceOutput};

/// The textures of a frame, all of the region's size.
pub(crate) struct Targets {
    /// What surfaces are drawn into.
    pub(crate) color: wgpu::TextureView,
    /// Depth of the same samples.
    pub(crate) depth: wgpu::TextureView,
    /// The finished picture, one sample a pixel.
    pub(crate) finished: wgpu::Texture,
    pub(crate) finished_view: wgpu::TextureView,
    /// What was drawn before transmissive surfaces, with mip levels; only where there are any.
    pub(crate) behind: Option<Behind>,
}

/// The opaque part of the picture, as refracted rays find it.
pub(crate) struct Behind {
    pub(crate) color: wgpu::Texture,
    pub(crate) mips: u32,
}

/// What decides the targets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TargetLook {
    pub(crate) region: Region,
    pub(crate) samples: u32,
    pub(crate) color_format: wgpu::TextureFormat,
    pub(crate) finished_format: wgpu::TextureFormat,
    pub(crate) output: SurfaceOutput,
    pub(crate) transmissive: bool,
}

impl Targets {
    pub(crate) fn new(gpu: &Gpu, look: TargetLook) -> Self {
        let attachment = wgpu::TextureUsages::RENDER_ATTACHMENT;
        let readable = attachment | wgpu::TextureUsages::TEXTURE_BINDING;
        let color_usage = if look.output == SurfaceOutput::Radiance { readable } else { attachment };
        let single = look.samples == 1;
        let finished = texture(gpu, look.region, 1, look.finished_format, attachment | wgpu::TextureUsages::COPY_SRC, 1);
        let finished_view = view(&finished);
        // Without multisampling, display-referred surfaces are drawn straight into the finished picture.
        let color = if single && look.output == SurfaceOutput::Display {
            finished_view.clone()
        } else {
            view(&texture(gpu, look.region, look.samples, look.color_format, color_usage, 1))
        };
        let depth = view(&texture(gpu, look.region, look.samples, DEPTH_FORMAT, readable, 1));
        let behind = look.transmissive.then(|| {
            let mips = look.region.width.max(look.region.height).ilog2().clamp(1, 8);
            let color = texture(gpu, look.region, 1, wgpu::TextureFormat::Rgba16Float, readable, mips);
            Behind { color, mips }
        });
        Self { color, depth, finished, finished_view, behind }
    }
}

fn view(texture: &wgpu::Texture) -> wgpu::TextureView {
    texture.create_view(&wgpu::TextureViewDescriptor::default())
}

fn texture(
    gpu: &Gpu,
    region: Region,
    samples: u32,
    format: wgpu::TextureFormat,
    usage: wgpu::TextureUsages,
    mips: u32,
) -> wgpu::Texture {
    gpu.device.create_texture(&wgpu::TextureDescriptor {
        label: Some("target"),
        size: wgpu::Extent3d { width: region.width, height: region.height, depth_or_array_layers: 1 },
        mip_level_count: mips,
        sample_count: samples,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage,
        view_formats: &[],
    })
}
