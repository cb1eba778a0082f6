//! The reflection of the model in the floor. A camera below the floor draws a picture of the model, which is then drawn
//! into the frame.
//!
//! A reflection is a mirror image. The camera below the floor draws a picture that is not mirrored, so that all passes
//! work unchanged. The picture is mirrored when it is drawn into the frame: it is read from right to left.

use glam::{Mat4, Vec3};
use plinth_frame::Region;
use plinth_scene::{Camera, ReflectorLook, Scene, Shot};

use super::cleared;
use super::composite::{Composite, ModelParts};
use super::pyramid::Pyramid;
use crate::RenderError;
use crate::bindings;
use crate::frame_uniform::{FrameBase, frame_uniform, pixels_per_unit};
use crate::gpu::Gpu;
use crate::gpu_scene::GpuScene;
use crate::gpu_types;
use crate::pipelines::{FullScreen, FullScreenTarget, PerBatch, PipelineBase, blended_depth_pipelines, full_screen};
use crate::recorder::Recorder;
use crate::renderer::Picture;
use crate::targets::{SCENE_COLOR_FORMAT, TargetDescriptor, texture};
use crate::upload::geometry::filled;
use crate::upload::material::MaterialOnGpu;
use crate::upload::pool::Model;
use crate::view::View;

/// Blur radius in world units per unit of height above the floor, if the setting `reflectorDepthBlur` is 1.
const BLUR: f32 = 0.02;

/// Format of the height above the floor.
const HEIGHT_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::R16Float;

pub(crate) struct Reflection {
    /// The view of the camera below the floor.
    pub(crate) view: View,
    /// Pipelines that write the depth of blended surfaces.
    pub(crate) blended_depth: PerBatch,
    composite: Composite,
    look: ReflectorLook,
    /// The drawn region of the frame, and the width of the frame.
    drawn: (Region, u32),
    uniform: wgpu::Buffer,
    catch: (wgpu::RenderPipeline, wgpu::BindGroup),
    pyramid: Pyramid,
    put: (wgpu::RenderPipeline, wgpu::BindGroup),
}

impl Reflection {
    /// Creates the passes. `view` is the view of the camera below the floor. `look` describes the targets of the
    /// picture into which the reflection is drawn.
    pub(crate) fn new(
        base: &PipelineBase<'_>,
        view: View,
        reflector: ReflectorLook,
        (look, picture): (&TargetDescriptor, Picture),
        (model, materials): (Model<'_>, &[MaterialOnGpu]),
    ) -> Result<Self, RenderError> {
        let (gpu, frame_layout) = (base.gpu, base.frame_layout);
        let clear = wgpu::Color::TRANSPARENT;
        let composite = Composite::new(gpu, frame_layout, &view.look, &view.targets, clear, None)?;
        let part = view.look.region;
        let mips = level_count(part);
        let readable = wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::TEXTURE_BINDING;
        let level = |format| texture(gpu, part, 1, format, readable, mips);
        let (color, height) = (level(SCENE_COLOR_FORMAT), level(HEIGHT_FORMAT));
        let pyramid = Pyramid::new(gpu, frame_layout, [&color, &height])?;
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let uniform = filled(gpu, "reflection", bytemuck::bytes_of(&gpu_types::Reflection::default()), usage)?;
        let catch = catch(gpu, frame_layout, &view, &uniform)?;
        let put = put(gpu, frame_layout, &pyramid, &uniform, look.picture_format)?;
        let blended_depth = blended_depth_pipelines(base, model.batches, materials)?;
        let drawn = (look.region, picture.width);
        Ok(Self { view, blended_depth, composite, look: reflector, drawn, uniform, catch, pyramid, put })
    }

    /// Updates the values for the next frame.
    pub(crate) fn update(&mut self, gpu: &Gpu, base: &FrameBase<'_>, shot: &Shot, gpu_scene: &GpuScene) {
        let floor = base.scene.floor_height;
        let part = self.view.look.region;
        let mirrored = Shot { camera: mirrored_camera(&shot.camera, floor), ..shot.clone() };
        let own = FrameBase { region: part, model_region: part, origin: [0; 2], ..*base };
        let frame = frame_uniform(&own, &mirrored);
        self.view.update(gpu, &frame, gpu_scene);
        let world_from_clip = self.view.clip_from_world.inverse();
        let (drawn, width) = self.drawn;
        let uniform = gpu_types::Reflection {
            height_from_clip: world_from_clip.row(1).to_array(),
            divisor_from_clip: world_from_clip.row(3).to_array(),
            strength: self.look.mix,
            fade_height: self.look.fade,
            blur: blur_per_height(base.scene, self.look, shot, base.height),
            widest_blur: widest_blur(base.scene, self.look, shot, base.height),
            floor_height: floor,
            end: [width as f32 - part.x as f32 - drawn.x as f32, part.y as f32 - drawn.y as f32],
            ..gpu_types::Reflection::default()
        };
        gpu.write(&self.uniform, 0, bytemuck::bytes_of(&uniform));
    }

    /// Converts the picture of the camera below the floor to an image with blurred mip levels.
    pub(crate) fn finish(&self, recorder: &mut Recorder<'_>, model: ModelParts) {
        let frame = &self.view.frame_group;
        self.composite.run(recorder, frame, (None, None, None), model, &self.view.targets.finished_view);
        let part = model.whole().unwrap_or(Region::EMPTY);
        let colors = self.pyramid.levels[0].each_ref().map(cleared);
        {
            let mut pass = recorder.pass("reflection", frame, &colors, None);
            pass.set_pipeline(&self.catch.0);
            pass.set_bind_group(1, &self.catch.1, &[]);
            pass.set_scissor_rect(part.x, part.y, part.width, part.height);
            pass.draw(0..3, 0..1);
        }
        self.pyramid.fill(recorder, frame, "reflection", part);
    }

    /// Draws the reflection over the backdrop.
    pub(crate) fn draw(&self, pass: &mut wgpu::RenderPass<'_>) {
        let (drawn, width) = self.drawn;
        let part = self.view.look.region;
        // The region of the reflection after swapping left and right.
        let left = (width - part.x - part.width).max(drawn.x) - drawn.x;
        let right = (width - part.x).min(drawn.x + drawn.width).saturating_sub(drawn.x);
        let top = part.y.max(drawn.y) - drawn.y;
        let bottom = (part.y + part.height).min(drawn.y + drawn.height).saturating_sub(drawn.y);
        if right <= left || bottom <= top {
            return;
        }
        pass.set_pipeline(&self.put.0);
        pass.set_bind_group(1, &self.put.1, &[]);
        pass.set_scissor_rect(left, top, right - left, bottom - top);
        pass.draw(0..3, 0..1);
    }
}

/// Returns the number of mip levels of the reflection. There are enough levels for the widest blur in pictures of all
/// sizes, so that pictures of all sizes have about the same blur.
fn level_count(part: Region) -> u32 {
    part.width.max(part.height).max(2).ilog2()
}

/// Returns the number of pixels by which the reflection extends beyond the reflected model, in any frame of a picture with
/// `height` rows.
pub(crate) fn reflection_reach(scene: &Scene, look: ReflectorLook, height: u32) -> u32 {
    /// The lookups in blurred mip levels reach beyond the blur radius.
    const LOOKUP_REACH: f32 = 2.0;
    let widest = scene.shots.iter().map(|shot| widest_blur(scene, look, shot, height)).fold(0.0, f32::max);
    (LOOKUP_REACH * widest).ceil() as u32
}

/// Returns the blur radius at the highest point of the model, in pixels.
fn widest_blur(scene: &Scene, look: ReflectorLook, shot: &Shot, height: u32) -> f32 {
    blur_per_height(scene, look, shot, height) * (scene.bounds.1.y - scene.floor_height).max(0.0)
}

/// Returns the increase of the blur radius per unit of height above the floor, in pixels.
fn blur_per_height(scene: &Scene, look: ReflectorLook, shot: &Shot, height: u32) -> f32 {
    let distance = shot.camera.position.distance((scene.bounds.0 + scene.bounds.1) * 0.5).max(1e-3);
    BLUR * look.depth_blur * pixels_per_unit(&shot.camera, height) / distance
}

/// A pipeline and its bind group.
type Pass = (wgpu::RenderPipeline, wgpu::BindGroup);

/// Creates the pass that writes the picture of the camera below the floor to level 0 of the pyramid.
fn catch(
    gpu: &Gpu,
    frame_layout: &wgpu::BindGroupLayout,
    view: &View,
    uniform: &wgpu::Buffer,
) -> Result<Pass, RenderError> {
    let samples = view.look.samples;
    let layout = bindings::layout(
        &gpu.device,
        "catch",
        &[
            bindings::uniform(0),
            bindings::texture(1, bindings::UNFILTERED),
            bindings::multisampled(2, wgpu::TextureSampleType::Depth, samples),
        ],
    );
    let pipeline = full_screen(
        gpu,
        &FullScreen {
            label: "catch",
            path: "pass/reflection.wgsl",
            defines: if samples > 1 { &["CATCH", "MULTISAMPLED"] } else { &["CATCH"] },
            constants: &[("SAMPLES", f64::from(samples))],
            groups: &[frame_layout, &layout],
            target: FullScreenTarget { colors: &[SCENE_COLOR_FORMAT, HEIGHT_FORMAT], ..Default::default() },
        },
    )?;
    let targets = &view.targets;
    let resources =
        [uniform.as_entire_binding(), bindings::view(&targets.finished_view), bindings::view(&targets.depth)];
    Ok((pipeline, bindings::group(&gpu.device, "catch", &layout, &resources)))
}

/// Creates the pass that draws the pyramid into the frame.
fn put(
    gpu: &Gpu,
    frame_layout: &wgpu::BindGroupLayout,
    pyramid: &Pyramid,
    uniform: &wgpu::Buffer,
    format: wgpu::TextureFormat,
) -> Result<Pass, RenderError> {
    let textures = [1, 2].map(|k| bindings::texture(k, bindings::FILTERED));
    let layout = bindings::layout(&gpu.device, "reflection", &[bindings::uniform(0), textures[0], textures[1]]);
    let pipeline = full_screen(
        gpu,
        &FullScreen {
            label: "reflection",
            path: "pass/reflection.wgsl",
            defines: &[],
            constants: &[],
            groups: &[frame_layout, &layout],
            target: FullScreenTarget {
                colors: &[format],
                blend: Some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING),
                ..Default::default()
            },
        },
    )?;
    let [color, height] = pyramid.all.each_ref().map(bindings::view);
    let group = bindings::group(&gpu.device, "reflection", &layout, &[uniform.as_entire_binding(), color, height]);
    Ok((pipeline, group))
}

/// Returns the camera whose picture is the reflection in a floor at the height `floor`, with left and right swapped.
pub(crate) fn mirrored_camera(camera: &Camera, floor: f32) -> Camera {
    let world_from_view = camera.view_from_world.inverse();
    let down = |v: Vec3| Vec3::new(v.x, -v.y, v.z);
    let position = Vec3::new(camera.position.x, 2.0 * floor - camera.position.y, camera.position.z);
    let turned = Mat4::from_cols(
        (-down(world_from_view.x_axis.truncate())).extend(0.0),
        down(world_from_view.y_axis.truncate()).extend(0.0),
        down(world_from_view.z_axis.truncate()).extend(0.0),
        position.extend(1.0),
    );
    Camera { view_from_world: turned.inverse(), position, ..*camera }
}

/// Returns the mirror image of a box in a floor at the height `floor`.
pub(crate) fn mirrored_box((min, max): (Vec3, Vec3), floor: f32) -> (Vec3, Vec3) {
    let at = |y: f32| 2.0 * floor - y;
    (Vec3::new(min.x, at(max.y), min.z), Vec3::new(max.x, at(min.y), max.z))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::region::clip_from_view;

    #[test]
    fn there_are_enough_levels_for_the_widest_blur_in_pictures_of_all_sizes() {
        for (width, height) in [(960, 540), (1920, 1080), (3840, 2160), (2160, 3840)] {
            // `reflectorDepthBlur` is 10. A point 2 units above the floor is seen from a distance of 4 units with the
            // default field of view.
            let pixels_per_unit = height as f32 / (2.0 * 17.5_f32.to_radians().tan());
            let widest = BLUR * 10.0 * 2.0 * pixels_per_unit / 4.0;
            let last = level_count(Region::whole(width, height)) - 1;
            assert!(widest.log2() <= last as f32, "{width}×{height}: {widest} pixels, last level {last}");
        }
    }

    #[test]
    fn the_mirrored_camera_shows_the_mirror_image_with_left_and_right_swapped() {
        let world_from_view = Mat4::from_translation(Vec3::new(0.6, 1.0, 4.0)) * Mat4::from_rotation_x(-0.2);
        let camera = Camera {
            view_from_world: world_from_view.inverse(),
            position: Vec3::new(0.6, 1.0, 4.0),
            fov_y: 0.6,
            pixel_aspect: 1.0,
            principal_point: glam::Vec2::ZERO,
            near: 0.1,
            far: 20.0,
        };
        let floor = -1.0;
        let mirrored = mirrored_camera(&camera, floor);
        assert!((mirrored.view_from_world.determinant() - 1.0).abs() < 1e-5, "a proper camera");
        let ndc = |camera: &Camera, p: Vec3| {
            let clip = clip_from_view(camera, 1.5) * camera.view_from_world * p.extend(1.0);
            (clip.x / clip.w, clip.y / clip.w)
        };
        let point = Vec3::new(0.3, 0.4, 0.5);
        let image = Vec3::new(0.3, 2.0 * floor - 0.4, 0.5);
        let (x, y) = ndc(&camera, image);
        let (mx, my) = ndc(&mirrored, point);
        assert!((x + mx).abs() < 1e-5 && (y - my).abs() < 1e-5, "{x} {y} {mx} {my}");
    }
}
