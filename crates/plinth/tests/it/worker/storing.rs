//! Tests of renders whose files are being stored while the worker draws the next render.

use std::path::PathBuf;
use std::time::Duration;

use plinth_db::leases::{self, Lost};
use plinth_spec::limits;
use plinth_spec::state::RenderStatus;
use plinth_spec::wire::Render;
use plinth_worker::WorkerOptions;
use serde_json::json;
use tokio::time::sleep;

use super::deployment::{Deployment, tiny};

/// Returns the path of a file in the store.
fn stored(deployment: &Deployment, id: &str, attempt: u32, name: &str) -> PathBuf {
    deployment.folder.path().join(format!("objects/renders/{id}/{attempt}/{name}"))
}

/// Prevents the video of a render's first attempt from being stored, until the returned folder is removed.
fn obstruct(deployment: &Deployment, id: &str) -> PathBuf {
    obstruct_file(deployment, id, "video.mp4")
}

fn obstruct_file(deployment: &Deployment, id: &str, name: &str) -> PathBuf {
    let obstacle = stored(deployment, id, 1, name);
    std::fs::create_dir_all(obstacle.join("a file cannot replace a folder")).unwrap();
    obstacle
}

/// Returns whether all files of a render are written, but the render is not finished.
fn is_being_stored(render: &Render) -> bool {
    render.status == RenderStatus::VideoProcessing && render.progress.is_some_and(|progress| progress > 0.94)
}

/// Orders renders of one model that have different frames.
async fn order(deployment: &Deployment, count: u32) -> Vec<String> {
    let (model, first) = deployment.upload("chair", Some(tiny())).await;
    let mut ids = vec![first];
    for n in 1..count {
        let settings = json!({"quality": "share", "length": 0.04, "startAngle": n});
        ids.push(deployment.render_again(&model, settings, &n.to_string()).await);
    }
    ids
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_render_is_drawn_while_files_are_stored_and_both_leases_are_renewed() {
    let deployment = Deployment::new().await;
    let ids = order(&deployment, 2).await;
    let obstacle = obstruct(&deployment, &ids[0]);
    let worker = deployment.start_worker(deployment.options());
    deployment.wait_until(&ids[1], |render| render.status == RenderStatus::Done).await;
    assert!(is_being_stored(&deployment.render(&ids[0]).await));
    // The leases of three seconds would expire if the worker did not renew them each second.
    for _second in 0..4 {
        sleep(Duration::from_millis(1500)).await;
        deployment.advance_ms(1500);
        assert_eq!(deployment.service.reclaim_expired_leases().await.unwrap().renders, 0);
    }
    std::fs::remove_dir_all(obstacle).unwrap();
    let render = deployment.wait_until_ended(&ids[0]).await;
    assert_eq!(render.status, RenderStatus::Done, "{render:?}");
    worker.stop().await;
    assert_eq!(deployment.credits().await, 98, "each is charged once");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_third_render_is_drawn_while_the_store_takes_no_files() {
    let deployment = Deployment::new().await;
    let ids = order(&deployment, 3).await;
    let obstacles = [&ids[0], &ids[1]].map(|id| obstruct(&deployment, id));
    let worker = deployment.start_worker(deployment.options());
    for id in &ids[..2] {
        deployment.wait_until(id, is_being_stored).await;
    }
    sleep(Duration::from_secs(1)).await;
    assert_eq!(deployment.render(&ids[2]).await.status, RenderStatus::Pending);
    assert_eq!(deployment.jobs().len(), 2, "two renders have files on the disk");
    for obstacle in obstacles {
        std::fs::remove_dir_all(obstacle).unwrap();
    }
    for id in &ids {
        assert_eq!(deployment.wait_until_ended(id).await.status, RenderStatus::Done);
    }
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_worker_releases_a_render_whose_files_are_being_stored() {
    let deployment = Deployment::new().await;
    let id = order(&deployment, 1).await.remove(0);
    let _obstacle = obstruct(&deployment, &id);
    let worker = deployment.start_worker(deployment.options());
    deployment.wait_until(&id, is_being_stored).await;
    worker.stop().await;
    assert_eq!(deployment.render(&id).await.status, RenderStatus::PosterDone);
    assert!(deployment.jobs().is_empty());
    let render = deployment.render_with_worker(&id, deployment.options()).await;
    assert_eq!(render.status, RenderStatus::Done, "the second attempt has files of its own");
    assert_eq!(deployment.credits().await, 99, "charged once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_worker_stores_files_within_the_grace_period() {
    let deployment = Deployment::new().await;
    let id = order(&deployment, 1).await.remove(0);
    let obstacle = obstruct(&deployment, &id);
    let worker = deployment.start_worker(WorkerOptions { grace: Duration::from_secs(200), ..deployment.options() });
    deployment.wait_until(&id, is_being_stored).await;
    let (render, ()) = tokio::join!(
        async {
            sleep(Duration::from_millis(500)).await;
            std::fs::remove_dir_all(obstacle).unwrap();
            deployment.wait_until_ended(&id).await
        },
        worker.stop(),
    );
    assert_eq!(render.status, RenderStatus::Done, "{render:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_render_that_lost_its_lease_while_files_were_stored_is_drawn_again() {
    let deployment = Deployment::new().await;
    let id = order(&deployment, 1).await.remove(0);
    let _obstacle = obstruct(&deployment, &id);
    let worker = deployment.start_worker(deployment.options());
    deployment.wait_until(&id, is_being_stored).await;
    const { assert!(limits::LOSSES >= 1, "a render may be lost once") };
    // In the meantime, the worker renews its lease in real time.
    loop {
        deployment.advance_ms(4000);
        if deployment.service.reclaim_expired_leases().await.unwrap().renders == 1 {
            break;
        }
    }
    let render = deployment.wait_until_ended(&id).await;
    assert_eq!(render.status, RenderStatus::Done, "the second attempt has files of its own");
    worker.stop().await;
    assert!(deployment.jobs().is_empty());
    assert_eq!(deployment.credits().await, 99, "charged once");
}

/// Returns the leases that end before this time.
async fn leases_until(deployment: &Deployment, time: i64) -> Vec<Lost> {
    leases::list_lost(&mut deployment.service.db().read().await.unwrap(), time, 100).await.unwrap()
}

/// Requeues one render, as if its lease had expired.
async fn lose_lease(deployment: &Deployment, id: &str) {
    let mut held = leases_until(deployment, i64::MAX).await;
    held.retain(|lease| lease.render.id.as_str() == id);
    let Lost { render, token, .. } = held.remove(0);
    let now = deployment.advance_ms(1);
    let requeuing = deployment.service.db().write(move |tx| {
        Box::pin(async move {
            leases::requeue_lost(tx, &render.id, &token, render.status, RenderStatus::Pending, now).await
        })
    });
    assert!(requeuing.await.unwrap());
}

/// Waits until the worker has renewed the lease of a render twice. In between, it has tried to renew the other leases of the same job.
async fn until_renewed_twice(deployment: &Deployment, id: &str) {
    for _renewal in 0..2 {
        let renewed = deployment.advance_ms(1) + i64::from(deployment.service.options().lease_secs) * 1000;
        while leases_until(deployment, renewed).await.iter().any(|lease| lease.render.id.as_str() == id) {
            sleep(Duration::from_millis(30)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_renders_with_equal_frames_one_that_lost_its_lease_is_not_stored() {
    let deployment = Deployment::new().await;
    let (model, first) = deployment.upload("chair", Some(tiny())).await;
    let lost = deployment.render_again(&model, tiny(), "lost").await;
    let last = deployment.render_again(&model, tiny(), "last").await;
    let obstacle = obstruct(&deployment, &first);
    let worker = deployment.start_worker(deployment.options());
    deployment.wait_until(&first, is_being_stored).await;
    lose_lease(&deployment, &lost).await;
    until_renewed_twice(&deployment, &first).await;
    assert_eq!(deployment.wait_until_ended(&lost).await.status, RenderStatus::Done, "it is drawn again");
    std::fs::remove_dir_all(obstacle).unwrap();
    // The files of the last render are stored after the place of the lost render.
    for id in [&first, &last] {
        assert_eq!(deployment.wait_until_ended(id).await.status, RenderStatus::Done);
    }
    worker.stop().await;
    let video = |id: &str, attempt: u32| stored(&deployment, id, attempt, "video.mp4").exists();
    assert_eq!((video(&first, 1), video(&lost, 1), video(&lost, 2), video(&last, 1)), (true, false, true, true));
    assert_eq!(deployment.credits().await, 97, "each is charged once");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_renders_with_equal_frames_one_that_lost_its_lease_gets_no_poster() {
    const POSTER: &str = "poster.small.png";
    let deployment = Deployment::new().await;
    let (model, first) = deployment.upload("chair", Some(tiny())).await;
    let lost = deployment.render_again(&model, tiny(), "lost").await;
    let obstacle = obstruct_file(&deployment, &first, POSTER);
    let worker = deployment.start_worker(deployment.options());
    deployment.wait_until(&lost, |render| render.status == RenderStatus::PosterProcessing).await;
    lose_lease(&deployment, &lost).await;
    until_renewed_twice(&deployment, &first).await;
    std::fs::remove_dir_all(obstacle).unwrap();
    for id in [&first, &lost] {
        assert_eq!(deployment.wait_until_ended(id).await.status, RenderStatus::Done);
    }
    worker.stop().await;
    let poster = |id: &str, attempt: u32| stored(&deployment, id, attempt, POSTER).exists();
    assert_eq!((poster(&first, 1), poster(&lost, 1), poster(&lost, 2)), (true, false, true));
}
