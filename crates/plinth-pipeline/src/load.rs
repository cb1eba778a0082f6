//! First stage of every job: loads the model while the graphics device is opened.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use plinth_model::{LoadOptions, Model, load_glb, load_glb_with_known_images};
use plinth_render::{Cache, Gpu, GpuOptions};
use plinth_scene::{SceneError, max_texture_side};

use crate::failure::JobError;
use crate::job::Job;

/// Loads the model of a job, builds its scene with `build`, and opens the graphics device. `longest` is the longer side
/// of the frames in pixels, which limits the size of textures.
/// Errors: if the model or the scene is not valid, no device is available, or the job is cancelled.
pub(crate) fn load<S>(
    job: &Job,
    longest: u32,
    build: impl FnOnce(Arc<Model>) -> Result<S, SceneError>,
    cancel: &AtomicBool,
) -> Result<(S, Gpu), JobError> {
    load_model(&job.model, job.adapter.clone(), max_texture_side(longest), job.cache.as_ref(), build, cancel)
}

/// Loads a model from `bytes`, builds its scene with `build`, and opens the graphics device. Textures that are larger
/// than `max_texture_side` are scaled down. Images that `cache` knows are decoded only when their pixels are read.
/// Errors: see [`load`].
pub(crate) fn load_model<S, E: Into<JobError>>(
    bytes: &[u8],
    adapter: Option<String>,
    max_texture_side: u32,
    cache: Option<&Cache>,
    build: impl FnOnce(Arc<Model>) -> Result<S, E>,
    cancel: &AtomicBool,
) -> Result<(S, Gpu), JobError> {
    let opening = Gpu::start_opening(GpuOptions { adapter });
    let load = LoadOptions { max_texture_side, ..LoadOptions::default() };
    let model = match cache {
        Some(cache) => load_glb_with_known_images(bytes, &load, &|hash, size| cache.image_facts(hash, size)),
        None => load_glb(bytes, &load),
    };
    let scene = model.map_err(JobError::from).and_then(|model| {
        stop_if(cancel)?;
        build(Arc::new(model)).map_err(Into::into)
    });
    // Waits for the device even if the model is not valid. Some drivers crash if the process exits while they start.
    let gpu = opening.join().map_err(|_panic| JobError::Crashed)?;
    let scene = scene?;
    let gpu = gpu?;
    stop_if(cancel)?;
    Ok((scene, gpu))
}

/// Returns an error if the job was cancelled.
pub(crate) fn stop_if(cancel: &AtomicBool) -> Result<(), JobError> {
    if cancel.load(Ordering::Relaxed) { Err(JobError::Cancelled) } else { Ok(()) }
}
