//! A finished video becomes streamable.

use std::path::{Path, PathBuf};
use std::time::Instant;

use plinth_pipeline::child::{ChildEvent, ChildTask, PackageTask};
use plinth_service::jobs::Claim;
use plinth_spec::{FailureCode, OutputFile};
use plinth_store::ObjectKey;
use tokio_util::sync::CancellationToken;

use crate::child::Ended;
use crate::fetch::download;
use crate::hold::Hold;
use crate::job::JobPlan;
use crate::node::Node;
use crate::outage::retry_store;
use crate::outputs::OUT;
use crate::report::{encoded_in_software, report, report_end, took};
use crate::stop::{Stop, or_cut};
use crate::upload::upload_package;

/// Packages a render, and reports. `kill`: the worker stops, it is given back.
pub(crate) async fn package(node: &Node, claim: &Claim, kill: &CancellationToken) {
    let cut = kill.child_token();
    let hold = Hold::new(&node.service, std::slice::from_ref(claim), cut.clone());
    let (service, id) = (&node.service, &claim.render.id);
    match make(node, claim, &cut).await {
        Ok(()) => {}
        Err(Stop::Failed(failure)) => {
            metrics::counter!("plinth_worker_failures_total", "code" => "packaging").increment(1);
            tracing::error!(render.id = %id, error = failure.message, "a video cannot be packaged");
            report_end("packaging failed", id, || service.fail_packaging(claim)).await;
        }
        Err(Stop::Cut) if kill.is_cancelled() => {
            report_end("packaging given back", id, || service.release_packaging(claim)).await;
        }
        Err(Stop::Cut) => {}
    }
    drop(hold);
}

async fn make(node: &Node, claim: &Claim, cut: &CancellationToken) -> Result<(), Stop> {
    let begin = Instant::now();
    let folder = node.scratch.job().map_err(|error| Stop::preparing(&error))?;
    let source = or_cut(cut, fetch_video(node, claim, folder.path())).await?;
    let (ffmpeg, encoder) = (node.options.ffmpeg.clone(), node.encoder);
    let task = PackageTask { source, out_dir: PathBuf::from(OUT), ffmpeg, encoder };
    let time = node.options.timeout;
    let plan = JobPlan { task: ChildTask::Package(task), time, folder: folder.path(), home: None };
    let names = match node.run_child(plan, cut, None).await {
        Ended::Done(ChildEvent::Packaged { files, hardware_failure }) => {
            encoded_in_software(hardware_failure.as_deref());
            files
        }
        Ended::Done(_other) => return Err(Stop::failed(FailureCode::RendererCrash, "the job made something else")),
        Ended::Failed(failure) => return Err(Stop::Failed(failure)),
        Ended::Cut => return Err(Stop::Cut),
    };
    let (service, out) = (&node.service, folder.path().join(OUT));
    let store = async {
        upload_package(node, &out, claim, &names).await.map_err(|error| Stop::storing(&error))?;
        report(node.options.outage, "packaged", &claim.render.id, || service.finish_packaging(claim)).await;
        Ok(())
    };
    or_cut(cut, store).await?;
    took("package", begin);
    Ok(())
}

/// The web video is H.264 of at most the size that is streamed; where the video is that, too, they are the same file.
async fn fetch_video(node: &Node, claim: &Claim, folder: &Path) -> Result<PathBuf, Stop> {
    let lost = |error: &(dyn std::error::Error + 'static)| {
        Stop::fetching(FailureCode::ModelDownloadFailed, "the finished video", error)
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
