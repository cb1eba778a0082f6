//! Shadow maps, which store depth as seen from a light.

use glam::{Mat4, Vec3, Vec4};
use plinth_scene::KeyLight;

use super::packed_shadow::PackedShadow;
use crate::gpu::Gpu;
use crate::pipelines::DEPTH_FORMAT;
use crate::upload::kept_shadows::COPIED;

/// A square depth texture, and the properties that shaders need to read it.
pub(crate) struct ShadowMap {
    /// Whether a light casts shadows with this map.
    pub(crate) is_used: bool,
    pub(crate) view: wgpu::TextureView,
    pub(crate) clip_from_world: Mat4,
    /// Size of a texel as a fraction of the map.
    pub(crate) texel: f32,
    /// Distance in world units by which a point is moved along its normal before its depth is compared.
    pub(crate) normal_offset: f32,
    /// The copy that software drivers read instead of `view`. `None` if the driver reads `view`.
    pub(crate) packed: Option<PackedShadow>,
}

impl ShadowMap {
    /// Creates a small placeholder, for scenes whose shaders do not read the map.
    pub(crate) fn none(gpu: &Gpu) -> Self {
        let view = depth_texture(gpu, 1);
        Self { is_used: false, view, clip_from_world: Mat4::IDENTITY, texel: 1.0, normal_offset: 0.0, packed: None }
    }

    /// Creates the map of the key light, which covers a sphere. `softness` (0..=1) determines the size of the texels.
    pub(crate) fn for_key(gpu: &Gpu, key: &KeyLight, center: Vec3, radius: f32, softness: f32) -> Self {
        let side = (1536.0 * 0.125_f32.powf(softness.clamp(0.0, 1.0))).round().max(64.0);
        let KeyView { clip_from_world, width } = key_view(key, center, radius);
        Self {
            is_used: true,
            view: depth_texture(gpu, side as u32),
            clip_from_world,
            texel: 1.0 / side,
            normal_offset: 2.0 * width / side,
            packed: None,
        }
    }

    /// Creates the map of a directional light, which covers a sphere.
    pub(crate) fn for_direction(gpu: &Gpu, to_light: Vec3, center: Vec3, radius: f32, angular_radius: f32) -> Self {
        // A texel is about as wide as the penumbra at a distance of half the model's size.
        let side = (2.0 * radius / (radius * angular_radius.max(0.002) * 0.5)).clamp(256.0, 2048.0).round();
        let eye = center + to_light * (2.0 * radius);
        let view_from_world = look_at(eye, center);
        let scale = 1.0 / radius;
        let range = 1.0 / (-4.0 * radius);
        let clip_from_view = Mat4::from_cols(
            Vec4::new(scale, 0.0, 0.0, 0.0),
            Vec4::new(0.0, scale, 0.0, 0.0),
            Vec4::new(0.0, 0.0, range, 0.0),
            Vec4::new(0.0, 0.0, 0.0, 1.0),
        );
        Self {
            is_used: true,
            view: depth_texture(gpu, side as u32),
            clip_from_world: clip_from_view * view_from_world,
            texel: 1.0 / side,
            normal_offset: 2.0 * 2.0 * radius / side,
            packed: None,
        }
    }
}

/// The key light's view of a sphere.
pub(crate) struct KeyView {
    pub(crate) clip_from_world: Mat4,
    /// Width of the view at the distance of the sphere's centre, in world units.
    width: f32,
}

/// Returns the key light's view of a sphere.
pub(crate) fn key_view(key: &KeyLight, center: Vec3, radius: f32) -> KeyView {
    let offset = center - key.position;
    let distance = offset.length().max(radius * 1.05);
    let half_angle = (radius / distance).clamp(0.01, 0.99).asin();
    let view_from_world = look_at(key.position, center);
    let f = 1.0 / half_angle.tan();
    let near = (distance - radius).max(0.02) * 0.9;
    let far = distance * 50.0;
    let depth = far / (near - far);
    let clip_from_view = Mat4::from_cols(
        Vec4::new(f, 0.0, 0.0, 0.0),
        Vec4::new(0.0, f, 0.0, 0.0),
        Vec4::new(0.0, 0.0, depth, -1.0),
        Vec4::new(0.0, 0.0, near * depth, 0.0),
    );
    KeyView { clip_from_world: clip_from_view * view_from_world, width: 2.0 * half_angle.tan() * distance }
}

/// Returns the transform from world space to view space of a camera at `eye` that looks at `target`.
pub(crate) fn look_at(eye: Vec3, target: Vec3) -> Mat4 {
    let back = (eye - target).normalize_or(Vec3::Y);
    let up = if back.y.abs() > 0.99 { Vec3::Z } else { Vec3::Y };
    let right = up.cross(back).normalize_or(Vec3::X);
    let up = back.cross(right);
    let world_from_view = Mat4::from_cols(right.extend(0.0), up.extend(0.0), back.extend(0.0), eye.extend(1.0));
    world_from_view.inverse()
}

pub(crate) fn depth_texture(gpu: &Gpu, side: u32) -> wgpu::TextureView {
    gpu.device
        .create_texture(&wgpu::TextureDescriptor {
            label: Some("shadow map"),
            size: wgpu::Extent3d { width: side, height: side, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: DEPTH_FORMAT,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::TEXTURE_BINDING | COPIED,
            view_formats: &[],
        })
        .create_view(&wgpu::TextureViewDescriptor::default())
}
