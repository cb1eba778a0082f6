//! Composites the model, the floor and the backdrop to one picture.

use plinth_frame::Region;

use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::pass::background::BackgroundPass;
use crate::pass::floor::Floor;
use crate::pass::post::PICTURE_FORMAT;
use crate::pass::reflection::Reflection;
use crate::pass::visibility::{SURFACES, joined};
use crate::pass::{cleared, kept};
use crate::pipelines::{FullScreen, FullScreenTarget, SurfaceOutput, full_screen};
use crate::recorder::Recorder;
use crate::targets::{TargetDescriptor, Targets};
use crate::upload::geometry::filled;

/// The pass that composites the model, the floor and the backdrop.
pub(crate) struct Composite {
    /// Draws opaque surfaces. `None` if they are shaded directly into the picture.
    surfaces: Option<CompositeDraw>,
    /// Draws transmissive and blended surfaces.
    transparent: Option<CompositeDraw>,
    /// Region that the model can cover, relative to the drawn region.
    part: Region,
    backdrop: wgpu::Color,
    /// Target for the radiance of the model, if there is bloom.
    radiance: Option<wgpu::TextureView>,
}

/// The regions of a frame that the model covers.
#[derive(Clone, Copy, Default)]
pub(crate) struct ModelParts {
    /// Region that contains the opaque surfaces; `None` if there are no opaque surfaces.
    pub(crate) solid: Option<Region>,
    /// Region that contains the transmissive and blended surfaces; `None` if there are no such surfaces.
    pub(crate) transparent: Option<Region>,
}

impl ModelParts {
    /// Returns the smallest region that contains both regions.
    pub(crate) fn whole(self) -> Option<Region> {
        self.solid.into_iter().chain(self.transparent).reduce(joined)
    }
}

/// Where the colours of the model are read from.
#[derive(Clone, Copy)]
enum ColorSource<'a> {
    Surfaces(&'a [wgpu::TextureView; SURFACES]),
    Samples(&'a wgpu::TextureView),
}

/// A pipeline and its bind group, for one kind of surfaces.
struct CompositeDraw {
    pipeline: wgpu::RenderPipeline,
    group: wgpu::BindGroup,
}

impl Composite {
    /// Creates the pass. `backdrop` is an sRGB-encoded colour with alpha 1, or all zero for a transparent picture.
    /// `radiance` receives the radiance of the model without the floor and the backdrop. The size of `radiance` is that
    /// of the drawn region.
    pub(crate) fn new(
        gpu: &Gpu,
        frame_layout: &wgpu::BindGroupLayout,
        look: &TargetDescriptor,
        targets: &Targets,
        backdrop: wgpu::Color,
        radiance: Option<wgpu::TextureView>,
    ) -> Result<Self, RenderError> {
        let formats = [look.picture_format, PICTURE_FORMAT];
        let colors = if radiance.is_some() { &formats[..] } else { &formats[..1] };
        let part = model_part(look);
        let origin = [part.x as f32, part.y as f32, 0.0, 0.0];
        let place = filled(gpu, "place", bytemuck::bytes_of(&origin), wgpu::BufferUsages::UNIFORM)?;
        let source = |from: ColorSource<'_>| {
            let mut defines = Vec::new();
            let mut entries = vec![bindings::uniform(0)];
            let mut resources = vec![place.as_entire_binding()];
            match from {
                ColorSource::Samples(samples) => {
                    defines.push("TRANSPARENT");
                    entries.push(bindings::multisampled(1, bindings::UNFILTERED, look.samples));
                    resources.push(bindings::view(samples));
                }
                ColorSource::Surfaces(colors) => {
                    entries.extend(surface_entries());
                    resources.extend(surface_resources(targets, colors));
                }
            }
            if look.samples > 1 {
                defines.push("MULTISAMPLED");
            }
            if look.output == SurfaceOutput::Radiance {
                defines.push("RADIANCE");
                if look.has_unlit {
                    defines.push("UNLIT");
                }
            }
            if radiance.is_some() {
                defines.push("GLOW");
            }
            let layout = bindings::layout(&gpu.device, "composite", &entries);
            let pipeline = full_screen(
                gpu,
                &FullScreen {
                    label: "composite",
                    path: "pass/composite.wgsl",
                    defines: &defines,
                    constants: &[("SAMPLES", f64::from(look.samples))],
                    groups: &[frame_layout, &layout],
                    target: FullScreenTarget {
                        colors,
                        blend: Some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING),
                        ..Default::default()
                    },
                },
            )?;
            Ok::<_, RenderError>(CompositeDraw {
                pipeline,
                group: bindings::group(&gpu.device, "composite", &layout, &resources),
            })
        };
        let surfaces = targets.colors.as_ref().map(|colors| source(ColorSource::Surfaces(colors))).transpose()?;
        let transparent =
            targets.transparent.as_ref().map(|samples| source(ColorSource::Samples(samples))).transpose()?;
        Ok(Self { surfaces, transparent, part, backdrop, radiance })
    }

    /// Writes all pixels of the picture. The model is omitted if it will be shaded directly into the picture. The floor
    /// is always drawn behind the model.
    pub(crate) fn run(
        &self,
        recorder: &mut Recorder<'_>,
        frame: &wgpu::BindGroup,
        (background, floor, reflection): (Option<&BackgroundPass>, Option<&Floor>, Option<&Reflection>),
        model: ModelParts,
        target: &wgpu::TextureView,
    ) {
        let color = wgpu::RenderPassColorAttachment {
            view: target,
            depth_slice: None,
            resolve_target: None,
            ops: wgpu::Operations { load: wgpu::LoadOp::Clear(self.backdrop), store: wgpu::StoreOp::Store },
        };
        let mut pass = recorder.pass("composite", frame, &[color], None);
        if let Some(background) = background {
            background.draw(&mut pass);
        }
        if let Some(floor) = floor {
            floor.draw(&mut pass);
        }
        if let Some(reflection) = reflection {
            reflection.draw(&mut pass);
        }
        if let Some(radiance) = &self.radiance {
            drop(pass);
            pass = recorder.pass("composite", frame, &[kept(target), cleared(radiance)], None);
        }
        let mut draw = |source: &CompositeDraw, local: Region| {
            if local.width > 0 && local.height > 0 {
                pass.set_pipeline(&source.pipeline);
                pass.set_bind_group(1, &source.group, &[]);
                pass.set_scissor_rect(self.part.x + local.x, self.part.y + local.y, local.width, local.height);
                pass.draw(0..3, 0..1);
            }
        };
        let (Some(surfaces), Some(part)) = (&self.surfaces, model.whole()) else { return };
        match (&self.transparent, model.transparent) {
            (Some(source), Some(inner)) => {
                for part in around(part, inner) {
                    draw(surfaces, part);
                }
                draw(source, inner);
            }
            _ => draw(surfaces, part),
        }
    }
}

/// Returns the parts of `whole` that are outside `inner`: above, below, left and right of it.
pub(crate) fn around(whole: Region, inner: Region) -> [Region; 4] {
    let (right, bottom) = (inner.x + inner.width, inner.y + inner.height);
    [
        Region { height: inner.y - whole.y, ..whole },
        Region { y: bottom, height: whole.y + whole.height - bottom, ..whole },
        Region { x: whole.x, width: inner.x - whole.x, ..inner },
        Region { x: right, width: whole.x + whole.width - right, ..inner },
    ]
}

/// Returns the layout entries of the surface textures, which have the bindings 1 to 4 (`lib/surfaces.wgsl`).
pub(crate) fn surface_entries() -> impl Iterator<Item = wgpu::BindGroupLayoutEntry> {
    let surfaces = [1, 2].map(|k| bindings::texture(k, wgpu::TextureSampleType::Uint));
    surfaces.into_iter().chain([3, 4].map(|k| bindings::texture(k, bindings::UNFILTERED)))
}

/// Returns the surface textures in the order of their bindings.
pub(crate) fn surface_resources<'a>(
    targets: &'a Targets,
    colors: &'a [wgpu::TextureView; SURFACES],
) -> impl Iterator<Item = wgpu::BindingResource<'a>> {
    targets.surfaces.iter().chain(colors).map(bindings::view)
}

/// Returns the model's region, relative to the drawn region.
pub(crate) fn model_part(look: &TargetDescriptor) -> Region {
    Region {
        x: look.model_region.x.saturating_sub(look.region.x),
        y: look.model_region.y.saturating_sub(look.region.y),
        ..look.model_region
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inner_region_and_the_parts_around_it_cover_every_pixel_once() {
        let whole = Region { x: 3, y: 2, width: 20, height: 11 };
        for inner in [Region { x: 6, y: 4, width: 5, height: 6 }, whole, Region { x: 18, y: 12, width: 5, height: 1 }] {
            let mut count = [[0; 30]; 20];
            for part in around(whole, inner).into_iter().chain([inner]) {
                for y in part.y..part.y + part.height {
                    for x in part.x..part.x + part.width {
                        count[y as usize][x as usize] += 1;
                    }
                }
            }
            let expected = |x: u32, y: u32| u32::from((3..23).contains(&x) && (2..13).contains(&y));
            assert!((0..20).all(|y| (0..30).all(|x| count[y as usize][x as usize] == expected(x, y))), "{inner:?}");
        }
    }
}
