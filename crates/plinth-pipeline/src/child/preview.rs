//! Previews in a child process. The process keeps a model loaded, and draws one frame for each line of its standard
//! input.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use plinth_render::Cache;
use plinth_spec::preview::PreviewOptions;
use plinth_spec::settings::ParseOptions;
use plinth_spec::{FailureCode, RenderSettings};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::description::CacheFolder;
use super::event::{ChildEvent, ChildFailure};
use super::run::Ended;
use crate::environment::EnvironmentFiles;
use crate::failure::failure_message;
use crate::preview::{LoadedModel, PreviewFrame, PreviewStage};

/// Task that keeps a model loaded and draws single frames of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PreviewTask {
    /// GLB file.
    pub model: PathBuf,
    /// Maximum length of the longer side of a picture, in pixels.
    pub longest: u32,
    /// Selects the fastest adapter whose name contains this text, or a software driver for `cpu`. `None` selects the
    /// fastest of all adapters.
    pub adapter: Option<String>,
    /// Path or name of ffmpeg.
    pub ffmpeg: PathBuf,
    /// Cache of baked light for this model; `None` disables caching.
    pub cache: Option<CacheFolder>,
}

/// Request to draw one frame, or to answer a question about a frame. It is a line of JSON on the process's standard
/// input.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PreviewRequest {
    /// Render settings, which the service has already validated.
    pub settings: Value,
    /// Environment of the scene; `None` for the built-in studio.
    pub environment: Option<EnvironmentFiles>,
    /// Files of the images that the settings use, by asset ID.
    pub images: BTreeMap<String, PathBuf>,
    /// How to draw the frame, or the question about it.
    #[serde(flatten)]
    pub options: PreviewOptions,
    /// Path of the PNG file to write.
    pub target: PathBuf,
}

/// Loads the model. Then draws one frame or answers one question for each request, until `requests` ends. Returns an
/// error only if the model cannot be loaded.
pub(super) fn preview(
    task: &PreviewTask,
    requests: &mut dyn Iterator<Item = String>,
    tell: &mut dyn FnMut(ChildEvent),
    cancel: &AtomicBool,
) -> Result<(), Ended> {
    let lost = |error: io::Error| Ended::failed(FailureCode::ModelDownloadFailed, &error);
    let bytes = std::fs::read(&task.model).map_err(lost)?;
    // Without a cache, drawing only takes longer. Therefore an error of the cache is ignored.
    let cache = task.cache.as_ref().and_then(|cache| Cache::open(cache.folder.clone(), cache.most_bytes).ok());
    let loaded = LoadedModel::open(&bytes, task.adapter.clone(), task.longest, cancel)?;
    drop(bytes);
    let mut stage = PreviewStage::new(&loaded, task.ffmpeg.clone(), cache);
    tell(ChildEvent::PreviewReady);
    for line in requests {
        match respond(&mut stage, &line, cancel) {
            Ok(event) => tell(event),
            Err(failure) => tell(ChildEvent::PreviewRejected(failure)),
        }
    }
    Ok(())
}

fn respond(stage: &mut PreviewStage<'_>, line: &str, cancel: &AtomicBool) -> Result<ChildEvent, ChildFailure> {
    let crashed = |message: String| ChildFailure::new(FailureCode::RendererCrash, message);
    let request: PreviewRequest = serde_json::from_str(line).map_err(|error| crashed(error.to_string()))?;
    let settings = RenderSettings::from_json(&request.settings, ParseOptions { uncapped_length: true });
    let settings = settings.map_err(|error| crashed(error.to_string()))?;
    let images: io::Result<_> =
        request.images.iter().map(|(id, file)| Ok((id.clone(), std::fs::read(file)?))).collect();
    let images =
        images.map_err(|error| ChildFailure::new(FailureCode::OverlayDownloadFailed, failure_message(&error)))?;
    if let Some(question) = request.options.question {
        let answer = stage
            .answer(question, &settings, &images, request.options.position)
            .map_err(|error| ChildFailure::of_job(&error))?;
        // The worker kills a process that sends an invalid answer, so the answer is checked before it is sent.
        if !answer.answers(question) {
            let message = "the model has names or coordinates that are too large for an answer".to_owned();
            return Err(ChildFailure::of_request(FailureCode::RendererCrash, message));
        }
        return Ok(ChildEvent::PreviewAnswered { answer: Box::new(answer) });
    }
    let frame = PreviewFrame {
        settings: &settings,
        environment: request.environment.as_ref(),
        images: &images,
        options: request.options,
        target: &request.target,
    };
    let warnings = stage.draw(&frame, cancel).map_err(|error| ChildFailure::of_job(&error))?;
    Ok(ChildEvent::Previewed { warnings })
}
