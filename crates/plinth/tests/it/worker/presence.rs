//! Tests of the list of workers, in which each worker reports itself.

use std::time::Duration;

use plinth_service::admin::WorkerView;
use plinth_service::storage::FirstIdentity;
use plinth_spec::WorkerState;
use plinth_spec::state::RenderStatus;
use plinth_worker::WorkerOptions;
use tokio::time::{sleep, timeout};

use super::deployment::{Deployment, TIMEOUT, tiny};

/// Waits until exactly one worker is listed and `is_expected` holds for it.
async fn wait_for(deployment: &Deployment, is_expected: impl Fn(&WorkerView) -> bool) -> WorkerView {
    let waiting = async {
        loop {
            let fleet = deployment.service.fleet().await.unwrap();
            match fleet.workers.as_slice() {
                [only] if is_expected(only) => return only.clone(),
                _ => sleep(Duration::from_millis(20)).await,
            }
        }
    };
    timeout(TIMEOUT, waiting).await.unwrap()
}

async fn a_worker_is_listed_while_it_runs(deployment: Deployment) {
    let options =
        WorkerOptions { pool: "night".to_owned(), takes: "share,pro".parse().unwrap(), ..deployment.options() };
    let name = options.name.clone();
    let worker = deployment.start_worker(options);
    let listed = wait_for(&deployment, |worker| worker.row.state == WorkerState::Claiming).await;
    assert_eq!((&listed.row.name, listed.row.pool.as_str(), listed.row.takes.as_str()), (&name, "night", "share,pro"));
    assert_eq!((listed.row.version.as_str(), listed.row.slots > 0), (env!("CARGO_PKG_VERSION"), true));
    assert!(listed.row.adapter.contains("llvmpipe") && !listed.is_lost, "{listed:?}");
    worker.stop().await;
    assert!(deployment.service.fleet().await.unwrap().workers.is_empty(), "it has signed off");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_is_listed_on_sqlite() {
    a_worker_is_listed_while_it_runs(Deployment::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_is_listed_on_postgresql() {
    a_worker_is_listed_while_it_runs(Deployment::with_postgres_in_real_time().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_with_a_full_disk_says_so() {
    let deployment = Deployment::new().await;
    let worker = deployment.start_worker(WorkerOptions { room_bytes: u64::MAX, ..deployment.options() });
    wait_for(&deployment, |worker| worker.row.state == WorkerState::DiskFull).await;
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_cannot_render_any_more_says_so_and_leaves_its_render_to_others() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", tiny()).await;
    // The machine works until it draws the render.
    let lines = r#"if grep -q '"render"' "$3/job.json"; then touch LOST; fi
        if ! [ -e LOST ]; then exec "$@"; fi
        echo '{"event":"failed","code":"display_lost","message":"the device is lost"}'"#;
    let lost = deployment.folder.path().join("lost");
    let worker = deployment.start_worker(deployment.options_with(&lines.replace("LOST", lost.to_str().unwrap())));
    wait_for(&deployment, |worker| worker.row.state == WorkerState::CannotRender).await;
    worker.stop().await;
    let left = deployment.render(&id).await;
    assert_eq!((left.status.is_final(), left.failure_code), (false, None), "{left:?}");
    deployment.advance_ms(4000);
    assert_eq!(deployment.service.reclaim_expired_leases().await.unwrap().renders, 1, "{left:?}");
    let render = deployment.render_with_worker(&id, deployment.options()).await;
    assert_eq!(render.status, RenderStatus::Done, "{render:?}");
    assert_eq!(deployment.credits().await, 99, "charged once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_cut_off_from_the_store_says_so_and_leaves_its_renders_to_others() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", tiny()).await;
    let queued = deployment.upload_and_render("table", tiny()).await;
    // While the render is drawn, a file replaces the folder of the store.
    let [objects, elsewhere] = ["objects", "elsewhere"].map(|name| deployment.folder.path().join(name));
    let lines = r#"if grep -q '"render"' "$3/job.json"; then mv OBJECTS ELSEWHERE && touch OBJECTS; fi; exec "$@""#;
    let lines = lines.replace("OBJECTS", objects.to_str().unwrap()).replace("ELSEWHERE", elsewhere.to_str().unwrap());
    let options = WorkerOptions { outage: Duration::from_millis(100), ..deployment.options_with(&lines) };
    let worker = deployment.start_worker(options);
    wait_for(&deployment, |worker| worker.row.state == WorkerState::StoreUnreachable).await;
    worker.stop().await;
    let left = deployment.render(&id).await;
    assert_eq!((left.status.is_final(), left.failure_code), (false, None), "{left:?}");
    assert_eq!(deployment.render(&queued).await.status, RenderStatus::Pending, "the worker claimed nothing more");
    std::fs::remove_file(&objects).unwrap();
    std::fs::rename(&elsewhere, &objects).unwrap();
    deployment.advance_ms(4000);
    assert_eq!(deployment.service.reclaim_expired_leases().await.unwrap().renders, 1, "{left:?}");
    let other = deployment.start_worker(deployment.options());
    for id in [&id, &queued] {
        let render = deployment.wait_until_ended(id).await;
        assert_eq!(render.status, RenderStatus::Done, "{render:?}");
    }
    other.stop().await;
    assert_eq!(deployment.credits().await, 98, "each is charged once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_whose_folder_is_not_mounted_leaves_its_renders_to_others() {
    let deployment = Deployment::new().await;
    assert_eq!(deployment.service.check_store_identity(FirstIdentity::Create).await.unwrap(), Ok(()));
    let id = deployment.upload_and_render("chair", tiny()).await;
    // The folder is empty, like one to which no file system is mounted.
    let [objects, elsewhere] = ["objects", "elsewhere"].map(|name| deployment.folder.path().join(name));
    std::fs::rename(&objects, &elsewhere).unwrap();
    std::fs::create_dir(&objects).unwrap();
    let worker = deployment.start_worker(deployment.options());
    wait_for(&deployment, |worker| worker.row.state == WorkerState::StoreUnreachable).await;
    worker.stop().await;
    let left = deployment.render(&id).await;
    assert_eq!((left.status.is_final(), left.failure_code), (false, None), "{left:?}");
    std::fs::remove_dir_all(&objects).unwrap();
    std::fs::rename(&elsewhere, &objects).unwrap();
    deployment.advance_ms(4000);
    assert_eq!(deployment.service.reclaim_expired_leases().await.unwrap().renders, 1, "{left:?}");
    let render = deployment.render_with_worker(&id, deployment.options()).await;
    assert_eq!(render.status, RenderStatus::Done, "{render:?}");
}
