//! What frames are drawn into.

use plinth_frame::Region;

use crate::gpu::Gpu;
use crate::pipelines::{DEPTH_FORMAT, SurfaceOutput};

/// The textures of a frame.
pub(crate) struct Targets {
    /// What surfaces are drawn into: the part of the picture that the model covers.
    pub(crate) color: wgpu::TextureView,
    /// Depth of the same samples.
    pub(crate) depth: wgpu::TextureView,
    /// The same part with one sample a pixel, where display colours are resolved.
    pub(crate) resolved: Option<wgpu::TextureView>,
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
    pub(crate) model_region: Region,
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
        let model = look.model_region;
        let finished =
            texture(gpu, look.region, 1, look.finished_format, attachment | wgpu::TextureUsages::COPY_SRC, 1);
        let finished_view = view(&finished);
        let resolves = look.samples > 1 && look.output == SurfaceOutput::Display;
        let color_usage = if resolves { attachment } else { readable };
        let color = view(&texture(gpu, model, look.samples, look.color_format, color_usage, 1));
        let resolved = resolves.then(|| view(&texture(gpu, model, 1, look.color_format, readable, 1)));
        let depth = view(&texture(gpu, model, look.samples, DEPTH_FORMAT, readable, 1));
        let behind = look.transmissive.then(|| {
            let mips = model.width.max(model.height).ilog2().clamp(1, 8);
            let color = texture(gpu, model, 1, wgpu::TextureFormat::Rgba16Float, readable, mips);
            Behind { color, mips }
        });
        Self { color, depth, resolved, finished, finished_view, behind }
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
