//! Tests of a worker with a hardware encoder. A script in place of ffmpeg simulates the encoder.

use plinth_fence::FenceOptions;
use plinth_spec::OutputFile;
use plinth_spec::state::RenderStatus;
use plinth_testkit::{assert_h264, hardware_ffmpeg, probe};
use plinth_worker::WorkerOptions;
use serde_json::json;

use super::house::{House, tiny};

/// Returns the options of a worker that requests this encoder. `lines` are the lines of the script in place of ffmpeg.
fn options(house: &House, encoder: &str, lines: &str) -> WorkerOptions {
    let ffmpeg = hardware_ffmpeg(house.folder.path(), &["h264_nvenc"], lines);
    // The sandbox is turned off, because the script writes to a file that sandboxed jobs cannot access.
    let fence = FenceOptions::off();
    WorkerOptions { ffmpeg, encoder: encoder.parse().unwrap(), fence, ..house.options() }
}

/// Asserts that the video of a finished render has 30 frames and the usual properties.
async fn assert_video(house: &House, id: &str) {
    let video = house.folder.path().join("video.mp4");
    std::fs::write(&video, house.content(id, OutputFile::Video).await).unwrap();
    let (stream, _format) = probe(&video);
    assert_h264(&stream);
    assert_eq!(stream["nb_read_frames"], "30");
}

#[tokio::test(flavor = "multi_thread")]
async fn encoders_are_tested_once_and_jobs_use_the_result() {
    let house = House::new().await;
    let log = house.folder.path().join("log");
    // The path of the log is part of the script, because jobs do not get environment variables of the test.
    let lines = format!("echo \"$ENCODER '$SIZE'\" >>{}", log.display());
    let (model, first) = house.upload("chair", Some(json!({"quality": "share", "length": 1}))).await;
    let second = house.order_again(&model, json!({"quality": "share", "length": 1, "zoom": 1.1}), "second").await;
    let worker = house.work(options(&house, "auto", &lines));
    for id in [&first, &second] {
        let render = house.end_of(id).await;
        assert_eq!(render.status, RenderStatus::Done, "{render:?}");
        assert_video(&house, id).await;
    }
    worker.stop().await;
    let used = std::fs::read_to_string(log).unwrap();
    let count = |line: &str| used.lines().filter(|used| *used == line).count();
    assert_eq!((count("h264_nvenc '640x360'"), count("h264_nvenc '960x540'")), (1, 2), "{used}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_render_survives_the_loss_of_the_card() {
    let house = House::new().await;
    let id = house.order("chair", json!({"quality": "share", "length": 1})).await;
    let log = house.folder.path().join("log");
    let lost = format!(
        "if [[ $SIZE == 960x540 ]]; then head -c 8000000 >/dev/null; echo lost >>{}; echo 'device lost' >&2; exit 1; fi",
        log.display()
    );
    let render = house.outcome(&id, options(&house, "auto", &lost)).await;
    assert_eq!(std::fs::read_to_string(log).unwrap(), "lost\n", "the hardware encoder is tried only once in a job");
    assert_eq!((render.status, render.warnings.len()), (RenderStatus::Done, 0), "{render:?}");
    assert_video(&house, &id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_whose_encoder_does_not_work_claims_nothing() {
    let house = House::new().await;
    let id = house.order("chair", tiny()).await;
    let options = options(&house, "h264_nvenc", "echo 'No capable devices found' >&2; exit 1");
    let error = house.work(options).end().await.unwrap_err().to_string();
    assert!(error.contains("h264_nvenc cannot be used on this machine: No capable devices found"), "{error}");
    assert_eq!(house.render(&id).await.status, RenderStatus::Pending);
}
