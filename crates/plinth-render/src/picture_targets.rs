//! The regions and the render targets of a picture.

use std::collections::BTreeSet;

use plinth_frame::{PixelFormat, Region};
use plinth_scene::{ReflectorLook, Scene};

use crate::gpu::Gpu;
use crate::pass::floor::FloorArea;
use crate::pass::post::PICTURE_FORMAT;
use crate::pass::reflection::{mirrored_box, mirrored_camera, reflection_reach};
use crate::pass::visibility::joined;
use crate::pipelines::SurfaceOutput;
use crate::region::{union, widened};
use crate::renderer::Picture;
use crate::targets::{SceneBehind, TargetDescriptor, texture};
use crate::upload::batch::Batch;
use crate::upload::material::{DrawClass, MaterialOnGpu};

/// Number of samples per pixel.
const SAMPLES: u32 = 4;

/// Returns the region that contains the model, the floor `area` and the reflection of the model in all frames.
pub(crate) fn region_of(
    scene: &Scene,
    picture: Picture,
    area: Option<FloorArea>,
    reflector: Option<ReflectorLook>,
) -> Region {
    let cameras: Vec<_> = scene.shots.iter().map(|shot| shot.camera).collect();
    let mut boxes = vec![scene.bounds];
    boxes.extend(area.map(|a| a.bounds()));
    let region = union(&cameras, &boxes, picture.width, picture.height);
    let Some(look) = reflector else { return region };
    let image = union(&cameras, &[mirrored_box(scene.bounds, scene.floor_height)], picture.width, picture.height);
    joined(region, with_reach(image, reflection_reach(scene, look, picture.height), picture))
}

/// Enlarges a region by `reach` pixels, for example so that it contains the whole outline of points and lines at its edge.
pub(crate) fn with_reach(part: Region, reach: u32, picture: Picture) -> Region {
    if reach == 0 { part } else { widened(part, reach, picture.width, picture.height) }
}

/// Returns the region that the blurred model covers in the picture of the reflection camera, in any frame.
pub(crate) fn reflection_region(scene: &Scene, picture: Picture, look: ReflectorLook) -> Region {
    let cameras: Vec<_> = scene.shots.iter().map(|shot| mirrored_camera(&shot.camera, scene.floor_height)).collect();
    let seen = union(&cameras, &[scene.bounds], picture.width, picture.height);
    with_reach(seen, reflection_reach(scene, look, picture.height), picture)
}

/// Returns the description of the render targets of the reflection. These targets cover only the model's region with a
/// margin.
pub(crate) fn mirror_descriptor(look: TargetDescriptor, region: Region) -> TargetDescriptor {
    let format = PICTURE_FORMAT;
    TargetDescriptor { region, model_region: region, picture_format: format, finished_format: format, ..look }
}

pub(crate) fn target_descriptor(
    gpu: &Gpu,
    scene: &Scene,
    picture: Picture,
    (region, model_region): (Region, Region),
    (materials, batches): (&[MaterialOnGpu], &[Batch]),
    (triangle_format, in_main_memory): (wgpu::TextureFormat, bool),
) -> TargetDescriptor {
    let classes: BTreeSet<DrawClass> = batches.iter().map(|b| materials[b.material].key.class).collect();
    // Refraction needs the radiance of the scene, and bloom needs the radiance of bright surfaces. In all other cases,
    // alpha is blended in display space, as other viewers do, and no separate pass for the tone curve is needed.
    let blurs = || batches.iter().any(|batch| materials[batch.material].blurs);
    let scene_behind = classes
        .contains(&DrawClass::Transmissive)
        .then(|| if blurs() { SceneBehind::Blurred } else { SceneBehind::Sharp });
    let has_unlit = batches.iter().any(|batch| materials[batch.material].key.defines.contains("UNLIT"));
    let radiance = scene_behind.is_some() || scene.post.bloom > 0.0;
    let output = if radiance { SurfaceOutput::Radiance } else { SurfaceOutput::Display };
    let finished_format = match picture.format {
        PixelFormat::Rgba8 => wgpu::TextureFormat::Rgba8Unorm,
        PixelFormat::Rgba16 => wgpu::TextureFormat::Rgba16Float,
    };
    let transparent = classes.iter().any(|class| class.is_transparent());
    // With a reflecting floor, surfaces are not shaded directly into the picture: the view of the reflection camera
    // uses the same pipelines, but composites its picture from the colours of surfaces.
    let direct = !transparent && !radiance && scene.reflector.is_none();
    // With 8-bit colours, a colour filter would make the steps between colours visible.
    let picture_format = if scene.post.changes_colors() { PICTURE_FORMAT } else { finished_format };
    let color_format = if radiance {
        wgpu::TextureFormat::Rgba16Float
    } else if direct {
        picture_format
    } else {
        finished_format
    };
    // The pipelines that shade surfaces blend them over the picture, or over colours that were set to zero, so both need
    // the same format. Only shares of 8-bit colours are whole steps, which have the same sum in any order. Graphics cards
    // composite quickly, and may round the coverage of edges differently if surfaces are blended with the picture.
    let around_blended = gpu.is_software()
        && transparent
        && !radiance
        && scene.reflector.is_none()
        && [picture_format, color_format] == [wgpu::TextureFormat::Rgba8Unorm; 2];
    let samples = if gpu.report().max_samples >= SAMPLES { SAMPLES } else { 1 };
    TargetDescriptor {
        region,
        model_region,
        samples,
        triangle_format,
        color_format,
        picture_format,
        finished_format,
        output,
        transparent,
        has_unlit,
        scene_behind,
        visibility_buffered_glass: batches.iter().any(Batch::is_visibility_buffered_glass),
        direct,
        around_blended,
        on_host: in_main_memory && samples == SAMPLES,
    }
}

/// Creates the render target for the radiance of the model, which bloom needs.
pub(crate) fn radiance_target(gpu: &Gpu, region: Region) -> wgpu::TextureView {
    let usage = wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::TEXTURE_BINDING;
    texture(gpu, region, 1, PICTURE_FORMAT, usage, 1).create_view(&wgpu::TextureViewDescriptor::default())
}
