//! Tests of workers whose database does not respond for longer than a lease lasts.

use std::time::Duration;

use plinth_spec::state::RenderStatus;
use plinth_worker::WorkerOptions;
use tokio::time::sleep;

use super::autoscaler::select;
use super::deployment::{Deployment, Worker, tiny};

/// A lease lasts three seconds.
const OUTAGE: Duration = Duration::from_secs(6);

/// Orders a render whose job waits for some seconds before it begins, and returns when the job has started.
async fn start(deployment: &Deployment, outage: Duration, secs: u32) -> (String, Worker) {
    let id = deployment.upload_and_render("chair", tiny()).await;
    let options = deployment.options_with(&format!("echo >>\"$3/started\"\nsleep {secs}\nexec \"$@\""));
    let worker = deployment.start_worker(WorkerOptions { outage, ..options });
    deployment.wait_until(&id, |_render| deployment.jobs().iter().any(|job| job.join("started").exists())).await;
    (id, worker)
}

async fn assert_done_in_one_attempt(deployment: &Deployment, id: &str) {
    assert_eq!(deployment.jobs().len(), 1, "the job runs");
    let render = deployment.wait_until_ended(id).await;
    assert_eq!(render.status, RenderStatus::Done, "{render:?}");
    let folder = deployment.folder.path().join(format!("objects/renders/{id}"));
    let attempts: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(attempts, ["1"]);
    assert_eq!(deployment.credits().await, 99, "charged once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_continues_while_postgresql_rejects_every_renewal_of_its_lease() {
    let deployment = Deployment::with_postgres_in_real_time().await;
    let (id, worker) = start(&deployment, Duration::from_mins(10), 9).await;
    let database = deployment.database.address();
    select(database, "ALTER TABLE renders RENAME TO lost");
    sleep(OUTAGE).await;
    select(database, "ALTER TABLE lost RENAME TO renders");
    assert_done_in_one_attempt(&deployment, &id).await;
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_continues_while_sqlite_is_locked() {
    let deployment = Deployment::new().await;
    let (id, worker) = start(&deployment, Duration::from_mins(10), 9).await;
    let account = deployment.caller.account_id.clone();
    let locked = deployment.service.db().write(move |tx| {
        Box::pin(async move {
            plinth_db::accounts::lock(tx, &account).await?;
            sleep(OUTAGE).await;
            Ok::<_, plinth_db::DbError>(())
        })
    });
    locked.await.unwrap();
    assert_done_in_one_attempt(&deployment, &id).await;
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_cancelled_when_the_database_does_not_respond_for_too_long() {
    let deployment = Deployment::with_postgres_in_real_time().await;
    let (id, worker) = start(&deployment, Duration::from_secs(1), 120).await;
    let database = deployment.database.address();
    select(database, "ALTER TABLE renders RENAME TO lost");
    // A renewal that is not answered fails after the lease time.
    let mut waited = Duration::ZERO;
    while !deployment.jobs().is_empty() {
        assert!(waited < 5 * OUTAGE, "the job runs for ever");
        sleep(OUTAGE / 20).await;
        waited += OUTAGE / 20;
    }
    select(database, "ALTER TABLE lost RENAME TO renders");
    worker.stop().await;
    assert_eq!(deployment.service.reclaim_expired_leases().await.unwrap(), 1);
    assert_eq!(deployment.render(&id).await.status, RenderStatus::Pending, "another worker draws it");
}
