//! Tests of a worker with a hardware encoder. A script in place of ffmpeg simulates the encoder.

use plinth_fence::FenceOptions;
use plinth_spec::OutputFile;
use plinth_spec::state::RenderStatus;
use plinth_testkit::{assert_h264, hardware_ffmpeg, probe};
use plinth_worker::WorkerOptions;
use serde_json::json;

use super::deployment::{Deployment, tiny};

/// Returns the options of a worker that requests this encoder. `lines` are the lines of the script in place of ffmpeg.
fn options(deployment: &Deployment, encoder: &str, lines: &str) -> WorkerOptions {
    let ffmpeg = hardware_ffmpeg(deployment.folder.path(), &["h264_nvenc"], lines);
    // The sandbox is turned off, because the script writes to a file that sandboxed jobs cannot access.
    let fence = FenceOptions::off();
    WorkerOptions { ffmpeg, encoder: encoder.parse().unwrap(), fence, ..deployment.options() }
}

/// Asserts that the video of a finished render has 30 frames and the usual properties.
async fn assert_video(deployment: &Deployment, id: &str) {
    let video = deployment.folder.path().join("video.mp4");
    std::fs::write(&video, deployment.content(id, OutputFile::Video).await).unwrap();
    let (stream, _format) = probe(&video);
    assert_h264(&stream);
    assert_eq!(stream["nb_read_frames"], "30");
}

#[tokio::test(flavor = "multi_thread")]
async fn encoders_are_tested_once_and_jobs_use_the_result() {
    let deployment = Deployment::new().await;
    let log = deployment.folder.path().join("log");
    // The path of the log is part of the script, because jobs do not get environment variables of the test.
    let lines = format!("echo \"$ENCODER '$SIZE'\" >>{}", log.display());
    let (model, first) = deployment.upload("chair", Some(json!({"quality": "share", "length": 1}))).await;
    let second = deployment.render_again(&model, json!({"quality": "share", "length": 1, "zoom": 1.1}), "second").await;
    let worker = deployment.start_worker(options(&deployment, "auto", &lines));
    for id in [&first, &second] {
        let render = deployment.wait_until_ended(id).await;
        assert_eq!(render.status, RenderStatus::Done, "{render:?}");
        assert_video(&deployment, id).await;
    }
    worker.stop().await;
    let used = std::fs::read_to_string(log).unwrap();
    let count = |line: &str| used.lines().filter(|used| *used == line).count();
    assert_eq!((count("h264_nvenc '640x360'"), count("h264_nvenc '960x540'")), (1, 2), "{used}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ffmpeg_is_tested_once_and_not_by_each_job() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", tiny()).await;
    let log = deployment.folder.path().join("log");
    let ffmpeg = deployment.ffmpeg_with(&format!("echo \"$*\" >>{}\nexec \"$FFMPEG\" \"$@\"", log.display()));
    // The sandbox is turned off, because the script writes to a file that sandboxed jobs cannot access.
    let options = WorkerOptions { ffmpeg, fence: FenceOptions::off(), ..deployment.options() };
    let render = deployment.render_with_worker(&id, options).await;
    assert_eq!(render.status, RenderStatus::Done, "{render:?}");
    let calls = std::fs::read_to_string(log).unwrap();
    assert!(calls.lines().any(|call| call.contains("rawvideo")), "{calls}");
    let asked = calls.lines().filter(|call| *call == "-version").count();
    assert_eq!(asked, 1, "the worker asks when it starts: {calls}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_render_survives_the_loss_of_the_card() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", json!({"quality": "share", "length": 1})).await;
    let log = deployment.folder.path().join("log");
    let lost = format!(
        "if [[ $SIZE == 960x540 ]]; then head -c 8000000 >/dev/null; echo lost >>{}; echo 'device lost' >&2; exit 1; fi",
        log.display()
    );
    let render = deployment.render_with_worker(&id, options(&deployment, "auto", &lost)).await;
    assert_eq!(std::fs::read_to_string(log).unwrap(), "lost\n", "the hardware encoder is tried only once in a job");
    assert_eq!((render.status, render.warnings.len()), (RenderStatus::Done, 0), "{render:?}");
    assert_video(&deployment, &id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_whose_encoder_does_not_work_claims_nothing() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", tiny()).await;
    let options = options(&deployment, "h264_nvenc", "echo 'No capable devices found' >&2; exit 1");
    let error = deployment.start_worker(options).end().await.unwrap_err().to_string();
    assert!(error.contains("h264_nvenc cannot be used on this machine: No capable devices found"), "{error}");
    assert_eq!(deployment.render(&id).await.status, RenderStatus::Pending);
}
