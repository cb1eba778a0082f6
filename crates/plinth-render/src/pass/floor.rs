//! The floor, of which only the shadow is visible.

use glam::{Vec2, Vec3};
use plinth_bake::Sun;
use plinth_scene::{KeyLight, Scene, ShadowLook};
use plinth_spec::settings::ShadowMode;

use super::accumulated_shadow::{AccumulatedShadow, ShadowLight};
use super::cleared;
use super::shadow_map::ShadowMap;
use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::gpu_types;
use crate::pipelines::{FullScreen, FullScreenTarget, PipelineBase, full_screen, shader};
use crate::prepare::{EnvironmentLight, Prepared};
use crate::recorder::Recorder;
use crate::shader::compose;
use crate::upload::geometry::filled;

/// Side length of the shadow texture in texels.
const SHADOW_SIDE: u32 = 512;
/// Number of points along each side of the grid on which the occlusion of the environment is computed.
pub(crate) const AMBIENT_SIDE: u32 = 48;
/// Distance by which the floor extends beyond the model and its shadows, in world units.
const MARGIN: f32 = 0.45;
/// Maximum distance along the floor between a point of the model and its shadow from the sun, in world units. For points
/// that are higher above the floor than this, the maximum is their height. The floor ends before the rest of a low sun's
/// shadow.
const SUN_REACH: f32 = 3.0;
/// Fraction of the light on the floor that comes from a key light of default strength.
const KEY_SHARE: f32 = 0.34;
/// Fraction by which the floor is darkened where no light of the environment arrives, if `shadowDarkness` is 1.
const AMBIENT_SHARE: f32 = 0.75;
/// Width of the border in which the shadow fades out, in world units.
const EDGE: f32 = 0.35;

/// The rectangular part of the floor that can receive shadow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FloorArea {
    /// Centre of the rectangle in world space.
    pub(crate) center: Vec3,
    /// Half the size of the rectangle along x and z.
    pub(crate) half: Vec2,
}

impl FloorArea {
    /// Returns the area that contains the model's bounds and its shadows from the key light and from the sun of the
    /// environment. The area is limited to a few times the size of the model.
    pub(crate) fn of(scene: &Scene, sun: Option<&Sun>) -> Self {
        let (min, max) = scene.bounds;
        let (mut low, mut high) = (Vec2::new(min.x, min.z), Vec2::new(max.x, max.z));
        let corners = (0..8_u8).map(|corner| {
            let pick = |bit: u8, a: f32, b: f32| if corner & bit == 0 { a } else { b };
            Vec3::new(pick(1, min.x, max.x), pick(2, min.y, max.y), pick(4, min.z, max.z))
        });
        if let Some(key) = &scene.key_light {
            for p in corners.clone() {
                let q = onto_floor(key, p, scene.floor_height);
                let near = Vec2::new(q.x, q.z).clamp(low - Vec2::splat(3.0), high + Vec2::splat(3.0));
                low = low.min(near);
                high = high.max(near);
            }
        }
        if let Some(sun) = sun.filter(|sun| sun.to_light.y > 0.0) {
            for p in corners {
                let end = shadow_of_sun(sun, p, scene.floor_height);
                low = low.min(end);
                high = high.max(end);
            }
        }
        let center = (low + high) * 0.5;
        let half = (high - low) * 0.5 + Vec2::splat(MARGIN);
        Self { center: Vec3::new(center.x, scene.floor_height, center.y), half }
    }

    /// Returns the bounding box of the area. The height of the box is zero.
    pub(crate) fn bounds(&self) -> (Vec3, Vec3) {
        let half = Vec3::new(self.half.x, 0.0, self.half.y);
        (self.center - half, self.center + half)
    }
}

/// Returns the point at which a ray from the light through the point `p` meets the floor. Returns `p` if the ray does
/// not descend.
fn onto_floor(key: &KeyLight, p: Vec3, floor: f32) -> Vec3 {
    let down = p - key.position;
    if down.y >= -1e-3 {
        return p;
    }
    key.position + down * ((floor - key.position.y) / down.y)
}

/// Returns the position along x and z of the shadow that the point `p` casts on the floor, for a sun above the horizon.
/// The shadow is at most as far away as [`SUN_REACH`] allows.
fn shadow_of_sun(sun: &Sun, p: Vec3, floor: f32) -> Vec2 {
    let height = (p.y - floor).max(0.0);
    let away = -Vec2::new(sun.to_light.x, sun.to_light.z);
    let distance = (height * away.length() / sun.to_light.y).min(height.max(SUN_REACH));
    Vec2::new(p.x, p.z) + away.normalize_or_zero() * distance
}

/// The GPU resources of the floor.
pub(crate) struct Floor {
    gather: wgpu::RenderPipeline,
    gather_group: wgpu::BindGroup,
    draw: wgpu::RenderPipeline,
    draw_group: wgpu::BindGroup,
    ambient: wgpu::Texture,
    shadow: wgpu::TextureView,
    pub(crate) accumulated: Option<AccumulatedShadow>,
}

/// Returns the radius of the key light as a fraction of its distance from the model.
fn light_size(look: ShadowLook) -> f32 {
    0.5 * (0.08 + 0.5 * look.softness * look.softness)
}

/// Returns the fraction of the light on the floor that comes from the key light: [`KEY_SHARE`] for a light of default
/// strength.
fn key_share(key: &KeyLight) -> f32 {
    let strength = KEY_SHARE * key.strength();
    strength / (strength + 1.0 - KEY_SHARE)
}

/// Returns the fraction of the environment's light on the floor that comes from its sun. The fraction is 0 if there is
/// no sun above the horizon.
fn sun_share(light: &EnvironmentLight) -> f32 {
    let Some(sun) = &light.sun else { return 0.0 };
    let of_sun = sun.irradiance.element_sum() * sun.to_light.y.max(0.0);
    let of_sky = light.irradiance.above().element_sum();
    of_sun / (of_sun + of_sky).max(f32::MIN_POSITIVE)
}

/// Returns the fraction by which the floor is darkened where the fraction `share` of its light is blocked. With a
/// `darkness` of 1, both fractions are the same.
fn darkened(share: f32, darkness: f32) -> f32 {
    1.0 - (1.0 - share).powf(darkness)
}

impl Floor {
    /// Creates the floor. `key` is the key light and its shadow map. `light` contains the environment's light, and the
    /// fraction of this light that reaches the floor. `frame_group` creates bind group 0 from a uniform buffer.
    /// `accumulates` returns whether an accumulated shadow is used; if not, the floor has a soft shadow that is computed
    /// from the shadow map.
    pub(crate) fn new(
        base: &PipelineBase<'_>,
        (scene, area): (&Scene, FloorArea),
        look: ShadowLook,
        key: Option<(&KeyLight, &ShadowMap)>,
        light: &Prepared,
        frame_group: &dyn Fn(&wgpu::Buffer) -> wgpu::BindGroup,
        accumulates: &dyn Fn(&AccumulatedShadow) -> bool,
    ) -> Result<Self, RenderError> {
        let gpu = base.gpu;
        let sun_share = sun_share(&light.environment);
        let uniform = gpu_types::Floor {
            center: area.center,
            edge: EDGE,
            half_extent: area.half,
            light_size: 2.0 * light_size(look),
            key_darkness: key.map_or(0.0, |(key, _)| darkened(key_share(key), look.darkness)),
            ambient_darkness: darkened(AMBIENT_SHARE, look.darkness),
            sun_share,
            ..gpu_types::Floor::default()
        };
        let buffer = filled(gpu, "floor", bytemuck::bytes_of(&uniform), wgpu::BufferUsages::UNIFORM)?;
        let shadow = plane(gpu, SHADOW_SIDE, wgpu::TextureFormat::R8Unorm, wgpu::TextureUsages::RENDER_ATTACHMENT);
        let shadow_view = shadow.create_view(&wgpu::TextureViewDescriptor::default());
        let accumulated = match key {
            Some((key, _)) if look.mode == ShadowMode::Accumulated => {
                let (min, max) = scene.bounds;
                let (center, radius) = ((min + max) * 0.5, ((max - min) * 0.5).length().max(1e-3));
                let shadow_light = ShadowLight { key, size: light_size(look), center, radius: 1.02 * radius };
                let new = AccumulatedShadow::new(
                    gpu,
                    base.frame_layout,
                    &shadow_light,
                    (area, &buffer),
                    SHADOW_SIDE,
                    frame_group,
                );
                Some(new?).filter(accumulates)
            }
            _ => None,
        };
        let none;
        let source = match (key, &accumulated) {
            (_, Some(accumulated)) => KeyShadowSource::Sum(&accumulated.sum),
            (Some((_, map)), None) => KeyShadowSource::Map(&map.view, look.mode),
            (None, None) => {
                none = ShadowMap::none(gpu);
                KeyShadowSource::Map(&none.view, look.mode)
            }
        };
        let texture = plane(gpu, AMBIENT_SIDE, wgpu::TextureFormat::R16Float, wgpu::TextureUsages::COPY_DST);
        write_ambient(gpu, &texture, &light.model.light.floor_ambient);
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        let has_lights = (key.is_some(), sun_share > 0.0);
        let (gather, gather_group) = gather(base, &buffer, &view, source, has_lights)?;
        let (draw, draw_group) = draw(base, &buffer, &shadow_view)?;
        Ok(Self { gather, gather_group, draw, draw_group, ambient: texture, shadow: shadow_view, accumulated })
    }

    /// Replaces the fractions of the environment's light that reach the floor, after the pose has changed. `ambient`
    /// contains `AMBIENT_SIDE²` numbers in rows along +z. Afterwards, [`Self::gather`] must be called again.
    pub(crate) fn relight(&self, gpu: &Gpu, ambient: &[f32]) {
        write_ambient(gpu, &self.ambient, ambient);
    }

    /// Computes the shadow texture. The shadow texture must be computed before the first frame, and whenever the model
    /// has moved.
    pub(crate) fn gather(&self, recorder: &mut Recorder<'_>, frame: &wgpu::BindGroup) {
        let mut pass = recorder.pass("floor shadow", frame, &[cleared(&self.shadow)], None);
        pass.set_pipeline(&self.gather);
        pass.set_bind_group(1, &self.gather_group, &[]);
        pass.draw(0..3, 0..1);
    }

    /// Draws the shadow over the backdrop.
    pub(crate) fn draw(&self, pass: &mut wgpu::RenderPass<'_>) {
        pass.set_pipeline(&self.draw);
        pass.set_bind_group(1, &self.draw_group, &[]);
        pass.draw(0..4, 0..1);
    }
}

/// Where the shadow of the key light is read from.
#[derive(Clone, Copy)]
enum KeyShadowSource<'a> {
    /// A shadow map, and how the shadow is computed from it.
    Map(&'a wgpu::TextureView, ShadowMode),
    /// A texture with the fraction of the light that is blocked.
    Sum(&'a wgpu::TextureView),
}

fn gather(
    base: &PipelineBase<'_>,
    buffer: &wgpu::Buffer,
    ambient: &wgpu::TextureView,
    key: KeyShadowSource<'_>,
    (has_key, has_sun): (bool, bool),
) -> Result<(wgpu::RenderPipeline, wgpu::BindGroup), RenderError> {
    let gpu = base.gpu;
    let (source, sample_type, mut defines) = match key {
        KeyShadowSource::Map(map, ShadowMode::Flat) => (map, wgpu::TextureSampleType::Depth, vec!["FLAT"]),
        KeyShadowSource::Map(map, _) => (map, wgpu::TextureSampleType::Depth, Vec::new()),
        KeyShadowSource::Sum(sum) => (sum, bindings::UNFILTERED, vec!["ACCUMULATED"]),
    };
    let mut constants = vec![("KEY", f64::from(u8::from(has_key))), ("SUN", f64::from(u8::from(has_sun)))];
    if gpu.is_software() {
        defines.push("PACKED_SHADOWS");
        constants.extend(base.lights.packed_constants());
    }
    let layout = bindings::layout(
        &gpu.device,
        "floor shadow",
        &[
            bindings::uniform(0),
            bindings::texture(1, bindings::FILTERED),
            bindings::texture(2, sample_type),
            bindings::sampler(3, wgpu::SamplerBindingType::NonFiltering),
        ],
    );
    let pipeline = full_screen(
        gpu,
        &FullScreen {
            label: "floor shadow",
            path: "pass/floor_shadow.wgsl",
            defines: &defines,
            constants: &constants,
            groups: &[base.frame_layout, &layout],
            target: FullScreenTarget { colors: &[wgpu::TextureFormat::R8Unorm], ..Default::default() },
        },
    )?;
    let nearest = gpu.device.create_sampler(&wgpu::SamplerDescriptor::default());
    let group = bindings::group(
        &gpu.device,
        "floor shadow",
        &layout,
        &[
            buffer.as_entire_binding(),
            bindings::view(ambient),
            bindings::view(source),
            wgpu::BindingResource::Sampler(&nearest),
        ],
    );
    Ok((pipeline, group))
}

fn draw(
    base: &PipelineBase<'_>,
    buffer: &wgpu::Buffer,
    shadow: &wgpu::TextureView,
) -> Result<(wgpu::RenderPipeline, wgpu::BindGroup), RenderError> {
    let device = &base.gpu.device;
    let layout = bindings::layout(device, "floor", &[bindings::uniform(0), bindings::texture(1, bindings::FILTERED)]);
    let module = shader(base.gpu, "floor", &compose("pass/floor.wgsl", &std::collections::BTreeSet::new(), &[])?)?;
    let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some("floor"),
        bind_group_layouts: &[Some(base.frame_layout), Some(&layout)],
        immediate_size: 0,
    });
    let pipeline = device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some("floor"),
        layout: Some(&pipeline_layout),
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: Some("vs"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            buffers: &[],
        },
        primitive: wgpu::PrimitiveState {
            topology: wgpu::PrimitiveTopology::TriangleStrip,
            ..wgpu::PrimitiveState::default()
        },
        depth_stencil: None,
        multisample: wgpu::MultisampleState::default(),
        fragment: Some(wgpu::FragmentState {
            module: &module,
            entry_point: Some("fs"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            targets: &[Some(wgpu::ColorTargetState {
                format: base.picture_format,
                blend: Some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING),
                write_mask: wgpu::ColorWrites::ALL,
            })],
        }),
        multiview_mask: None,
        cache: None,
    });
    let group = bindings::group(device, "floor", &layout, &[buffer.as_entire_binding(), bindings::view(shadow)]);
    Ok((pipeline, group))
}

pub(super) fn plane(gpu: &Gpu, side: u32, format: wgpu::TextureFormat, usage: wgpu::TextureUsages) -> wgpu::Texture {
    gpu.device.create_texture(&wgpu::TextureDescriptor {
        label: Some("floor"),
        size: wgpu::Extent3d { width: side, height: side, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage: usage | wgpu::TextureUsages::TEXTURE_BINDING,
        view_formats: &[],
    })
}

fn write_ambient(gpu: &Gpu, texture: &wgpu::Texture, ambient: &[f32]) {
    let count = (AMBIENT_SIDE * AMBIENT_SIDE) as usize;
    let texels: Vec<half::f16> =
        (0..count).map(|i| half::f16::from_f32(ambient.get(i).copied().unwrap_or(1.0))).collect();
    gpu.queue.write_texture(
        texture.as_image_copy(),
        bytemuck::cast_slice(&texels),
        wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(AMBIENT_SIDE * 2), rows_per_image: None },
        wgpu::Extent3d { width: AMBIENT_SIDE, height: AMBIENT_SIDE, depth_or_array_layers: 1 },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::triangle_scene::triangle_scene;

    /// Returns the minimum and the maximum corner, along x and z, of the floor below a model with the bounds −1..1.
    fn floor_of(to_sun: Option<Vec3>) -> (Vec2, Vec2) {
        let mut scene = triangle_scene();
        (scene.bounds, scene.floor_height, scene.key_light) = ((Vec3::NEG_ONE, Vec3::ONE), -1.0, None);
        let sun = to_sun.map(|d| Sun { to_light: d.normalize(), irradiance: Vec3::ONE, angular_radius: 0.005 });
        let area = FloorArea::of(&scene, sun.as_ref());
        let center = Vec2::new(area.center.x, area.center.z);
        (center - area.half, center + area.half)
    }

    #[test]
    fn the_floor_contains_the_shadow_of_the_sun_and_is_limited() {
        let near = Vec2::splat(1.0 + MARGIN);
        for (to_sun, reach) in [
            (None, Vec2::ZERO),
            (Some(Vec3::Y), Vec2::ZERO),
            (Some(Vec3::new(1.0, 1.0, 0.0)), Vec2::new(2.0, 0.0)),
            (Some(Vec3::new(3.0, 10.0, 4.0)), Vec2::new(0.6, 0.8)),
            (Some(Vec3::new(0.0, 0.01, 1.0)), Vec2::new(0.0, SUN_REACH)),
            (Some(Vec3::new(1.0, 0.0, 0.0)), Vec2::ZERO),
            (Some(Vec3::new(1.0, -0.5, 0.0)), Vec2::ZERO),
        ] {
            let (low, high) = floor_of(to_sun);
            assert!((low + near + reach).length() < 1e-4, "{to_sun:?}: {low}");
            assert!((high - near).length() < 1e-4, "{to_sun:?}: {high}");
        }
    }
}
