//! The first stage of every job: the model is read while the device opens.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use plinth_model::{LoadOptions, Model, load_glb};
use plinth_render::{Gpu, GpuOptions};
use plinth_scene::SceneError;

use crate::failure::JobError;
use crate::job::Job;

/// Reads the model, builds its scene with `build`, and opens the device. `longest` is the longest side of the pictures.
pub(crate) fn load<S>(
    job: &Job,
    longest: u32,
    build: impl FnOnce(Arc<Model>) -> Result<S, SceneError>,
    cancel: &AtomicBool,
) -> Result<(S, Gpu), JobError> {
    let options = GpuOptions { adapter: job.adapter.clone() };
    // The device opens while the model is read.
    let opening = std::thread::spawn(move || Gpu::open(&options));
    let load = LoadOptions { max_texture_side: texture_side(longest), ..LoadOptions::default() };
    let scene = load_glb(&job.model, &load).map_err(JobError::from).and_then(|model| {
        stop_if(cancel)?;
        Ok(build(Arc::new(model))?)
    });
    // A driver must not be left while it starts, so it is awaited also where the model is bad.
    let gpu = opening.join().map_err(|_panic| JobError::Crashed)?;
    let scene = scene?;
    let gpu = gpu?;
    stop_if(cancel)?;
    Ok((scene, gpu))
}

/// Ends the job where somebody asked for that.
pub(crate) fn stop_if(cancel: &AtomicBool) -> Result<(), JobError> {
    if cancel.load(Ordering::Relaxed) { Err(JobError::Cancelled) } else { Ok(()) }
}

/// Texels beyond what the picture can show are not kept.
fn texture_side(longest: u32) -> u32 {
    longest.next_power_of_two().clamp(512, 8192)
}
