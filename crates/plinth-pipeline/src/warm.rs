//! The model and the graphics device that a process keeps between two renders of the same model.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use plinth_model::Model;
use plinth_render::Gpu;
use plinth_scene::{Scene, SceneAssets, build_scene, max_texture_side};
use plinth_spec::RenderSettings;

use crate::failure::JobError;
use crate::job::Job;
use crate::load::{load_model, stop_if};

/// Maximum size in memory of a model that is kept between renders. Material edits, decals and merged vertices work on a
/// copy of such a model. The limit ensures that the copy does not exceed the memory of a job.
const MAX_KEPT_BYTES: usize = 512 << 20;

/// Returns the maximum width and height of textures for the model of a video. Larger textures are scaled down when the
/// model is loaded.
pub fn texture_side(settings: &RenderSettings) -> u32 {
    let (width, height) = settings.video().quality.size(settings.video().aspect);
    max_texture_side(width.max(height))
}

/// The model of the last video, and the graphics device that drew it, including its compiled pipelines and uploaded
/// data. Both are kept for the next video of the same model.
#[derive(Default)]
pub struct WarmModel(Option<Loaded>);

struct Loaded {
    texture_side: u32,
    model: Arc<Model>,
    gpu: Arc<Gpu>,
}

impl WarmModel {
    /// Returns whether the loaded model suits a video with these settings. If it does, the model file need not be read
    /// again.
    pub fn has_loaded(&self, settings: &RenderSettings) -> bool {
        self.0.as_ref().is_some_and(|loaded| loaded.texture_side == texture_side(settings))
    }

    /// Builds the scene of a video, and returns it together with the graphics device. If they are not loaded yet, loads
    /// the model and opens the device. Keeps both for the next video, unless the model is too large.
    /// Errors: see [`load_model`].
    pub(crate) fn scene(&mut self, job: &Job, cancel: &AtomicBool) -> Result<(Scene, Arc<Gpu>), JobError> {
        let build = |model| {
            let assets: SceneAssets<'_> = job.scene_assets();
            build_scene(model, &job.settings, assets).map_err(JobError::from)
        };
        if self.has_loaded(&job.settings)
            && let Some(Loaded { model, gpu, .. }) = &self.0
        {
            let scene = build(Arc::clone(model))?;
            stop_if(cancel)?;
            return Ok((scene, Arc::clone(gpu)));
        }
        // Frees the memory of the old model before the new model is loaded.
        self.0 = None;
        let texture_side = texture_side(&job.settings);
        let build = |model: Arc<Model>| {
            let kept = (model.content_bytes() <= MAX_KEPT_BYTES).then(|| Arc::clone(&model));
            Ok::<_, JobError>((build(model)?, kept))
        };
        let cache = job.cache.as_ref();
        let ((scene, kept), mut gpu) = load_model(&job.model, job.adapter.clone(), texture_side, cache, build, cancel)?;
        gpu.enable_cache();
        let gpu = Arc::new(gpu);
        self.0 = kept.map(|model| Loaded { texture_side, model, gpu: Arc::clone(&gpu) });
        Ok((scene, gpu))
    }
}
