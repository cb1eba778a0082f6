//! Interactive previews. A model stays loaded on an open graphics device, and single frames of it are drawn with
//! different settings.
//!
//! The same code draws previews and the stills of jobs, so both have the same pixels if they have the same size.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use glam::DVec3;
use plinth_frame::{PixelFormat, Resampler, RgbaImage};
use plinth_media::{FramePlan, H264Encoder, MediaOutputs, MediaPlan, MediaWriter};
use plinth_model::{Image, Model};
use plinth_render::{Cache, Gpu, Picture, Renderer, merge_dense_vertices, separate_opaque_triangles};
use plinth_scene::{
    Background, EnvironmentMap, LightDetail, SceneAssets, SceneError, build_dataset, build_scene,
    build_scene_of_height, max_texture_side, studio,
};
use plinth_spec::preview::{DatasetCameras, PreviewAnswer, PreviewOptions, PreviewQuestion};
use plinth_spec::quality::FRAMES_PER_SECOND;
use plinth_spec::settings::ShadowMode;
use plinth_spec::{OutputFile, RenderSettings};

use crate::dataset::views_of;
use crate::environment::EnvironmentFiles;
use crate::failure::JobError;
use crate::job::from_render;
use crate::load::{load_model, stop_if};
use crate::opaque_backdrop::opaque_backdrop;

/// A loaded model, and the graphics device that draws it.
pub(crate) struct LoadedModel {
    model: Arc<Model>,
    gpu: Gpu,
}

impl LoadedModel {
    /// Loads a model and opens the graphics device. `longest` is the maximum length of the longer side of all pictures,
    /// in pixels.
    /// Errors: if the model is not valid, no device is available, or the job is cancelled.
    pub(crate) fn open(
        bytes: &[u8],
        adapter: Option<String>,
        longest: u32,
        cancel: &AtomicBool,
    ) -> Result<Self, JobError> {
        let (model, mut gpu) = load_model(bytes, adapter, max_texture_side(longest), None, Ok::<_, JobError>, cancel)?;
        gpu.enable_cache();
        Ok(Self { model, gpu })
    }
}

/// Draws single frames of a loaded model.
pub(crate) struct PreviewStage<'g> {
    loaded: &'g LoadedModel,
    /// Path or name of ffmpeg. Previews are stills, so ffmpeg is never started.
    ffmpeg: PathBuf,
    cache: Option<Cache>,
    draft: Option<DraftRenderer<'g>>,
    /// The environment that was used last, and its files; `None` for the built-in studio.
    environment: Option<(Option<EnvironmentFiles>, EnvironmentMap)>,
}

/// The renderer of the last draft. It is reused for the next draft if only the camera has changed.
struct DraftRenderer<'g> {
    settings: RenderSettings,
    /// Identifiers of the images that the draft was drawn with. A texture that has been deleted since is not among those of the
    /// next draft.
    images: BTreeSet<String>,
    picture: Picture,
    renderer: Renderer<'g>,
}

/// Request to draw one frame.
#[derive(Debug)]
pub(crate) struct PreviewFrame<'a> {
    /// Render settings of a video.
    pub(crate) settings: &'a RenderSettings,
    /// Environment of the scene; `None` for the built-in studio.
    pub(crate) environment: Option<&'a EnvironmentFiles>,
    /// Contents of the images that the settings use, by asset ID.
    pub(crate) images: &'a BTreeMap<String, Vec<u8>>,
    /// How to draw it.
    pub(crate) options: PreviewOptions,
    /// Path of the PNG file to write.
    pub(crate) target: &'a Path,
}

impl<'g> PreviewStage<'g> {
    pub(crate) const fn new(loaded: &'g LoadedModel, ffmpeg: PathBuf, cache: Option<Cache>) -> Self {
        Self { loaded, ffmpeg, cache, draft: None, environment: None }
    }

    /// Draws a frame, and writes it to its file. Returns the warnings of the scene.
    /// Errors: [`JobError`].
    pub(crate) fn draw(&mut self, wanted: &PreviewFrame<'_>, cancel: &AtomicBool) -> Result<Vec<String>, JobError> {
        let PreviewFrame { settings, environment, images, options, target } = *wanted;
        let PreviewOptions { longest, is_draft, position, watermark, question: _ } = options;
        let (width, height) = fitted(settings.video().quality.size(settings.video().aspect), longest);
        // The poster of a video with alpha is made from its 16-bit frames, so its preview has the same format.
        let is_deep = settings.video().quality.has_alpha() && !is_draft;
        let format = if is_deep { PixelFormat::Rgba16 } else { PixelFormat::Rgba8 };
        let picture = Picture { width, height, format };
        let kept = self.draft.take_if(|_draft| is_draft).filter(|draft| draft.fits(wanted, picture));
        // A reused renderer already contains the light, so the environment is not needed.
        let environment = if kept.is_some() { no_light() } else { self.environment(environment)? };
        let assets = SceneAssets { environment: Some(environment), images };
        let mut scene = build_scene_of_height(Arc::clone(&self.loaded.model), settings, assets, height)?;
        separate_opaque_triangles(&mut scene);
        let index = frame_at(position, settings, scene.shots.len());
        if is_draft {
            scene.light_detail = LightDetail::Interactive;
        }
        stop_if(cancel)?;
        scene.background = resized(scene.background, width, height)?;
        scene.opaque_background = resized(scene.opaque_background, width, height)?;
        let plan = MediaPlan {
            ffmpeg: self.ffmpeg.clone(),
            encoder: H264Encoder::default(),
            width,
            height,
            fps: FRAMES_PER_SECOND,
            codec: settings.video().quality.codec(),
            files: [(OutputFile::FullPoster, target.to_owned())].into(),
            posters_early: false,
            watermark,
        };
        let background = opaque_backdrop(&self.loaded.gpu, &scene, (width, height))?;
        let frames = FramePlan { count: 1, poster_frame: 0, background };
        let mut writer = MediaWriter::new(MediaOutputs::start(plan)?, frames, cancel)?;
        let shot = scene.shots.get(index).cloned().ok_or(SceneError::NothingVisible)?;
        let (gpu, cache) = (&self.loaded.gpu, self.cache.as_ref());
        let mut renderer = match kept {
            Some(draft) => draft.renderer,
            None if is_draft => Renderer::for_any_camera(gpu, &scene, picture, cache)?,
            None => {
                merge_dense_vertices(&mut scene, height);
                Renderer::new(gpu, &scene, picture, cache)?
            }
        };
        renderer.render_one(&scene, &shot, &mut writer).map_err(from_render)?;
        if !is_draft && settings.shadow().mode == ShadowMode::Accumulated {
            // The renderer of the last draft has no accumulated shadow. A new one uses the shadow of this picture.
            self.draft = None;
        }
        if is_draft {
            let images = images.keys().cloned().collect();
            self.draft = Some(DraftRenderer { settings: settings.clone(), images, picture, renderer });
        }
        writer.finish()?;
        Ok(scene.warnings)
    }

    /// Returns an environment. Its files are only read if they differ from the files that were read last.
    /// Errors: if the files cannot be read.
    fn environment(&mut self, files: Option<&EnvironmentFiles>) -> Result<EnvironmentMap, JobError> {
        if let Some((known, environment)) = &self.environment
            && known.as_ref() == files
        {
            return Ok(environment.clone());
        }
        let environment = files.map(EnvironmentFiles::read).transpose()?.unwrap_or_else(studio);
        self.environment = Some((files.cloned(), environment.clone()));
        Ok(environment)
    }

    /// Answers a question about a frame without drawing the frame. `images` are the contents of the images that the
    /// settings use, by asset ID.
    /// Errors: [`JobError`].
    pub(crate) fn answer(
        &self,
        question: PreviewQuestion,
        settings: &RenderSettings,
        images: &BTreeMap<String, Vec<u8>>,
        position: Option<f64>,
    ) -> Result<PreviewAnswer, JobError> {
        // Surfaces and cameras do not depend on light, so the environment is not read.
        let assets = SceneAssets { environment: None, images };
        let model = Arc::clone(&self.loaded.model);
        match question {
            PreviewQuestion::Surfaces { x, y } => {
                let scene = build_scene(model, settings, assets)?;
                let (width, height) = settings.video().quality.size(settings.video().aspect);
                let shot = scene.shots.get(frame_at(position, settings, scene.shots.len()));
                let shot = shot.ok_or(SceneError::NothingVisible)?;
                let aspect = f64::from(width) / f64::from(height);
                Ok(PreviewAnswer::Surfaces(scene.surfaces_at(shot, [x, y], aspect)))
            }
            PreviewQuestion::DatasetCameras => {
                let (scene, views) = build_dataset(model, settings, assets, &views_of(settings))?;
                let (min, max) = scene.bounds;
                Ok(PreviewAnswer::DatasetCameras(DatasetCameras {
                    positions: views.positions_in_scene().iter().map(DVec3::to_array).collect(),
                    fov: views.intrinsics.angle_y().to_degrees(),
                    bounds: [min.as_dvec3().to_array(), max.as_dvec3().to_array()],
                }))
            }
        }
    }
}

impl DraftRenderer<'_> {
    /// Returns whether the renderer can draw this draft. It can if only the camera has changed.
    fn fits(&self, wanted: &PreviewFrame<'_>, picture: Picture) -> bool {
        self.picture == picture
            && self.settings.differs_only_in_camera(wanted.settings)
            && self.images.iter().eq(wanted.images.keys())
    }
}

/// Returns a black environment of two texels.
fn no_light() -> EnvironmentMap {
    EnvironmentMap { width: 2, height: 1, pixels: vec![[0.0; 3]; 2] }
}

/// Returns the index of the frame at a position from 0 to 1, or of the frame that the poster shows if the position is
/// `None`.
fn frame_at(position: Option<f64>, settings: &RenderSettings, count: usize) -> usize {
    let last = count.saturating_sub(1);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and the last frame")]
    let index = |share: f64| (share.clamp(0.0, 1.0) * last as f64).round() as usize;
    position.map_or_else(|| settings.camera().effect.poster_frame(count), index)
}

/// Scales a background to the size of the frames if it is a picture.
/// Errors: if the picture cannot be scaled.
fn resized(background: Background, width: u32, height: u32) -> Result<Background, JobError> {
    let Background::Picture(picture) = &background else { return Ok(background) };
    if (picture.width, picture.height) == (width, height) {
        return Ok(background);
    }
    let source = RgbaImage { width: picture.width, height: picture.height, pixels: &picture.pixels };
    let pixels = Resampler::default().average(source, width, height).map_err(|error| {
        JobError::Scene(SceneError::Asset { id: "the background".to_owned(), problem: error.to_string() })
    })?;
    Ok(Background::Picture(Arc::new(Image { width, height, pixels: pixels.into(), ..Image::default() })))
}

/// Scales a size down so that its longer side is `longest`. The other side is rounded. Sizes that are not larger are
/// returned unchanged.
fn fitted((width, height): (u32, u32), longest: u32) -> (u32, u32) {
    let side = width.max(height);
    if side <= longest {
        return (width, height);
    }
    let scaled = |side_of: u32| {
        let scaled = (u64::from(side_of) * u64::from(longest) + u64::from(side) / 2) / u64::from(side);
        scaled.max(2) as u32
    };
    (scaled(width), scaled(height))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fitted_sizes_keep_their_aspect_ratio() {
        assert_eq!(fitted((1920, 1080), 640), (640, 360));
        assert_eq!(fitted((1080, 1920), 1280), (720, 1280));
        assert_eq!(fitted((540, 540), 1280), (540, 540));
        assert_eq!(fitted((1920, 1080), 720), (720, 405));
        assert_eq!(fitted((1920, 1080), 641), (641, 361));
    }
}
