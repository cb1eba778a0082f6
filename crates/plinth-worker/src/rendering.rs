//! Rendering jobs. A job draws the frames of a group of renders once, because their frames are equal, and then uploads the
//! files of each of these renders.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use plinth_pipeline::child::{ChildEvent, RenderTask};
use plinth_pipeline::texture_side;
use plinth_service::jobs::{Claim, RenderFiles};
use plinth_spec::settings::{Output, ParseOptions};
use plinth_spec::state::RenderStatus;
use plinth_spec::{FailureCode, OutputPaths, RenderSettings};
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::asset_files::{AssetDownload, AssetFiles};
use crate::child::Ended;
use crate::counters;
use crate::drawing::{Drawing, Fetched};
use crate::job::JobListener;
use crate::job_error::{JobError, or_cancelled};
use crate::lease_renewal::LeaseRenewal;
use crate::models::{RequestedModel, cache_folder, fetch_model};
use crate::node::Node;
use crate::outage::{retry_database, retry_store};
use crate::outputs::outputs;
use crate::progress::{Progress, WRITTEN, report_progress, store_progress};
use crate::render_process::ProcessKey;
use crate::report::{encoded_in_software, record_duration, report, report_end};
use crate::scratch::JobFolder;
use crate::slots::Slot;
use crate::traces::part;
use crate::upload::upload_render;

/// Maximum size of a model file, in bytes, for which the process is kept after a render. A larger loaded model would leave
/// too little memory for the next render.
const MAX_KEPT_BYTES: u64 = 64 << 20;

/// Runs a group of renders with the same frames, and reports the result of each render. When all frames are drawn,
/// exchanges `slot`, so that the next render can be claimed. If `kill` is cancelled, the renders return to the queue.
pub(crate) async fn render(node: &Node, claims: &[Claim], slot: &mut Slot, kill: &CancellationToken) {
    let cut = kill.child_token();
    let lease_renewal = LeaseRenewal::new(&node.service, claims, node.options.outage, cut.clone());
    // The folder is kept until the end: if the job has filled the disk, `Node::judge` below must still find the disk full.
    let folder = node.scratch.job().map_err(|error| JobError::preparing(&error));
    let failed_files = Mutex::default();
    let made = match &folder {
        Ok(folder) => make(node, claims, (folder.path(), &failed_files), slot, (&cut, &lease_renewal)).await,
        Err(error) => Err(error.clone()),
    };
    let made = match made {
        Err(JobError::Failed(failure)) => Err(node.judge(failure, kill).await),
        made => made,
    };
    match made {
        Ok(()) | Err(JobError::Left) => {}
        Err(JobError::Failed(failure)) => {
            plinth_trace::fail(&failure.message);
            counters::failures(failure.code.as_str()).increment(1);
            for claim in claims {
                tracing::warn!(
                    render.id = %claim.render.id,
                    failure.code = failure.code.as_str(),
                    failure.message = failure.message,
                    "the render failed"
                );
                lease_renewal.reporting(claim);
                let tell = || node.service.fail_render(claim, failure.code, failure.for_customer());
                report_end("failed", &claim.render.id, tell).await;
            }
        }
        Err(JobError::Cancelled) if kill.is_cancelled() => {
            for claim in claims {
                lease_renewal.reporting(claim);
                report_end("released", &claim.render.id, || node.service.release_render(claim)).await;
            }
        }
        // All leases are lost, so there is nothing to report: the renders were deleted, or other workers have claimed
        // them.
        Err(JobError::Cancelled) => {}
    }
    drop(lease_renewal);
}

/// Progress of one render of a group.
struct Part<'a> {
    claim: &'a Claim,
    /// Whether the poster is stored and reported to the service.
    has_poster: bool,
    stored: RenderFiles,
}

async fn make(
    node: &Node,
    claims: &[Claim],
    (folder, failed_files): (&Path, &Mutex<Vec<Arc<JobFolder>>>),
    slot: &mut Slot,
    (cut, lease_renewal): (&CancellationToken, &LeaseRenewal),
) -> Result<(), JobError> {
    let Some(first) = claims.first() else { return Ok(()) };
    let settings = read_settings(first)?;
    let files = outputs(&settings);
    let are_previews = claims.iter().all(|claim| claim.render.is_system_preview);
    let group = Group { node, cut, lease_renewal, folder, failed_files, files: &files, are_previews };
    let mut parts: Vec<Part<'_>> = claims
        .iter()
        // If an earlier worker stored the poster before it released the render, this job does not store the poster
        // early. It stores its own poster later, together with all other files.
        .map(|claim| {
            let has_poster = claim.render.status == RenderStatus::VideoProcessing;
            Part { claim, has_poster, stored: RenderFiles::none(settings.video().quality.codec()) }
        })
        .collect();
    let warnings = group.fetch_and_draw(first, &settings, &mut parts, true).await?;
    let warnings = if let Some(warnings) = warnings {
        warnings
    } else {
        tracing::warn!("a process that had drawn other renders failed; the render is drawn by a new one");
        // The new process draws the stills again, and its stills replace the stills of the process that failed.
        for part in &mut parts {
            part.stored = RenderFiles::none(settings.video().quality.codec());
        }
        group.fetch_and_draw(first, &settings, &mut parts, false).await?.unwrap_or_default()
    };
    slot.exchange_for_upload();
    let begin = Instant::now();
    or_cancelled(cut, group.store(&mut parts, &warnings)).instrument(part("upload")).await?;
    record_duration("upload", begin);
    Ok(())
}

fn read_settings(claim: &Claim) -> Result<RenderSettings, JobError> {
    // The maximum length is not checked here, because it was checked when the render was created.
    RenderSettings::from_text(&claim.render.settings, ParseOptions { uncapped_length: true }).map_err(|error| {
        JobError::failed(FailureCode::RendererCrash, format!("this version does not understand the settings: {error}"))
    })
}

/// Returns the key of a process that can be reused for other renders after this one. Returns `None` for datasets, and for
/// system previews, each of which is the first render of its model.
fn process_key(claim: &Claim, settings: &RenderSettings, sha256: &str) -> Option<ProcessKey> {
    let render = &claim.render;
    let stays = settings.video().output == Output::Video && !render.is_system_preview;
    stays.then(|| ProcessKey {
        workspace: render.workspace_id.clone(),
        model: render.model_id.clone(),
        sha256: sha256.to_owned(),
        texture_side: texture_side(settings),
    })
}

/// Returns whether earlier renders of a reused process may have caused a failure. An unreadable input file fails in every
/// process. A timeout before the time limit of the render (`has_time`) means that the process has exceeded its CPU time
/// limit, to which all its renders contribute.
fn may_be_due_to_others(code: FailureCode, has_time: bool) -> bool {
    match code {
        FailureCode::RendererCrash
        | FailureCode::RendererError
        | FailureCode::DisplayLost
        | FailureCode::EncodeFailed
        | FailureCode::UploadFailed
        | FailureCode::Reaped => true,
        FailureCode::Timeout => has_time,
        FailureCode::ModelDownloadFailed
        | FailureCode::EnvDownloadFailed
        | FailureCode::OverlayMissing
        | FailureCode::OverlayDownloadFailed => false,
    }
}

struct Group<'a> {
    node: &'a Node,
    cut: &'a CancellationToken,
    lease_renewal: &'a LeaseRenewal,
    folder: &'a Path,
    /// The folders of processes that failed. A folder is removed when its value is dropped.
    failed_files: &'a Mutex<Vec<Arc<JobFolder>>>,
    files: &'a OutputPaths,
    /// Whether all renders of the group are free previews. Only such a group is drawn with draft light, and has the shorter time limit
    /// of free previews.
    are_previews: bool,
}

impl Group<'_> {
    /// Fetches the input files and draws all frames. Returns the warnings of the job. With `may_reuse`, uses a process that has
    /// already loaded the model, if such a process exists. Returns `None` if this process failed and an earlier render may have
    /// caused the failure.
    async fn fetch_and_draw(
        &self,
        claim: &Claim,
        settings: &RenderSettings,
        parts: &mut [Part<'_>],
        may_reuse: bool,
    ) -> Result<Option<Vec<String>>, JobError> {
        let begin = Instant::now();
        let fetched = or_cancelled(self.cut, self.fetch(claim, settings, may_reuse)).instrument(part("fetch")).await?;
        record_duration("fetch", begin);
        let begin = Instant::now();
        let warnings = self.draw(fetched, parts).instrument(part("draw")).await?;
        record_duration("render", begin);
        Ok(warnings)
    }

    /// Downloads the input files of the job into its folder.
    async fn fetch(&self, claim: &Claim, settings: &RenderSettings, may_reuse: bool) -> Result<Fetched, JobError> {
        let Node { service, scratch, options, .. } = self.node;
        let model = PathBuf::from("model.glb");
        let lost =
            |error: &(dyn Error + 'static)| JobError::fetching(FailureCode::ModelDownloadFailed, "the model", error);
        let sha256 = retry_database(options.outage, "the model", || service.model_sha256(claim))
            .await
            .map_err(|error| lost(&error))?;
        let mut process_key = process_key(claim, settings, &sha256);
        let process = self.node.idle_processes.take(process_key.as_ref().filter(|_key| may_reuse)).await;
        if process.is_none() {
            let wanted = RequestedModel { id: &claim.render.model_id, sha256: &sha256 };
            let file = self.folder.join(&model);
            let fetch = || fetch_model(service.store(), scratch, options, &wanted, &file);
            retry_store(self.node.options.outage, "the model", fetch).await.map_err(|error| lost(&error))?;
            let bytes = std::fs::metadata(&file).map_err(|error| lost(&error))?.len();
            process_key = process_key.filter(|_key| bytes <= MAX_KEPT_BYTES);
        }
        let assets = AssetDownload { node: self.node, claim, settings, folder: self.folder };
        let AssetFiles { environment, images } = assets.run().await?;
        let task = RenderTask {
            model,
            settings: settings.echoed(),
            environment,
            images,
            outputs: self.files.clone(),
            adapter: options.adapter.clone(),
            ffmpeg: options.ffmpeg.clone(),
            cache: Some(cache_folder(scratch, &claim.render.model_id)),
            encoder: self.node.encoder,
            watermark: claim.is_marked(),
            draft: self.are_previews,
            stays: process_key.is_some(),
        };
        Ok(Fetched { task, process_key, process })
    }

    /// Runs the job. Uploads the posters while the video is still being drawn. Returns the warnings of the job, or `None` if a
    /// reused process failed and an earlier render may have caused the failure.
    async fn draw(&self, fetched: Fetched, parts: &mut [Part<'_>]) -> Result<Option<Vec<String>>, JobError> {
        let is_reused = fetched.process.is_some();
        let Some(workspace) = parts.first().map(|part| part.claim.render.workspace_id.clone()) else {
            return Ok(Some(Vec::new()));
        };
        let drawing = match Drawing::prepare(self.node, fetched, self.folder, self.failed_files) {
            Ok(drawing) => drawing,
            Err(_ended) if is_reused => return Ok(None),
            Err(error) => return Err(JobError::preparing(&error)),
        };
        let (tell, posters_written) = oneshot::channel();
        let (progress, newest_progress) = watch::channel(Progress::default());
        let child_cut = self.cut.child_token();
        let options = &self.node.options;
        let time = if self.are_previews { options.preview_timeout.min(options.timeout) } else { options.timeout };
        let listener = JobListener { posters_written: tell, progress };
        let begin = Instant::now();
        let child = drawing.run(&workspace, time, listener, &child_cut);
        let claims: Vec<Claim> = parts.iter().map(|part| part.claim.clone()).collect();
        let posters = async {
            // An error means that the job has ended without posters, because the sender was dropped.
            let Ok(()) = posters_written.await else { return Ok(()) };
            let shown = or_cancelled(self.cut, self.show_posters(drawing.folder(), parts))
                .instrument(part("upload posters"))
                .await;
            if shown.is_err() {
                child_cut.cancel();
            }
            shown
        };
        let job = async { tokio::join!(child, posters) };
        let (ended, shown) = tokio::select! {
            ended = job => ended,
            never = report_progress(&self.node.service, &claims, newest_progress) => match never {},
        };
        let manifest = match ended {
            Ended::Done(ChildEvent::Rendered { manifest }) => Ok(manifest),
            Ended::Done(_other) => {
                Err(JobError::failed(FailureCode::RendererCrash, "the renderer returned an unexpected result"))
            }
            Ended::Failed(failure) => Err(JobError::Failed(failure)),
            Ended::Cancelled => Err(JobError::Cancelled),
        };
        match manifest {
            Ok(manifest) => {
                shown?;
                encoded_in_software(manifest.hardware_failure.as_deref());
                drawing.finish(self.files).map_err(|error| JobError::storing(&error))?;
                Ok(Some(manifest.warnings))
            }
            Err(error) => {
                self.failed_files.lock().unwrap_or_else(PoisonError::into_inner).extend(drawing.into_files());
                shown?;
                let has_time = begin.elapsed() < time;
                let may_be_due_to_others = is_reused
                    && matches!(&error, JobError::Failed(failure) if may_be_due_to_others(failure.code, has_time));
                if may_be_due_to_others { Ok(None) } else { Err(error) }
            }
        }
    }

    /// Uploads and reports the poster of each render whose poster is not stored yet, unless its lease is lost. The files are in `folder`.
    async fn show_posters(&self, folder: &Path, parts: &mut [Part<'_>]) -> Result<(), JobError> {
        let service = &self.node.service;
        let stills = self.files.iter().filter(|(file, _place)| file.is_still());
        let stills = stills.map(|(file, place)| (*file, place.clone())).collect();
        for part in parts.iter_mut().filter(|part| !part.has_poster) {
            if self.lease_renewal.is_lost(part.claim) {
                continue;
            }
            self.upload(folder, part, &stills).await?;
            let id = &part.claim.render.id;
            part.has_poster =
                report(self.node.options.outage, "poster stored", id, || service.poster_stored(part.claim)).await;
        }
        Ok(())
    }

    /// Uploads all files of each render whose lease is not lost, and then reports that the render is finished.
    async fn store(&self, parts: &mut [Part<'_>], warnings: &[String]) -> Result<(), JobError> {
        let service = &self.node.service;
        let claims: Vec<Claim> = parts.iter().map(|part| part.claim.clone()).collect();
        store_progress(service, &claims, Progress { fraction: WRITTEN, left: None }).await;
        self.show_posters(self.folder, parts).await?;
        for part in parts {
            if self.lease_renewal.is_lost(part.claim) {
                continue;
            }
            self.upload(self.folder, part, self.files).await?;
            self.lease_renewal.reporting(part.claim);
            let tell = || service.finish_render(part.claim, &part.stored, warnings);
            report(self.node.options.outage, "finished", &part.claim.render.id, tell).await;
        }
        Ok(())
    }

    async fn upload(&self, folder: &Path, part: &mut Part<'_>, files: &OutputPaths) -> Result<(), JobError> {
        let uploaded = upload_render(self.node, folder, part.claim, files, &mut part.stored).await;
        uploaded.map_err(|error| JobError::storing(&error))
    }
}
