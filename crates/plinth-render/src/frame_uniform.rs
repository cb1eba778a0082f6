//! Computes the uniform buffer that all draws of a frame share.

use std::f32::consts::PI;

use glam::Vec3;
use plinth_frame::Region;
use plinth_scene::{Background, Camera, PointLikeLight, Scene, Shot};

use crate::gpu_types::{Frame, PunctualLight};
use crate::pass::shadow_map::ShadowMap;
use crate::prepare::Prepared;
use crate::region::{clip_from_view, crop};
use crate::renderer::Picture;
use crate::targets::TargetDescriptor;
use crate::upload::levels::linear_from_srgb;

/// Values that do not change during a render.
#[derive(Clone, Copy)]
pub(crate) struct FrameBase<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) light: &'a Prepared,
    pub(crate) key_map: &'a ShadowMap,
    pub(crate) sun_map: &'a ShadowMap,
    /// The drawn region of the picture, and the part of this region that the model covers.
    pub(crate) region: Region,
    pub(crate) model_region: Region,
    /// Position of the first pixel of the model's region on the canvas.
    pub(crate) origin: [u32; 2],
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl<'a> FrameBase<'a> {
    /// Collects the values of a scene with its light, the shadow maps of the key light and of the sun, and the render
    /// targets of a view.
    pub(crate) fn new(
        (scene, light): (&'a Scene, &'a Prepared),
        [key_map, sun_map]: [&'a ShadowMap; 2],
        look: &TargetDescriptor,
        Picture { width, height, .. }: Picture,
    ) -> Self {
        let (region, model_region, origin) = (look.region, look.model_region, look.origin());
        Self { scene, light, key_map, sun_map, region, model_region, origin, width, height }
    }
}

/// Returns the size in pixels of a world unit at a distance of one world unit from the camera.
pub(crate) fn pixels_per_unit(camera: &Camera, height: u32) -> f32 {
    height as f32 / (2.0 * (0.5 * camera.fov_y).tan())
}

pub(crate) fn frame_uniform(base: &FrameBase<'_>, shot: &Shot) -> Frame {
    let scene = base.scene;
    let aspect = base.width as f32 / base.height as f32;
    let whole = clip_from_view(&shot.camera, aspect) * shot.camera.view_from_world;
    let cropped = |region| (crop(region, base.width, base.height) * whole).to_cols_array_2d();
    let forward = -shot.camera.view_from_world.row(2).truncate();
    let depth_range = shot.camera.far / (shot.camera.far - shot.camera.near);
    let last_mip = (base.light.environment.specular.mips.len() - 1) as f32;
    let field = &base.light.model.field;
    let (backdrop_color, is_shown) = backdrop(scene);
    let mut out = Frame {
        clip_from_world: cropped(base.model_region),
        picture_clip_from_world: cropped(base.region),
        key_clip_from_world: base.key_map.clip_from_world.to_cols_array_2d(),
        sun_clip_from_world: base.sun_map.clip_from_world.to_cols_array_2d(),
        camera_position: shot.camera.position,
        grow: shot.grow,
        camera_axis: forward,
        distance_numerator: shot.camera.near * depth_range,
        grow_origin: shot.grow_origin,
        gloss: scene.gloss,
        ambient_irradiance: scene.ambient * PI,
        last_specular_mip: last_mip,
        backdrop_color,
        glass_shows_backdrop: switch(is_shown),
        field_origin: field.origin,
        field_cell: field.cell,
        field_scale: (field.size.as_vec3() * field.cell).recip(),
        has_field: switch(!field.distances.is_empty()),
        key_texel: base.key_map.texel,
        key_normal_offset: base.key_map.normal_offset,
        sun_texel: base.sun_map.texel,
        sun_normal_offset: base.sun_map.normal_offset,
        target_size: [base.model_region.width as f32, base.model_region.height as f32],
        depth_range,
        pixel_size: 1.0 / pixels_per_unit(&shot.camera, base.height),
        canvas_origin: base.origin,
        grain_seed: shot.grain,
        ..Frame::default()
    };
    if let Some(key) = &scene.key_light {
        let axis = key.target - key.position;
        let distance2 = axis.length_squared().max(1e-4);
        out.key_position = key.position;
        out.key_axis = axis.normalize_or(Vec3::NEG_Y);
        out.key_outer_cosine = key.cone_half_angle.cos();
        out.key_inner_cosine = (key.cone_half_angle * (1.0 - key.penumbra.clamp(0.01, 1.0))).cos();
        out.key_intensity = key.irradiance * distance2;
        out.key_shadow_darkness = scene.shadow.map_or(0.0, |s| s.darkness.min(1.0));
    }
    if let Some(sun) = &base.light.environment.sun {
        out.sun_to_light = sun.to_light;
        out.sun_angular_radius = sun.angular_radius;
        out.sun_irradiance = sun.irradiance;
    }
    for (slot, light) in out.lights.iter_mut().zip(punctual_lights(scene)) {
        *slot = light;
    }
    out
}

/// Converts a boolean to 0 or 1, as shaders expect.
fn switch(on: bool) -> f32 {
    f32::from(u8::from(on))
}

/// Returns the mean linear colour of the backdrop, and whether clear glass shows the backdrop.
fn backdrop(scene: &Scene) -> (Vec3, bool) {
    let linear = |rgb: [u8; 3]| Vec3::from(rgb.map(|c| linear_from_srgb(f32::from(c) / 255.0)));
    let mean = match &scene.background {
        Background::Solid(rgb) => linear(*rgb),
        Background::Picture(picture) => {
            let colors = picture.pixels.as_chunks::<4>().0;
            let step = colors.len().div_ceil(PICTURE_SAMPLES).max(1);
            let some = colors.iter().step_by(step);
            some.clone().map(|[r, g, b, _]| linear([*r, *g, *b])).sum::<Vec3>() / some.count().max(1) as f32
        }
        Background::Transparent => Vec3::ONE,
    };
    // In a dataset, the mask marks the model, and glass is part of the model. Therefore glass does not show the
    // backdrop.
    let is_shown = scene.surroundings.is_none() && !scene.is_dataset;
    (mean, is_shown)
}

/// Maximum number of backdrop pixels that are averaged.
const PICTURE_SAMPLES: usize = 4096;

/// Returns the point lights and spotlights. Directional lights are part of the environment.
pub(crate) fn punctual_lights(scene: &Scene) -> impl Iterator<Item = PunctualLight> {
    scene.lights.iter().filter_map(|light| match *light {
        PointLikeLight::Directional { .. } => None,
        PointLikeLight::Point { position, intensity, range, cone } => {
            let (axis, inner, outer) = cone.unwrap_or((Vec3::NEG_Z, 1.0, -1.0));
            Some(PunctualLight {
                position,
                range: range.unwrap_or(0.0),
                intensity,
                is_spot: switch(cone.is_some()),
                axis,
                inner_cosine: inner,
                outer_cosine: outer,
                ..PunctualLight::default()
            })
        }
    })
}
