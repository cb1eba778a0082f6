//! Tests of renders whose worker stops or loses its lease.

use std::path::PathBuf;
use std::time::Duration;

use plinth_spec::OutputFile;
use plinth_spec::limits;
use plinth_spec::state::RenderStatus;
use plinth_worker::WorkerOptions;
use serde_json::json;
use tokio::time::sleep;

use super::house::{House, endless, tiny};

async fn until_no_job_is_left(house: &House) {
    while !house.jobs().is_empty() {
        sleep(Duration::from_millis(30)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_lost_its_lease_kills_the_job_and_continues() {
    let house = House::new().await;
    let id = house.order("chair", endless()).await;
    let worker = house.work(house.options());
    // The worker claims the render again after each lost lease.
    for _loss in 0..=limits::LOSSES {
        house.until(&id, |render| render.status == RenderStatus::VideoProcessing).await;
        // In the meantime, the worker renews its lease in real time.
        loop {
            house.wait_ms(4000);
            if house.service.reap().await.unwrap() == 1 {
                break;
            }
        }
    }
    assert_eq!(house.render(&id).await.failure_code, Some("reaped"));
    until_no_job_is_left(&house).await;
    let next = house.order("stool", tiny()).await;
    assert_eq!(house.end_of(&next).await.status, RenderStatus::Done);
    worker.stop().await;
    assert_eq!(house.render(&id).await.failure_code, Some("reaped"));
    assert_eq!(house.credits().await, 99);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_worker_releases_renders_without_a_poster() {
    let house = House::new().await;
    let id = house.order("chair", tiny()).await;
    let hangs = "if ! grep -q '\"render\"' \"$3/job.json\"; then exec \"$@\"; fi\nexec sleep 1000";
    let worker = house.work(house.options_with(hangs));
    house.until(&id, |render| render.status == RenderStatus::PosterProcessing).await;
    worker.stop().await;
    assert_eq!(house.render(&id).await.status, RenderStatus::Pending);
    assert!(house.jobs().is_empty());
    assert_eq!(house.outcome(&id, house.options()).await.status, RenderStatus::Done);
    assert_eq!(house.credits().await, 99, "charged once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_render_with_a_poster_is_resumed_by_another_worker() {
    let house = House::new().await;
    let id = house.order("chair", json!({"quality": "share", "length": 0.5})).await;
    let ffmpeg = hanging_ffmpeg(&house);
    let worker = house.work(WorkerOptions { ffmpeg, ..house.options() });
    house.until(&id, |render| render.status == RenderStatus::VideoProcessing).await;
    worker.stop().await;
    let render = house.render(&id).await;
    assert_eq!((render.status, render.file_size), (RenderStatus::PosterDone, None));
    for poster in [OutputFile::Poster, OutputFile::FullPoster] {
        house.service.render_file(&house.caller, &id, poster).await.unwrap();
    }
    assert!(house.service.render_file(&house.caller, &id, OutputFile::Video).await.is_err());
    let render = house.outcome(&id, house.options()).await;
    assert_eq!(render.status, RenderStatus::Done, "{render:?}");
    for output in [OutputFile::Poster, OutputFile::FullPoster, OutputFile::Video] {
        house.service.render_file(&house.caller, &id, output).await.unwrap();
    }
    assert_eq!(house.credits().await, 99, "charged once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_worker_finishes_renders_within_the_grace_period() {
    let house = House::new().await;
    let id = house.order("chair", tiny()).await;
    let worker = house.work(WorkerOptions { grace: Duration::from_secs(200), ..house.options() });
    house.until(&id, |render| render.status != RenderStatus::Pending).await;
    worker.stop().await;
    assert_eq!(house.render(&id).await.status, RenderStatus::Done);
}

/// Writes a script for an ffmpeg that accepts no frames. The job writes its poster, but never finishes its video.
fn hanging_ffmpeg(house: &House) -> PathBuf {
    house.ffmpeg_with(r#"case "$*" in -version) exec "$FFMPEG" -version;; esac; exec sleep 1000"#)
}
