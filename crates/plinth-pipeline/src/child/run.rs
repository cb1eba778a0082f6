//! Runs a task in a child process.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use plinth_media::choose_encoder;
use plinth_media::hls::{HlsPlan, package};
use plinth_render::{AdapterKind, Cache, Gpu, GpuOptions};
use plinth_spec::settings::ParseOptions;
use plinth_spec::{FailureCode, RenderSettings};

use super::description::{ChildTask, PackageTask, ProbeTask, RenderTask};
use super::event::{ChildEvent, ChildFailure, MachineFound};
use super::preview::preview;
use crate::environment::{EnvironmentError, EnvironmentFiles};
use crate::failure::{JobError, failure_message};
use crate::job::{DatasetOptions, Job, run_warm};
use crate::progress::Progress;
use crate::warm::WarmModel;

/// Maximum number of progress events per render.
const STEPS: u32 = 100;

/// Runs a task in the current folder. `requests` are the lines of the standard input. Only previews, and renders with
/// `stays`, read them. `tell` receives the events of the task. The last event is the result, unless the task is
/// cancelled or `requests` ends.
pub fn run_child(
    task: &ChildTask,
    requests: &mut dyn Iterator<Item = String>,
    tell: &mut dyn FnMut(ChildEvent),
    cancel: &AtomicBool,
) {
    let done = match task {
        ChildTask::Preview(task) => preview(task, requests, tell, cancel).and(Err(Ended::Cancelled)),
        ChildTask::Render(task) if task.stays => renders(task, requests, tell, cancel),
        ChildTask::Render(task) => render(task, None, tell, cancel),
        ChildTask::Package(task) => package_video(task, cancel),
        ChildTask::Probe(task) => probe(task, cancel),
    };
    match done {
        Ok(event) => tell(event),
        Err(Ended::Failed(failure)) => tell(ChildEvent::Failed(failure)),
        Err(Ended::Cancelled) => {}
    }
}

/// Reason why a task ended without a result.
pub(super) enum Ended {
    Failed(ChildFailure),
    Cancelled,
}

impl Ended {
    pub(super) fn failed(code: FailureCode, error: &(dyn Error + 'static)) -> Self {
        Self::Failed(ChildFailure::new(code, failure_message(error)))
    }
}

impl From<JobError> for Ended {
    fn from(error: JobError) -> Self {
        match error {
            JobError::Cancelled => Self::Cancelled,
            other => Self::Failed(ChildFailure::of_job(&other)),
        }
    }
}

impl From<EnvironmentError> for Ended {
    fn from(error: EnvironmentError) -> Self {
        Self::failed(FailureCode::EnvDownloadFailed, &error)
    }
}

/// Runs a render, and then the renders in `requests`, all of the same model. Ends after the first render that fails.
fn renders(
    first: &RenderTask,
    requests: &mut dyn Iterator<Item = String>,
    tell: &mut dyn FnMut(ChildEvent),
    cancel: &AtomicBool,
) -> Result<ChildEvent, Ended> {
    let mut warm = WarmModel::default();
    let mut done = render(first, Some(&mut warm), tell, cancel)?;
    loop {
        tell(done);
        let Some(line) = requests.next() else { return Err(Ended::Cancelled) };
        let task: RenderTask =
            serde_json::from_str(&line).map_err(|error| Ended::failed(FailureCode::RendererCrash, &error))?;
        done = render(&task, Some(&mut warm), tell, cancel)?;
    }
}

fn render(
    task: &RenderTask,
    warm: Option<&mut WarmModel>,
    tell: &mut dyn FnMut(ChildEvent),
    cancel: &AtomicBool,
) -> Result<ChildEvent, Ended> {
    // The service already checked the length of the video when the render was created.
    let settings = RenderSettings::from_json(&task.settings, ParseOptions { uncapped_length: true })
        .map_err(|error| Ended::failed(FailureCode::RendererCrash, &error))?;
    let is_loaded = warm.as_ref().is_some_and(|warm| warm.has_loaded(&settings));
    let read = if is_loaded { Ok(Vec::new()) } else { std::fs::read(&task.model) };
    let model = read.map_err(|error| {
        let is_too_large = error.kind() == io::ErrorKind::OutOfMemory;
        let code = if is_too_large { FailureCode::RendererCrash } else { FailureCode::ModelDownloadFailed };
        Ended::failed(code, &error)
    })?;
    let environment = task.environment.as_ref().map(EnvironmentFiles::read).transpose()?;
    let assets: io::Result<_> = task.images.iter().map(|(id, file)| Ok((id.clone(), std::fs::read(file)?))).collect();
    let assets = assets.map_err(|error| Ended::failed(FailureCode::OverlayDownloadFailed, &error))?;
    // Without a cache, the render only takes longer. Therefore an error of the cache is ignored.
    let cache = task.cache.as_ref().and_then(|cache| Cache::open(cache.folder.clone(), cache.most_bytes).ok());
    let job = Job {
        model,
        settings,
        environment,
        assets,
        outputs: task.outputs.clone(),
        dataset: DatasetOptions::default(),
        adapter: task.adapter.clone(),
        ffmpeg: task.ffmpeg.clone(),
        cache,
        encoder: task.encoder,
        watermark: task.watermark,
        draft: task.draft,
        posters_early: true,
        hash_frames: false,
        time_passes: false,
    };
    let stills = task.outputs.iter().filter(|(file, _path)| file.is_still());
    let stills: Vec<&PathBuf> = stills.map(|(_file, path)| path).collect();
    let mut stills_told = stills.is_empty();
    let mut told = None;
    let mut report = |progress: Progress| {
        let Progress { stage, frame, frames, .. } = progress;
        // A poster gets its final name only when it is complete, so the existence of the file is sufficient.
        if !stills_told && frame > 0 && stills.iter().all(|still| still.exists()) {
            stills_told = true;
            tell(ChildEvent::PostersWritten);
        }
        let step = (stage, frame / frames.div_ceil(STEPS).max(1));
        if told != Some(step) {
            told = Some(step);
            tell(ChildEvent::Progress { stage, frame, frames });
        }
    };
    let manifest = run_warm(&job, warm, &mut report, cancel)?;
    Ok(ChildEvent::Rendered { manifest: Box::new(manifest) })
}

fn package_video(task: &PackageTask, cancel: &AtomicBool) -> Result<ChildEvent, Ended> {
    let plan = HlsPlan {
        ffmpeg: task.ffmpeg.clone(),
        encoder: task.encoder,
        source: task.source.clone(),
        out_dir: task.out_dir.clone(),
    };
    let package = package(&plan, cancel).map_err(JobError::from)?;
    Ok(ChildEvent::Packaged { files: package.files, hardware_failure: package.hardware_failure })
}

fn probe(task: &ProbeTask, cancel: &AtomicBool) -> Result<ChildEvent, Ended> {
    let gpu = Gpu::open(&GpuOptions { adapter: task.adapter.clone() }).map_err(JobError::from)?;
    if task.writes_videos {
        let software = plinth_media::probe(&task.ffmpeg).map_err(JobError::from)?;
        software.require(&task.ffmpeg, task.writes_prores).map_err(JobError::from)?;
    }
    let encoder = choose_encoder(&task.ffmpeg, task.encoder, cancel).map_err(JobError::from)?;
    let report = gpu.report();
    Ok(ChildEvent::Probed(MachineFound {
        adapter: report.name.clone(),
        is_software: report.kind == AdapterKind::Software,
        encoder,
    }))
}
