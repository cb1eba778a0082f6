//! The entry point of the renderer, which draws the frames of a scene.

use std::sync::Arc;

use plinth_bake::find_sun;
use plinth_frame::{Backdrop, PixelFormat, Region};
use plinth_scene::{Background, Scene, Shot};

use crate::RenderError;
use crate::back_to_front::surfaces_of_decals;
use crate::cache::Cache;
use crate::deferred_store::DeferredStore;
use crate::device_sort::DeviceSort;
use crate::first_shadows::{ShadowState, draw_first_floor_shadow, draw_first_shadows, shadow_state};
use crate::frame_group::{LightMaps, frame_group};
use crate::frame_plan::{FrameParts, FramePlan};
use crate::frame_uniform::{FrameBase, frame_uniform, punctual_lights};
use crate::gpu::Gpu;
use crate::gpu_scene::GpuScene;
use crate::gpu_types;
use crate::layouts::Layouts;
use crate::light_cache::prepared;
use crate::moving_model::MovingModel;
use crate::pass::accumulated_shadow::AccumulatedShadow;
use crate::pass::background::BackgroundPass;
use crate::pass::composite::Composite;
use crate::pass::floor::{Floor, FloorArea};
use crate::pass::packed_shadow::PackedShadow;
use crate::pass::post::{Post, blur_reach};
use crate::pass::reflection::Reflection;
use crate::pass::shadow_map::ShadowMap;
use crate::pass::sprites;
use crate::pass::visibility::joined;
use crate::picture_targets::{
    mirror_descriptor, radiance_target, reflection_region, region_of, target_descriptor, with_reach,
};
use crate::pipelines::{LightSwitches, PipelineBase, Pipelines, ShadowPipelines};
use crate::pose_light::PoseLight;
use crate::prepare::{PrepareInputs, Prepared, min_visible_size};
use crate::readback::Readback;
use crate::recorder::{PassTimes, Profile, Recorder};
use crate::region::widened;
use crate::second_device::may_be_used;
use crate::upload::geometry::{Geometry, PosedModel};
use crate::upload::geometry_cache::geometry;
use crate::upload::material::averaged_images;
use crate::upload::pool::{Model, number_triangles};
use crate::upload::sprite_material::upload_sprite_materials;
use crate::upload::sprites::SpriteInputs;
use crate::upload::texture::{LevelUse, MipLevels, Textures};
use crate::used_materials::{MaterialUses, upload_materials, upload_scaled_volumes, wanted_images};
use crate::view::View;

/// Size and format of the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Pixel format of the frames.
    pub format: PixelFormat,
}

/// A scene on a device, with everything that is needed to draw its frames.
pub struct Renderer<'g> {
    pub(crate) gpu: &'g Gpu,
    pub(crate) picture: Picture,
    pub(crate) light: Arc<Prepared>,
    pub(crate) pose_light: Option<PoseLight>,
    /// New light and mip levels that are not stored in the cache before the first frame is finished.
    pub(crate) deferred_store: DeferredStore,
    /// The cache for a second device.
    pub(crate) cache: Option<Cache>,
    /// Mip levels for a second device, until pictures are drawn.
    pub(crate) mip_levels: MipLevels,
    /// Time in the clip whose pose the model has.
    pub(crate) clip_time: Option<f32>,
    layouts: Layouts,
    switches: LightSwitches,
    pub(crate) gpu_scene: GpuScene,
    pub(crate) view: View,
    floor: Option<Floor>,
    background: BackgroundPass,
    composite: Composite,
    reflection: Option<Reflection>,
    post: Option<Post>,
    pub(crate) backdrop: Backdrop,
    /// The state for which the shadow maps were drawn before the first frame.
    maps_of: Option<ShadowState>,
    /// The state for which all shadows were drawn last.
    shadows_of: Option<ShadowState>,
    pub(crate) profile: Option<Profile>,
}

impl<'g> Renderer<'g> {
    /// Prepares everything that the frames share: light, geometry, textures, pipelines and render targets. Results of
    /// earlier renders are loaded from the cache if possible. New results are stored in the cache, for most scenes
    /// after the first frame, but at the latest when the renderer is dropped.
    /// Errors: if the picture or a buffer for the model would be larger than the adapter allows, or the device fails.
    pub fn new(gpu: &'g Gpu, scene: &Scene, picture: Picture, cache: Option<&Cache>) -> Result<Self, RenderError> {
        Self::prepared(gpu, scene, picture, cache, false)
    }

    /// Prepares a renderer that can also draw frames from cameras that are not in the scene. Such a renderer always
    /// draws the whole picture.
    /// Errors: those of [`Self::new`].
    pub fn for_any_camera(
        gpu: &'g Gpu,
        scene: &Scene,
        picture: Picture,
        cache: Option<&Cache>,
    ) -> Result<Self, RenderError> {
        Self::prepared(gpu, scene, picture, cache, true)
    }

    fn prepared(
        gpu: &'g Gpu,
        scene: &Scene,
        picture: Picture,
        cache: Option<&Cache>,
        any_camera: bool,
    ) -> Result<Self, RenderError> {
        let limit = gpu.report().max_texture_side;
        if picture.width > limit || picture.height > limit {
            return Err(RenderError::PictureTooLarge { width: picture.width, height: picture.height, limit });
        }
        with_prepare_inputs(gpu, scene, picture, |inputs| {
            let inputs = &PrepareInputs { any_camera, ..*inputs };
            let (light, fresh, mut textures) = prepared(gpu, inputs, cache, |indices| {
                let wanted = wanted_images(gpu, inputs, indices, (picture.width, picture.height));
                scene.model.decode_images(averaged_images(&scene.model));
                let levels = if may_be_used(gpu, inputs, picture) { LevelUse::Twice } else { LevelUse::Once };
                Textures::upload(gpu, &scene.model, wanted, levels, cache)
            });
            let levels = textures.take_unstored();
            let deferred = |light| cache.map(|cache| DeferredStore::new(light, levels, cache)).unwrap_or_default();
            // The renderer of a moving model changes the light, and the first view of a dataset is not urgent.
            let (renderer, deferred_store) = if scene.is_dataset || inputs.moving.contains(&true) {
                let serialized = fresh.serialize(&light);
                let store = || cache.map(|cache| serialized.store(cache));
                let assemble = || Self::assemble(gpu, picture, inputs, (light, cache), textures);
                (rayon::join(assemble, store).0, deferred(None))
            } else {
                let deferred_store = deferred(Some((Arc::clone(&light), fresh)));
                (Self::assemble(gpu, picture, inputs, (light, cache), textures), deferred_store)
            };
            Ok(Self { deferred_store, ..renderer? })
        })
    }

    #[expect(clippy::too_many_lines, reason = "each part needs the previous ones")]
    pub(crate) fn assemble(
        gpu: &'g Gpu,
        picture: Picture,
        inputs: &PrepareInputs<'_>,
        (mut light, cache): (Arc<Prepared>, Option<&Cache>),
        mut textures: Textures,
    ) -> Result<Self, RenderError> {
        let PrepareInputs { scene, floor: area, smallest, any_camera, .. } = *inputs;
        let posed = PosedModel { primitives: inputs.posed, indices: &light.model.indices, moving: inputs.moving };
        let layouts = Layouts::new(gpu);
        let mut materials = upload_materials(gpu, scene, posed.primitives, &mut textures);
        let sprite_materials = upload_sprite_materials(gpu, scene, posed.primitives, &mut textures, &mut materials);
        let volumes = upload_scaled_volumes(gpu, scene, posed.primitives, &mut textures, &mut materials);
        let uses = MaterialUses::new(&materials, volumes);
        let sprites = SpriteInputs {
            layout: &layouts.sprites,
            light_layout: &layouts.light,
            materials: &sprite_materials,
            short_side: picture.width.min(picture.height),
            pixel: smallest,
        };
        let (built, (maps, shadow_maps)) = rayon::join(
            || geometry(gpu, &layouts.light, scene, &posed, &light, &uses, &sprites),
            || (LightMaps::of(gpu, &light, inputs.moving), shadow_maps(gpu, scene, &light, &layouts.frame)),
        );
        let (key_map, sun_map) = shadow_maps?;
        let Geometry { pools, batches, triangles, triangle_format, in_main_memory, kept_shadows } = built?;
        let sprite_reach = sprites::reach(scene, picture.height, &batches, any_camera);
        let blur_reach = blur_reach(scene, picture.height, any_camera);
        let whole = Region::whole(picture.width, picture.height);
        let model_region =
            if any_camera { whole } else { with_reach(region_of(scene, picture, None, None), sprite_reach, picture) };
        // The whole picture must be drawn if the environment is visible, or an effect can change any pixel.
        let region = if any_camera || scene.post.reaches_everywhere() || scene.surroundings.is_some() {
            whole
        } else {
            let blurred = widened(model_region, blur_reach, picture.width, picture.height);
            joined(with_reach(region_of(scene, picture, area, scene.reflector), sprite_reach, picture), blurred)
        };
        let look = target_descriptor(
            gpu,
            scene,
            picture,
            (region, model_region),
            (&materials, &batches),
            (triangle_format, in_main_memory),
        );
        let switches = LightSwitches {
            key: scene.key_light.is_some(),
            key_shadow: scene.key_light.is_some() && scene.shadow.is_some(),
            sun: light.environment.sun.is_some(),
            punctual: punctual_lights(scene).count() as u32,
            packed: [key_map.packed.is_some(), sun_map.packed.is_some()],
        };
        let base = layouts.pipeline_base(gpu, look, switches);
        let (backdrop, clear) = (backdrop(&scene.background), clear_color(&scene.background));
        let none = ShadowMap::none(gpu);
        let group_with = |buffer: &wgpu::Buffer, shadows| frame_group(gpu, &layouts.frame, buffer, &maps, shadows);
        let group_without_maps = |buffer: &wgpu::Buffer| group_with(buffer, [&none, &none]);
        let group_with_maps = |buffer: &wgpu::Buffer| group_with(buffer, [&key_map, &sun_map]);
        let frame_groups = |buffer: &wgpu::Buffer| [group_with_maps(buffer), group_without_maps(buffer)];
        let model = Model { pools: &pools, batches: &batches };
        let all = (model, materials.as_slice());
        let shadows = ShadowPipelines::new(&base, &batches, &materials)?;
        let frame = FrameBase::new((scene, &light), [&key_map, &sun_map], &look, picture);
        let maps_of =
            draw_first_shadows(gpu, &frame, &shadows, (model, &materials, &kept_shadows), &group_without_maps)?;
        // Drawing an accumulated shadow takes a second with a software driver, which is too long while a slider is moved.
        // Therefore a draft has an accumulated shadow only if a copy is kept.
        let accumulates = |shadow: &AccumulatedShadow| {
            !any_camera
                || scene.shots.first().is_some_and(|shot| {
                    kept_shadows.contains(shadow.key(all, shot).as_ref(), shadow.sum.texture().size())
                })
        };
        // Creating a pipeline compiles its shader, which takes longer than everything else here.
        let passes = || -> Result<_, RenderError> {
            if !look.on_host {
                number_triangles(gpu, &pools)?;
            }
            let floor = match (area, scene.shadow) {
                (Some(area), Some(shadow)) => {
                    let key = scene.key_light.as_ref().map(|key| (key, &key_map));
                    let all = (scene, area);
                    Some(Floor::new(&base, all, shadow, key, &light, &group_without_maps, &accumulates)?)
                }
                _ => None,
            };
            let size = (picture.width, picture.height);
            let seen = scene.surroundings.as_ref();
            let background = BackgroundPass::new(gpu, &layouts.frame, &look, size, &backdrop, seen)?;
            let view = View::new(gpu, &layouts, look, (model, &triangles.buffer), &frame_groups)?;
            let radiance = (scene.post.bloom > 0.0).then(|| radiance_target(gpu, look.region));
            let post = Post::new(&base, scene, (&look, blur_reach), all, radiance.as_ref())?;
            let composite = Composite::new(gpu, &layouts.frame, &look, &view.targets, clear, radiance)?;
            let reflection = match scene.reflector {
                Some(reflector) => {
                    let seen = || with_reach(reflection_region(scene, picture, reflector), sprite_reach, picture);
                    let mirrored = mirror_descriptor(look, if any_camera { whole } else { seen() });
                    let view = View::new(gpu, &layouts, mirrored, (model, &triangles.buffer), &frame_groups)?;
                    Some(Reflection::new(&base, view, reflector, (&look, picture), all)?)
                }
                None => None,
            };
            // The shadow on the floor is drawn while the last pipelines of the model are created.
            let has_floor_shadow = match &floor {
                Some(floor) if maps_of.is_some() => draw_first_floor_shadow(gpu, &frame, floor, &group_with_maps)?,
                _ => false,
            };
            Ok((floor, background, view, post, composite, reflection, has_floor_shadow))
        };
        let (pipelines, passes) = rayon::join(|| Pipelines::new(&base, &batches, &materials, shadows), passes);
        let (floor, background, view, post, composite, reflection, has_floor_shadow) = passes?;
        gpu.check()?;
        let pipelines = pipelines?;
        let decals = surfaces_of_decals(scene, inputs.posed, model);
        let moving = (scene, inputs.posed, first_clip_time(scene));
        let moving = MovingModel::new(gpu, moving, (&pools, &batches, |batch| decals[batch].is_some()), &triangles)?;
        let prepared = (moving, DeviceSort::new(gpu, &pools, &batches)?);
        let model = (materials, pools, batches);
        let shadows = (key_map, sun_map, kept_shadows);
        let gpu_scene = GpuScene::new(model, decals, pipelines, shadows, sprite_reach, triangles, prepared);
        // A moving model is drawn by only one renderer, and `DeferredStore` does not store its light. Therefore the
        // light is not shared, and `Arc::get_mut` succeeds.
        let pose_light = Arc::get_mut(&mut light).and_then(|light| PoseLight::new(inputs, light, cache));
        Ok(Self {
            gpu,
            picture,
            light,
            pose_light,
            deferred_store: DeferredStore::default(),
            cache: cache.cloned(),
            mip_levels: textures.into_levels(),
            clip_time: first_clip_time(scene),
            layouts,
            switches,
            gpu_scene,
            view,
            floor,
            background,
            composite,
            reflection,
            post,
            backdrop,
            maps_of,
            shadows_of: maps_of.filter(|_state| has_floor_shadow),
            profile: None,
        })
    }

    /// Submits the commands that `record` records, and starts to copy `textures` from the device. `index` is the index
    /// of the picture in `ring`.
    pub(crate) fn submit(
        &mut self,
        ring: &mut Readback,
        index: u32,
        textures: &[&wgpu::Texture],
        record: impl FnOnce(&mut Self, &mut Recorder<'_>),
    ) -> Result<(), RenderError> {
        let profile = self.profile.take();
        let mut recorder = Recorder::new(self.gpu, profile.as_ref());
        record(self, &mut recorder);
        let submission = ring.submit(self.gpu, recorder.finish(), textures, index);
        self.gpu.check()?;
        if let (Some(profile), Some(submission)) = (&profile, submission) {
            profile.read(self.gpu, submission)?;
        }
        self.profile = profile;
        Ok(())
    }

    /// Returns the number of bytes per pixel of a finished picture.
    pub(crate) fn color_bytes(&self) -> u32 {
        self.view.look.finished_format.block_copy_size(None).unwrap_or(4)
    }

    /// Returns the maximum number of frames that are drawn or copied at the same time.
    pub(crate) fn frames_in_flight(&self) -> usize {
        if self.gpu.is_software() { 2 } else { 3 }
    }

    /// Starts to measure the time of each pass. From now on, the device draws only one frame at a time. Has no effect
    /// if the adapter does not support timestamps.
    pub fn time_passes(&mut self) {
        (self.maps_of, self.shadows_of) = (None, None);
        self.profile = Profile::new(self.gpu);
    }

    /// Returns the times that have been measured so far. Returns `None` if no times are measured.
    pub fn pass_times(&self) -> Option<PassTimes> {
        self.profile.as_ref().map(Profile::times)
    }

    /// Returns the region of the picture that is drawn.
    pub fn region(&self) -> Region {
        self.view.look.region
    }

    /// Sets the pose and the light of the model to a time of its clip. A new renderer has the pose of the first shot.
    /// Errors: if a buffer for the light would be larger than the adapter allows.
    pub(crate) fn pose(&mut self, scene: &Scene, clip_time: Option<f32>) -> Result<(), RenderError> {
        if !self.gpu_scene.moves() {
            return Ok(());
        }
        self.clip_time = clip_time;
        let descriptor = wgpu::CommandEncoderDescriptor { label: Some("pose") };
        let mut encoder = self.gpu.device.create_command_encoder(&descriptor);
        self.gpu_scene.pose(self.gpu, scene, clip_time, &mut encoder);
        if let (Some(pose_light), Some(time)) = (&mut self.pose_light, clip_time) {
            let light = pose_light.at(scene, time);
            self.gpu_scene.relight(self.gpu, &self.layouts.light, &light, &mut encoder)?;
            if let Some(floor) = &self.floor {
                floor.relight(self.gpu, &light.floor_ambient());
            }
        }
        if self.gpu.draws_as_card() {
            self.gpu.queue.submit([encoder.finish()]);
        }
        Ok(())
    }

    /// Records all passes of a frame. Each frame after a change of the model begins with the shadows, and so does the
    /// first frame if they were not drawn before it.
    pub(crate) fn encode(&mut self, recorder: &mut Recorder<'_>, scene: &Scene, shot: &Shot) {
        let state = shadow_state(shot, self.gpu_scene.moves());
        let has_maps = self.maps_of.take() == Some(state);
        let changed = self.shadows_of.replace(state) != Some(state);
        self.gpu_scene.arrange(self.gpu, shot, &mut recorder.encoder);
        let uniform = self.update(scene, shot);
        let mut plan = FramePlan { gpu_scene: &self.gpu_scene, recorder };
        if changed {
            if let Some(accumulated) = self.floor.as_ref().and_then(|floor| floor.accumulated.as_ref()) {
                accumulated.update(self.gpu, &uniform);
            }
            plan.shadows(self.gpu, shot, &self.view, (self.floor.as_ref(), has_maps));
        }
        let floor_is_seen = shot.camera.position.y > scene.floor_height;
        plan.frame(&FrameParts {
            view: &self.view,
            composite: &self.composite,
            background: &self.background,
            floor: self.floor.as_ref().filter(|_| floor_is_seen),
            reflection: self.reflection.as_ref().filter(|_| floor_is_seen),
            post: self.post.as_ref(),
        });
    }

    /// Writes the uniforms of the next frame to the device. Returns the uniform of the camera's view.
    fn update(&mut self, scene: &Scene, shot: &Shot) -> gpu_types::Frame {
        let maps = [&self.gpu_scene.key_map, &self.gpu_scene.sun_map];
        let base = FrameBase::new((scene, &self.light), maps, &self.view.look, self.picture);
        let uniform = frame_uniform(&base, shot);
        self.view.update(self.gpu, &uniform, &self.gpu_scene);
        if let Some(reflection) = &mut self.reflection {
            reflection.update(self.gpu, &base, shot, &self.gpu_scene);
        }
        if let Some(post) = &self.post {
            post.update(self.gpu, scene, shot, &self.view.look, self.picture.height);
        }
        self.background.look_from(self.gpu, &shot.camera);
        uniform
    }

    /// Returns the values that all pipelines share.
    pub(crate) fn pipeline_base(&self) -> PipelineBase<'_> {
        self.layouts.pipeline_base(self.gpu, self.view.look, self.switches)
    }
}

/// Calls `work` with the inputs that prepare a scene in the pose of its first shot.
pub(crate) fn with_prepare_inputs<T>(
    gpu: &Gpu,
    scene: &Scene,
    picture: Picture,
    work: impl FnOnce(&PrepareInputs<'_>) -> T,
) -> T {
    let mut posed = scene.pose(first_clip_time(scene));
    // The thickness of a volume is uploaded once. A body that grows has the thickness of its full size.
    let largest = scene.largest_scales(&posed);
    for (one, scale) in posed.iter_mut().zip(largest) {
        one.scale = scale;
    }
    let has_floor = scene.shadow.is_some() && !scene.is_dataset;
    let floor = has_floor.then(|| FloorArea::of(scene, find_sun(&scene.environment).as_ref()));
    let moving = scene.moving(&posed);
    let smallest = min_visible_size(gpu, scene, &posed, picture.height);
    work(&PrepareInputs { scene, posed: &posed, moving: &moving, floor, smallest, any_camera: false })
}

/// Returns the clip time of the first shot, whose pose a new renderer has.
fn first_clip_time(scene: &Scene) -> Option<f32> {
    scene.shots.first().and_then(|shot| shot.clip_time)
}

/// Converts the background of a scene to the backdrop of its frames.
pub fn backdrop(background: &Background) -> Backdrop {
    match background {
        Background::Transparent => Backdrop::Transparent,
        Background::Solid(rgb) => Backdrop::Solid(*rgb),
        Background::Picture(picture) => Backdrop::Picture(Arc::new(picture.pixels.to_vec())),
    }
}

/// Returns the colour with which the render target is cleared.
fn clear_color(background: &Background) -> wgpu::Color {
    match background {
        Background::Transparent => wgpu::Color::TRANSPARENT,
        Background::Picture(_) => wgpu::Color::BLACK,
        Background::Solid(rgb) => {
            let [r, g, b] = rgb.map(|c| f64::from(c) / 255.0);
            wgpu::Color { r, g, b, a: 1.0 }
        }
    }
}

/// Creates the shadow maps of the key light and of the sun.
/// Errors: those of [`PackedShadow::add`].
fn shadow_maps(
    gpu: &Gpu,
    scene: &Scene,
    light: &Prepared,
    frame_layout: &wgpu::BindGroupLayout,
) -> Result<(ShadowMap, ShadowMap), RenderError> {
    let (min, max) = scene.bounds;
    let center = (min + max) * 0.5;
    let radius = ((max - min) * 0.5).length().max(1e-3) * 1.02;
    let mut key = match (&scene.key_light, scene.shadow) {
        (Some(key), Some(shadow)) => ShadowMap::for_key(gpu, key, center, radius, shadow.softness),
        _ => ShadowMap::none(gpu),
    };
    let mut sun = light.environment.sun.as_ref().map_or_else(
        || ShadowMap::none(gpu),
        |sun| ShadowMap::for_direction(gpu, sun.to_light, center, radius, sun.angular_radius),
    );
    PackedShadow::add(gpu, frame_layout, [&mut key, &mut sun])?;
    Ok((key, sun))
}

#[cfg(test)]
mod tests {
    use plinth_frame::{Frame, FrameSink, SinkError};
    use plinth_model::{Material, Mesh, Node, Primitive};
    use plinth_scene::{EnvironmentMap, LightDetail, ShadowLook, build_scene};
    use plinth_spec::RenderSettings;
    use plinth_spec::settings::ShadowMode;

    use super::*;
    use crate::gpu::GpuOptions;
    use crate::triangle_scene::triangle_scene;

    #[derive(Default)]
    struct Pixels(Vec<u8>);

    impl FrameSink for Pixels {
        fn frame(&mut self, frame: &Frame) -> Result<(), SinkError> {
            self.0.clone_from(&frame.pixels);
            Ok(())
        }
    }

    #[test]
    fn the_shadows_of_the_first_frame_are_drawn_before_it() {
        let gpu = Gpu::open(&GpuOptions::default()).unwrap();
        let frame = |scene: &Scene, forget: bool| {
            let picture = Picture { width: 128, height: 72, format: PixelFormat::Rgba8 };
            let mut renderer = Renderer::new(&gpu, scene, picture, None).unwrap();
            let drawn = scene.shadow.map(|_look| shadow_state(&scene.shots[0], false));
            assert_eq!(renderer.shadows_of, drawn);
            if forget {
                renderer.time_passes();
                assert_eq!((renderer.maps_of, renderer.shadows_of), (None, None));
            }
            let mut pixels = Pixels::default();
            renderer.render_one(scene, &scene.shots[0], &mut pixels).unwrap();
            pixels.0
        };
        let mut scene = triangle_scene();
        let with_shadows = frame(&scene, false);
        assert!(with_shadows == frame(&scene, true), "the frame depends on when the shadows are drawn");
        scene.shadow = None;
        assert!(with_shadows != frame(&scene, false), "no shadow is visible");
    }

    /// Returns a scene with a key light and a sun, in which a small square casts shadows on a large square and on the
    /// floor.
    fn two_squares() -> Scene {
        let square = |half: f32, z: f32| Primitive {
            positions: vec![[-half, -half, z], [half, -half, z], [half, half, z], [-half, half, z]],
            normals: vec![[0.0, 0.0, 1.0]; 4],
            indices: vec![0, 1, 2, 0, 2, 3],
            ..Primitive::default()
        };
        let model = plinth_model::Model {
            nodes: vec![Node { mesh: Some(0), ..Node::default() }],
            meshes: vec![Mesh { primitives: vec![square(1.0, 0.0), square(0.4, 0.5)], ..Mesh::default() }],
            materials: vec![Material { double_sided: true, ..Material::default() }],
            ..plinth_model::Model::default()
        };
        let mut sunny = EnvironmentMap { width: 256, height: 128, pixels: vec![[0.1; 3]; 256 * 128] };
        sunny.pixels[31 * 256 + 192] = [2500.0; 3];
        build_scene(Arc::new(model), &RenderSettings::default(), Some(sunny)).unwrap()
    }

    /// Makes a renderer read the shadow maps instead of their packed copies.
    fn read_whole_maps(renderer: &mut Renderer<'_>, scene: &Scene) {
        renderer.switches.packed = [false; 2];
        let base = renderer.pipeline_base();
        let GpuScene { batches, materials, key_map, .. } = &renderer.gpu_scene;
        let shadows = ShadowPipelines::new(&base, batches, materials).unwrap();
        let pipelines = Pipelines::new(&base, batches, materials, shadows).unwrap();
        let area = FloorArea::of(scene, find_sun(&scene.environment).as_ref());
        let key = scene.key_light.as_ref().map(|key| (key, key_map));
        let group = |_buffer: &wgpu::Buffer| renderer.view.frame_group.clone();
        let accumulates = |_shadow: &AccumulatedShadow| false;
        let (all, look) = ((scene, area), scene.shadow.unwrap());
        let floor = Floor::new(&base, all, look, key, &renderer.light, &group, &accumulates).unwrap();
        renderer.gpu_scene.pipelines = pipelines;
        renderer.floor = Some(floor);
        (renderer.maps_of, renderer.shadows_of) = (None, None);
    }

    #[test]
    fn packed_shadow_maps_show_the_same_shadows() {
        let gpu = Gpu::open(&GpuOptions::default()).unwrap();
        let picture = Picture { width: 192, height: 108, format: PixelFormat::Rgba8 };
        let mut scene = two_squares();
        scene.light_detail = LightDetail::Draft;
        let drawn = |renderer: &mut Renderer<'_>, scene: &Scene| {
            let mut pixels = Pixels::default();
            renderer.render_one(scene, &scene.shots[0], &mut pixels).unwrap();
            pixels.0
        };
        let looks =
            [(ShadowMode::Shader, 0.0), (ShadowMode::Shader, 0.2), (ShadowMode::Shader, 1.0), (ShadowMode::Flat, 0.5)];
        for (mode, softness) in looks {
            scene.shadow = scene.shadow.map(|look| ShadowLook { mode, softness, ..look });
            let mut renderer = Renderer::new(&gpu, &scene, picture, None).unwrap();
            let is_packed = [&renderer.gpu_scene.key_map, &renderer.gpu_scene.sun_map].map(|map| map.packed.is_some());
            // The map of a hard shadow is too large for a copy.
            assert_eq!(is_packed, [gpu.is_software() && softness > 0.1, gpu.is_software()]);
            let packed = drawn(&mut renderer, &scene);
            read_whole_maps(&mut renderer, &scene);
            let whole = drawn(&mut renderer, &scene);
            let largest = packed.iter().zip(&whole).map(|(a, b)| a.abs_diff(*b)).max();
            assert!(largest <= Some(1), "{mode:?}, softness {softness}: {largest:?}");
        }
    }
}
