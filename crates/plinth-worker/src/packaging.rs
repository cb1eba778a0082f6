//! Packaging jobs, which create HLS streams from finished videos.

use std::path::{Path, PathBuf};
use std::time::Instant;

use plinth_pipeline::child::{ChildEvent, ChildFailure, ChildTask, PackageTask};
use plinth_service::jobs::Claim;
use plinth_spec::{FailureCode, OutputFile};
use plinth_store::ObjectKey;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::child::Ended;
use crate::counters;
use crate::fetch::download;
use crate::job::JobPlan;
use crate::job_error::{JobError, or_cancelled};
use crate::lease_renewal::LeaseRenewal;
use crate::node::Node;
use crate::outage::retry_store;
use crate::outputs::OUT;
use crate::report::{encoded_in_software, record_duration, report, report_end};
use crate::traces::part;
use crate::upload::upload_package;

/// Packages the video of a render and reports the result. If `kill` is cancelled, the packaging returns to the queue.
pub(crate) async fn package(node: &Node, claim: &Claim, kill: &CancellationToken) {
    let cut = kill.child_token();
    let lease_renewal = LeaseRenewal::new(&node.service, std::slice::from_ref(claim), node.options.outage, cut.clone());
    let (service, id) = (&node.service, &claim.render.id);
    // The folder is kept until the end: if the job has filled the disk, `Node::judge` below must still find the disk full.
    let folder = node.scratch.job().map_err(|error| JobError::preparing(&error));
    let made = match &folder {
        Ok(folder) => make(node, claim, folder.path(), &cut).await,
        Err(error) => Err(error.clone()),
    };
    let made = match made {
        Err(JobError::Failed(failure)) => Err(node.judge(failure, kill).await),
        made => made,
    };
    match made {
        Ok(()) | Err(JobError::Left) => {}
        // The store may work again later, so the lease is left to expire, and the service requeues the packaging as after the loss of a
        // worker.
        Err(JobError::Failed(failure)) if is_of_store(&failure) => {
            tracing::error!(render.id = %id, error = failure.message, "a packaging failed; it returns to the queue");
        }
        Err(JobError::Failed(failure)) => {
            counters::failures(counters::PACKAGING).increment(1);
            tracing::error!(render.id = %id, error = failure.message, "a video cannot be packaged");
            report_end("packaging failed", id, || service.fail_packaging(claim)).await;
        }
        Err(JobError::Cancelled) if kill.is_cancelled() => {
            report_end("packaging released", id, || service.release_packaging(claim)).await;
        }
        Err(JobError::Cancelled) => {}
    }
    drop(lease_renewal);
}

/// Returns whether a packaging failed because its files could not be fetched or stored.
const fn is_of_store(failure: &ChildFailure) -> bool {
    matches!(failure.code, FailureCode::ModelDownloadFailed | FailureCode::UploadFailed)
}

async fn make(node: &Node, claim: &Claim, folder: &Path, cut: &CancellationToken) -> Result<(), JobError> {
    let begin = Instant::now();
    let source = or_cancelled(cut, fetch_video(node, claim, folder)).instrument(part("fetch")).await?;
    let (ffmpeg, encoder) = (node.options.ffmpeg.clone(), node.encoder);
    let task = PackageTask { source, out_dir: PathBuf::from(OUT), ffmpeg, encoder };
    let time = node.options.timeout;
    let plan = JobPlan { task: ChildTask::Package(task), time, folder, home: None };
    let names = match node.run_child(plan, cut, None).instrument(part("encode")).await {
        Ended::Done(ChildEvent::Packaged { files, hardware_failure }) => {
            encoded_in_software(hardware_failure.as_deref());
            files
        }
        Ended::Done(_other) => {
            return Err(JobError::failed(FailureCode::RendererCrash, "the job returned an unexpected result"));
        }
        Ended::Failed(failure) => return Err(JobError::Failed(failure)),
        Ended::Cancelled => return Err(JobError::Cancelled),
    };
    let (service, out) = (&node.service, folder.join(OUT));
    let store = async {
        let bytes = upload_package(node, &out, claim, &names).await.map_err(|error| JobError::storing(&error))?;
        report(node.options.outage, "packaged", &claim.render.id, || service.finish_packaging(claim, bytes)).await;
        Ok(())
    };
    or_cancelled(cut, store).instrument(part("upload")).await?;
    record_duration("package", begin);
    Ok(())
}

/// Downloads the video to package: the web video, or the main video if the render has no web video. The web video is
/// preferred, because it is encoded as H.264 and has at most the resolution of the largest stream.
async fn fetch_video(node: &Node, claim: &Claim, folder: &Path) -> Result<PathBuf, JobError> {
    let lost = |error: &(dyn std::error::Error + 'static)| {
        JobError::fetching(FailureCode::ModelDownloadFailed, "the finished video", error)
    };
    let files = claim.files().map_err(|error| lost(&error))?;
    let file = if files.get(OutputFile::Web).is_some() { OutputFile::Web } else { OutputFile::Video };
    let source = PathBuf::from(file.file_name(files.codec));
    let attempt = claim.render.files_attempt.unwrap_or(claim.render.attempt);
    let key = ObjectKey::Render(&claim.render.id, attempt, file, files.codec);
    let (store, place) = (node.service.store(), folder.join(&source));
    retry_store(node.options.outage, "the finished video", || download(store, &key, &place))
        .await
        .map_err(|error| lost(&error))?;
    Ok(source)
}
