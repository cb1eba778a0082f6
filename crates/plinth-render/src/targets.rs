//! The render targets of a view.

use plinth_frame::Region;

use crate::gpu::Gpu;
use crate::pass::visibility::{SURFACES, SurfaceMaps};
use crate::pipelines::{BATCH_FORMAT, DEPTH_FORMAT, SURFACE_FORMAT, SurfaceOutput};

/// The render targets of a view. `finished` covers the drawn region of the picture, and `surfaces` and `batches` cover
/// the canvas. All other targets cover only the region that the model can cover.
pub(crate) struct Targets {
    /// The number of the visible triangle in each sample. Not used if the processor determines the visible surfaces.
    pub(crate) triangles: wgpu::TextureView,
    /// The depth of each sample. If the processor determines the visible surfaces, the depth is used only if other surfaces
    /// are drawn over them.
    pub(crate) depth: wgpu::TextureView,
    /// The first and the second surface of each pixel.
    pub(crate) surfaces: [wgpu::TextureView; SURFACES],
    /// For each surface of a pixel, the number of the batch to which it belongs, stored as depth.
    pub(crate) batches: [wgpu::TextureView; SURFACES],
    /// The colours of the surfaces. `None` if they are shaded directly into the picture.
    pub(crate) colors: Option<[wgpu::TextureView; SURFACES]>,
    /// Surfaces and colours of glass that is drawn through a visibility buffer. `None` if there is no such glass.
    pub(crate) glass: Option<GlassTargets>,
    /// The multisampled target to which transmissive and blended surfaces are drawn. `None` if there are no such
    /// surfaces.
    pub(crate) transparent: Option<wgpu::TextureView>,
    /// The finished picture with one sample per pixel.
    pub(crate) finished: wgpu::Texture,
    pub(crate) finished_view: wgpu::TextureView,
    /// The scene colour pyramid. `None` if there are no transmissive surfaces.
    pub(crate) scene_color: Option<SceneColorTargets>,
}

/// Format of the scene colour pyramid.
pub(crate) const SCENE_COLOR_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba16Float;
/// Format of two values: the distance times the coverage, and the coverage.
pub(crate) const DISTANCE_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rg16Float;
/// Format of unit vectors.
pub(crate) const NORMAL_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba16Float;

/// How transmissive surfaces show the scene behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SceneBehind {
    /// All surfaces are smooth. They read only the first level of the scene colour pyramid.
    Sharp,
    /// Some surfaces are rough. They read all levels of the scene colour pyramid.
    Blurred,
}

/// The render targets of the scene colour pyramid, from which refracted rays read.
pub(crate) struct SceneColorTargets {
    /// The picture drawn so far.
    pub(crate) color: wgpu::Texture,
    /// For the opaque part of the picture, the distance along the camera's axis times the coverage, and the coverage.
    pub(crate) distance: wgpu::Texture,
    /// The normal and the distance of the back faces of the glass body that will be drawn next. `back_face_depth` is
    /// the depth buffer for drawing them.
    pub(crate) back_faces: wgpu::TextureView,
    pub(crate) back_face_depth: wgpu::TextureView,
}

/// The properties from which the render targets are created.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TargetDescriptor {
    pub(crate) region: Region,
    pub(crate) model_region: Region,
    pub(crate) samples: u32,
    /// Format of triangle numbers.
    pub(crate) triangle_format: wgpu::TextureFormat,
    pub(crate) color_format: wgpu::TextureFormat,
    /// Format of the picture to which the model, the floor and the backdrop are composited.
    pub(crate) picture_format: wgpu::TextureFormat,
    pub(crate) finished_format: wgpu::TextureFormat,
    pub(crate) output: SurfaceOutput,
    pub(crate) transparent: bool,
    /// Whether some surfaces are displayed without applying the tone curve.
    pub(crate) has_unlit: bool,
    /// How transmissive surfaces show the scene. `None` if there are no such surfaces.
    pub(crate) scene_behind: Option<SceneBehind>,
    /// Whether some glass is drawn through a visibility buffer.
    pub(crate) visibility_buffered_glass: bool,
    /// Whether surfaces are shaded directly into the picture, over the backdrop.
    pub(crate) direct: bool,
    /// Whether surfaces may be shaded directly into the picture where no blended surfaces are drawn over them (see
    /// [`crate::pass::around_blended`]). Their targets are the same as without.
    pub(crate) around_blended: bool,
    /// Whether the processor determines which surfaces are visible (see [`crate::host_visibility`]).
    pub(crate) on_host: bool,
}

/// The surfaces of glass, and their colours. The opaque surfaces are kept in other targets, because the picture is
/// composited from them where there is no glass.
pub(crate) struct GlassTargets {
    pub(crate) surfaces: [wgpu::TextureView; SURFACES],
    pub(crate) colors: [wgpu::TextureView; SURFACES],
}

impl TargetDescriptor {
    /// Returns the region of the picture that the render targets of the model's surfaces cover (the canvas).
    pub(crate) const fn canvas(&self) -> Region {
        if self.direct { self.region } else { self.model_region }
    }

    /// Returns whether the maps of opaque surfaces are kept until the next frame replaces them. Glass that is drawn
    /// through a visibility buffer also writes the numbers of batches, so these maps are cleared for each frame.
    pub(crate) const fn replaces_maps(&self) -> bool {
        !self.visibility_buffered_glass
    }

    /// Returns the position of the first pixel of the model's region on the canvas.
    pub(crate) const fn origin(&self) -> [u32; 2] {
        let (canvas, model) = (self.canvas(), self.model_region);
        [model.x - canvas.x, model.y - canvas.y]
    }
}

impl Targets {
    pub(crate) fn new(gpu: &Gpu, look: TargetDescriptor) -> Self {
        let attachment = wgpu::TextureUsages::RENDER_ATTACHMENT;
        let readable = attachment | wgpu::TextureUsages::TEXTURE_BINDING;
        // Maps that the processor computes are uploaded.
        let written = if look.on_host { wgpu::TextureUsages::COPY_DST } else { wgpu::TextureUsages::empty() };
        let model = look.model_region;
        let copied = wgpu::TextureUsages::COPY_SRC | wgpu::TextureUsages::COPY_DST;
        let finished = texture(gpu, look.region, 1, look.finished_format, readable | copied, 1);
        let finished_view = view(&finished);
        let part = |samples, format, usage| view(&texture(gpu, model, samples, format, usage, 1));
        let canvas = |format, usage| view(&texture(gpu, look.canvas(), 1, format, usage, 1));
        // A target that no pass uses has one pixel.
        let samples_if = |used: bool, format| {
            let size = if used { model } else { Region::whole(1, 1) };
            view(&texture(gpu, size, look.samples, format, readable, 1))
        };
        let transparent = look.transparent.then(|| part(look.samples, look.color_format, readable));
        // A part of the picture is copied to the first colours and back.
        let colors = if look.around_blended { readable | copied } else { readable };
        let glass = look.visibility_buffered_glass.then(|| GlassTargets {
            surfaces: [(); SURFACES].map(|()| part(1, SURFACE_FORMAT, readable)),
            colors: [(); SURFACES].map(|()| part(1, look.color_format, readable)),
        });
        let scene_color = look.scene_behind.map(|behind| {
            let mips = match behind {
                SceneBehind::Sharp => 1,
                SceneBehind::Blurred => model.width.max(model.height).ilog2().clamp(1, 8),
            };
            SceneColorTargets {
                color: texture(gpu, model, 1, SCENE_COLOR_FORMAT, readable, mips),
                distance: texture(gpu, model, 1, DISTANCE_FORMAT, readable, mips),
                back_faces: part(1, NORMAL_FORMAT, readable),
                back_face_depth: part(1, DEPTH_FORMAT, attachment),
            }
        });
        Self {
            triangles: samples_if(!look.on_host, look.triangle_format),
            depth: samples_if(!look.on_host || look.transparent, DEPTH_FORMAT),
            surfaces: [(); SURFACES].map(|()| canvas(SURFACE_FORMAT, readable | written)),
            batches: [(); SURFACES].map(|()| canvas(BATCH_FORMAT, attachment | written)),
            colors: (!look.direct).then(|| [(); SURFACES].map(|()| part(1, look.color_format, colors))),
            glass,
            transparent,
            finished,
            finished_view,
            scene_color,
        }
    }
}

impl Targets {
    /// Returns the maps of opaque surfaces.
    pub(crate) const fn solid_maps(&self) -> SurfaceMaps<'_> {
        self.maps(&self.surfaces)
    }

    /// Returns the maps of glass that is drawn through a visibility buffer.
    pub(crate) const fn glass_maps<'a>(&'a self, glass: &'a GlassTargets) -> SurfaceMaps<'a> {
        self.maps(&glass.surfaces)
    }

    const fn maps<'a>(&'a self, surfaces: &'a [wgpu::TextureView; SURFACES]) -> SurfaceMaps<'a> {
        SurfaceMaps { triangles: &self.triangles, depth: &self.depth, surfaces, batches: &self.batches }
    }
}

fn view(texture: &wgpu::Texture) -> wgpu::TextureView {
    texture.create_view(&wgpu::TextureViewDescriptor::default())
}

pub(crate) fn texture(
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
