//! Tests of renders whose worker stops or loses its lease.

use std::fs::File;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use plinth_service::previews::Preview;
use plinth_spec::state::RenderStatus;
use plinth_spec::{ErrorCode, FailureCode, OutputFile, limits};
use plinth_worker::WorkerOptions;
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::deployment::{Deployment, TIMEOUT, endless, tiny};

async fn until_no_job_is_left(deployment: &Deployment) {
    while !deployment.jobs().is_empty() {
        sleep(Duration::from_millis(30)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_lost_its_lease_kills_the_job_and_continues() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", endless()).await;
    let worker = deployment.start_worker(deployment.options());
    // The worker claims the render again after each lost lease.
    for _loss in 0..=limits::LOSSES {
        deployment.wait_until(&id, |render| render.status == RenderStatus::VideoProcessing).await;
        // In the meantime, the worker renews its lease in real time.
        loop {
            deployment.advance_ms(4000);
            if deployment.service.reclaim_expired_leases().await.unwrap().renders == 1 {
                break;
            }
        }
    }
    assert_eq!(deployment.render(&id).await.failure_code, Some(FailureCode::Reaped));
    until_no_job_is_left(&deployment).await;
    let next = deployment.upload_and_render("stool", tiny()).await;
    assert_eq!(deployment.wait_until_ended(&next).await.status, RenderStatus::Done);
    worker.stop().await;
    assert_eq!(deployment.render(&id).await.failure_code, Some(FailureCode::Reaped));
    assert_eq!(deployment.credits().await, 99);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_worker_releases_renders_without_a_poster() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", tiny()).await;
    let hangs = "if ! grep -q '\"render\"' \"$3/job.json\"; then exec \"$@\"; fi\nexec sleep 1000";
    let worker = deployment.start_worker(deployment.options_with(hangs));
    deployment.wait_until(&id, |render| render.status == RenderStatus::PosterProcessing).await;
    worker.stop().await;
    assert_eq!(deployment.render(&id).await.status, RenderStatus::Pending);
    assert!(deployment.jobs().is_empty());
    assert_eq!(deployment.render_with_worker(&id, deployment.options()).await.status, RenderStatus::Done);
    assert_eq!(deployment.credits().await, 99, "charged once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_render_with_a_poster_is_resumed_by_another_worker() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", json!({"quality": "share", "length": 0.5})).await;
    let ffmpeg = hanging_ffmpeg(&deployment);
    let worker = deployment.start_worker(WorkerOptions { ffmpeg, ..deployment.options() });
    deployment.wait_until(&id, |render| render.status == RenderStatus::VideoProcessing).await;
    worker.stop().await;
    let render = deployment.render(&id).await;
    assert_eq!((render.status, render.file_size), (RenderStatus::PosterDone, None));
    for poster in [OutputFile::Poster, OutputFile::FullPoster] {
        deployment.service.render_file(&deployment.caller, &id, poster).await.unwrap();
    }
    assert!(deployment.service.render_file(&deployment.caller, &id, OutputFile::Video).await.is_err());
    let render = deployment.render_with_worker(&id, deployment.options()).await;
    assert_eq!(render.status, RenderStatus::Done, "{render:?}");
    for output in [OutputFile::Poster, OutputFile::FullPoster, OutputFile::Video] {
        deployment.service.render_file(&deployment.caller, &id, output).await.unwrap();
    }
    assert_eq!(deployment.credits().await, 99, "charged once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_worker_finishes_renders_within_the_grace_period() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", tiny()).await;
    let worker = deployment.start_worker(WorkerOptions { grace: Duration::from_secs(200), ..deployment.options() });
    deployment.wait_until(&id, |render| render.status != RenderStatus::Pending).await;
    worker.stop().await;
    assert_eq!(deployment.render(&id).await.status, RenderStatus::Done);
}

/// Reading the preview's model blocks, as if the store did not respond.
#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_worker_ends_previews_while_renders_have_their_grace_period() {
    const GRACE: Duration = Duration::from_secs(8);
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", tiny()).await;
    let hangs = "if ! grep -q '\"render\"' \"$3/job.json\"; then exec \"$@\"; fi\nexec sleep 1000";
    let options = WorkerOptions { grace: GRACE, ..deployment.options_with(hangs) };
    let worker = deployment.start_worker(options);
    deployment.wait_until(&id, |render| render.status == RenderStatus::PosterProcessing).await;
    let model = deployment.upload("stool", None).await.0;
    let file = deployment.folder.path().join(format!("objects/models/{model}.glb"));
    std::fs::remove_file(&file).unwrap();
    assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
    let (service, caller) = (deployment.service.clone(), deployment.caller.clone());
    let asked = tokio::spawn(async move { service.preview(&caller, &model, Preview::default()).await });
    while deployment.jobs().len() < 2 {
        sleep(Duration::from_millis(30)).await;
    }
    let begin = Instant::now();
    let stopping = tokio::spawn(worker.stop());
    let error = timeout(TIMEOUT, asked).await.expect("the preview ends").unwrap().unwrap_err();
    assert!(error.code == ErrorCode::Internal && !stopping.is_finished(), "{error:?}");
    timeout(TIMEOUT, stopping).await.expect("the worker stops").unwrap();
    assert!(begin.elapsed() >= GRACE, "the render had its time: {:?}", begin.elapsed());
    assert_eq!(deployment.render(&id).await.status, RenderStatus::Pending);
    // Opening the FIFO for writing ends the thread that waits for a writer.
    drop(File::options().read(true).write(true).open(file).unwrap());
}

/// Writes a script for an ffmpeg that accepts no frames. The job writes its poster, but never finishes its video.
fn hanging_ffmpeg(deployment: &Deployment) -> PathBuf {
    deployment.ffmpeg_with(r#"case "$*" in -version | *64x64*) exec "$FFMPEG" "$@";; esac; exec sleep 1000"#)
}
