//! A preview in a child process: it holds a model and draws a frame for each request on its standard input.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use plinth_render::Cache;
use plinth_spec::settings::ParseOptions;
use plinth_spec::{FailureCode, RenderSettings};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::description::CacheFolder;
use super::event::{ChildEvent, ChildFailure};
use super::run::Ended;
use crate::environment::EnvironmentFiles;
use crate::failure::{failure_code, failure_message};
use crate::preview::{PreviewFrame, PreviewStage};

/// Preview of a model.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PreviewTask {
    /// GLB file.
    pub model: PathBuf,
    /// Longer side of the largest picture, in pixels.
    pub longest: u32,
    /// Part of the graphics adapter's name, or `cpu`. `None` selects the fastest adapter.
    pub adapter: Option<String>,
    /// Path or name of ffmpeg.
    pub ffmpeg: PathBuf,
    /// Cache of baked light for this model; `None` disables caching.
    pub cache: Option<CacheFolder>,
}

/// A frame to draw. One line of JSON on the standard input of the process.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PreviewRequest {
    /// Render settings, which the service has checked.
    pub settings: Value,
    /// Environment; `None` is the built-in studio.
    pub environment: Option<EnvironmentFiles>,
    /// Images named in the settings: file by ID.
    pub images: BTreeMap<String, PathBuf>,
    /// Longer side of the picture, in pixels.
    pub longest: u32,
    /// Whether light of less detail is enough, because the settings are being changed.
    pub is_draft: bool,
    /// Time of the frame as a share of the video; `None` is the frame of the poster.
    pub position: Option<f64>,
    /// Path of the PNG file.
    pub target: PathBuf,
}

/// Loads the model, and draws frames until the requests end. Returns the failure to load it.
pub(super) fn preview(
    task: &PreviewTask,
    requests: &mut dyn Iterator<Item = String>,
    tell: &mut dyn FnMut(ChildEvent),
    cancel: &AtomicBool,
) -> Result<(), Ended> {
    let lost = |error: io::Error| Ended::failed(FailureCode::ModelDownloadFailed, &error);
    let bytes = std::fs::read(&task.model).map_err(lost)?;
    // If the cache cannot be opened, the frames only take longer.
    let cache = task.cache.as_ref().and_then(|cache| Cache::open(cache.folder.clone(), cache.most_bytes).ok());
    let stage = PreviewStage::open(&bytes, (task.adapter.clone(), task.ffmpeg.clone()), task.longest, cache, cancel)?;
    drop(bytes);
    tell(ChildEvent::PreviewReady);
    for line in requests {
        match draw(&stage, &line, cancel) {
            Ok(warnings) => tell(ChildEvent::Previewed { warnings }),
            Err(failure) => tell(ChildEvent::PreviewRefused(failure)),
        }
    }
    Ok(())
}

fn draw(stage: &PreviewStage, line: &str, cancel: &AtomicBool) -> Result<Vec<String>, ChildFailure> {
    let crashed = |message: String| ChildFailure { code: FailureCode::RendererCrash, message };
    let request: PreviewRequest = serde_json::from_str(line).map_err(|error| crashed(error.to_string()))?;
    let settings = RenderSettings::from_json(&request.settings, ParseOptions { uncapped_length: true });
    let settings = settings.map_err(|error| crashed(error.to_string()))?;
    let environment = request.environment.as_ref().map(EnvironmentFiles::read).transpose();
    let environment = environment
        .map_err(|error| ChildFailure { code: FailureCode::EnvDownloadFailed, message: failure_message(&error) })?;
    let images: io::Result<_> =
        request.images.iter().map(|(id, file)| Ok((id.clone(), std::fs::read(file)?))).collect();
    let images = images
        .map_err(|error| ChildFailure { code: FailureCode::OverlayDownloadFailed, message: failure_message(&error) })?;
    let frame = PreviewFrame {
        settings: &settings,
        environment,
        images: &images,
        longest: request.longest,
        is_draft: request.is_draft,
        position: request.position,
        target: &request.target,
    };
    stage
        .draw(frame, cancel)
        .map_err(|error| ChildFailure { code: failure_code(&error), message: failure_message(&error) })
}
