//! Draws everything behind the model and the floor: a picture or the environment.

use glam::{Vec2, Vec3};
use half::f16;
use plinth_frame::{Backdrop, Region};
use plinth_scene::{Camera, EnvironmentMap, Surroundings};

use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::gpu_types;
use crate::pipelines::{FullScreen, FullScreenTarget, full_screen};
use crate::targets::{TargetDescriptor, texture};

/// Maximum value of a half-precision float.
const MAX_HALF: f32 = 65_504.0;

/// Everything that is drawn before the model and the floor.
pub(crate) struct BackgroundPass {
    picture: Option<FullScreenDraw>,
    surroundings: Option<Panorama>,
}

/// A pass that covers the whole region.
struct FullScreenDraw {
    pipeline: wgpu::RenderPipeline,
    group: wgpu::BindGroup,
}

/// The visible environment.
struct Panorama {
    full_screen: FullScreenDraw,
    buffer: wgpu::Buffer,
    /// Values of the uniform that do not depend on the camera.
    look: gpu_types::Surroundings,
    region: Region,
    width: u32,
    height: u32,
}

impl BackgroundPass {
    pub(crate) fn new(
        gpu: &Gpu,
        frame_layout: &wgpu::BindGroupLayout,
        look: &TargetDescriptor,
        (width, height): (u32, u32),
        backdrop: &Backdrop,
        surroundings: Option<&Surroundings>,
    ) -> Result<Self, RenderError> {
        let picture = match backdrop {
            Backdrop::Picture(pixels) => Some(picture(gpu, frame_layout, look, width, pixels)?),
            Backdrop::Solid(_) | Backdrop::Transparent => None,
        };
        let surroundings = surroundings
            .map(|surroundings| {
                let uniform = uniform(surroundings, look);
                let (full_screen, buffer) = panorama(gpu, frame_layout, look, &surroundings.map)?;
                Ok::<_, RenderError>(Panorama {
                    full_screen,
                    buffer,
                    look: uniform,
                    region: look.region,
                    width,
                    height,
                })
            })
            .transpose()?;
        Ok(Self { picture, surroundings })
    }

    /// Sets the camera for the submissions that follow.
    pub(crate) fn look_from(&self, gpu: &Gpu, camera: &Camera) {
        if let Some(panorama) = &self.surroundings {
            gpu.write(&panorama.buffer, 0, bytemuck::bytes_of(&panorama.seen_from(camera)));
        }
    }

    /// Draws the background into a cleared target.
    pub(crate) fn draw(&self, pass: &mut wgpu::RenderPass<'_>) {
        for full_screen in self.picture.iter().chain(self.surroundings.as_ref().map(|p| &p.full_screen)) {
            pass.set_pipeline(&full_screen.pipeline);
            pass.set_bind_group(1, &full_screen.group, &[]);
            pass.draw(0..3, 0..1);
        }
    }
}

fn full_screen_draw(
    gpu: &Gpu,
    frame_layout: &wgpu::BindGroupLayout,
    look: &TargetDescriptor,
    (label, path): (&str, &str),
    (entries, resources): (&[wgpu::BindGroupLayoutEntry], &[wgpu::BindingResource<'_>]),
) -> Result<FullScreenDraw, RenderError> {
    let layout = bindings::layout(&gpu.device, label, entries);
    let target = FullScreenTarget {
        colors: &[look.picture_format],
        blend: Some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING),
        ..Default::default()
    };
    let groups: &[_] = &[frame_layout, &layout];
    let pipeline = full_screen(gpu, &FullScreen { label, path, defines: &[], constants: &[], groups, target })?;
    Ok(FullScreenDraw { pipeline, group: bindings::group(&gpu.device, label, &layout, resources) })
}

/// Creates the pass that draws a background picture, cropped to the region that is drawn.
fn picture(
    gpu: &Gpu,
    frame_layout: &wgpu::BindGroupLayout,
    look: &TargetDescriptor,
    width: u32,
    pixels: &[u8],
) -> Result<FullScreenDraw, RenderError> {
    let region = look.region;
    let usage = wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST;
    let part = texture(gpu, region, 1, wgpu::TextureFormat::Rgba8Unorm, usage, 1);
    gpu.queue.write_texture(
        part.as_image_copy(),
        pixels,
        wgpu::TexelCopyBufferLayout {
            offset: u64::from(region.y * width + region.x) * 4,
            bytes_per_row: Some(width * 4),
            rows_per_image: None,
        },
        part.size(),
    );
    let view = part.create_view(&wgpu::TextureViewDescriptor::default());
    let entries = [bindings::texture(0, bindings::UNFILTERED)];
    full_screen_draw(gpu, frame_layout, look, ("picture", "pass/picture.wgsl"), (&entries, &[bindings::view(&view)]))
}

fn panorama(
    gpu: &Gpu,
    frame_layout: &wgpu::BindGroupLayout,
    look: &TargetDescriptor,
    map: &EnvironmentMap,
) -> Result<(FullScreenDraw, wgpu::Buffer), RenderError> {
    let size = Region::whole(map.width, map.height);
    let usage = wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST;
    let texels = texture(gpu, size, 1, wgpu::TextureFormat::Rgba16Float, usage, 1);
    let half = |p: &[f32; 3]| [p[0], p[1], p[2], 1.0].map(|c| f16::from_f32(c.min(MAX_HALF)));
    let halves: Vec<[f16; 4]> = map.pixels.iter().map(half).collect();
    gpu.queue.write_texture(
        texels.as_image_copy(),
        bytemuck::cast_slice(&halves),
        wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(map.width * 8), rows_per_image: None },
        texels.size(),
    );
    let buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("surroundings"),
        size: size_of::<gpu_types::Surroundings>() as u64,
        usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let sampler = gpu.device.create_sampler(&wgpu::SamplerDescriptor {
        label: Some("panorama"),
        address_mode_u: wgpu::AddressMode::Repeat,
        mag_filter: wgpu::FilterMode::Linear,
        min_filter: wgpu::FilterMode::Linear,
        ..Default::default()
    });
    let view = texels.create_view(&wgpu::TextureViewDescriptor::default());
    let entries = [
        bindings::uniform(0),
        bindings::texture(1, bindings::FILTERED),
        bindings::sampler(2, wgpu::SamplerBindingType::Filtering),
    ];
    let resources = [buffer.as_entire_binding(), bindings::view(&view), wgpu::BindingResource::Sampler(&sampler)];
    let names = ("surroundings", "pass/surroundings.wgsl");
    Ok((full_screen_draw(gpu, frame_layout, look, names, (&entries, &resources))?, buffer))
}

fn uniform(surroundings: &Surroundings, look: &TargetDescriptor) -> gpu_types::Surroundings {
    let (sine, cosine) = surroundings.rotation.sin_cos();
    let dome = surroundings.dome;
    // Colours that are stored as bytes are dithered, so that a smooth sky has no visible steps, even after a video
    // encoder has quantised it.
    let step = if look.picture_format == wgpu::TextureFormat::Rgba8Unorm { 2.0 / 255.0 } else { 0.0 };
    gpu_types::Surroundings {
        opacity: surroundings.opacity,
        has_dome: f32::from(u8::from(dome.is_some())),
        ground_height: dome.map_or(0.0, |d| d.ground),
        dome_radius: dome.map_or(0.0, |d| d.radius),
        gain: surroundings.gain,
        noise: step,
        eye: dome.map_or(Vec3::ZERO, |d| d.eye),
        turn: Vec2::new(cosine, sine),
        ..gpu_types::Surroundings::default()
    }
}

impl Panorama {
    fn seen_from(&self, camera: &Camera) -> gpu_types::Surroundings {
        let axis = |row: usize| camera.view_from_world.row(row).truncate();
        // Size of a pixel at distance 1 in world units.
        let pixel = 2.0 * (0.5 * camera.fov_y).tan() / self.height as f32;
        let (right, down) = (axis(0) * pixel, axis(1) * -pixel);
        let middle = -axis(2);
        let from_middle = |at: u32, size: u32| at as f32 - 0.5 * size as f32;
        let corner =
            middle + right * from_middle(self.region.x, self.width) + down * from_middle(self.region.y, self.height);
        gpu_types::Surroundings { corner, right, down, camera_position: camera.position, ..self.look }
    }
}
