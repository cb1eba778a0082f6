//! Tests of workers whose database does not respond for longer than a lease lasts.

use std::time::Duration;

use plinth_spec::state::RenderStatus;
use plinth_worker::WorkerOptions;
use tokio::time::sleep;

use super::deployment::{Deployment, Worker, tiny};

/// A lease lasts three seconds.
const OUTAGE: Duration = Duration::from_secs(6);

/// Orders a render whose job waits for some seconds before it begins, and returns when the job has started.
async fn start(deployment: &Deployment, outage: Duration) -> (String, Worker) {
    let id = deployment.upload_and_render("chair", tiny()).await;
    let options = deployment.options_with("echo >>\"$3/started\"\nsleep 9\nexec \"$@\"");
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

/// Locks the database for writers.
async fn lock(deployment: &Deployment, time: Duration) {
    let account = deployment.caller.account_id.clone();
    let locked = deployment.service.db().write(move |tx| {
        Box::pin(async move {
            plinth_db::accounts::lock(tx, &account).await?;
            sleep(time).await;
            Ok::<_, plinth_db::DbError>(())
        })
    });
    locked.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_continues_while_the_database_does_not_respond() {
    let deployment = Deployment::new().await;
    let (id, worker) = start(&deployment, Duration::from_mins(10)).await;
    lock(&deployment, OUTAGE).await;
    assert_done_in_one_attempt(&deployment, &id).await;
    worker.stop().await;
}
