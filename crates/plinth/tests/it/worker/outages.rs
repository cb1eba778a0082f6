//! Tests of workers whose database does not respond for longer than a lease lasts.

use std::path::{Path, PathBuf};
use std::time::Duration;

use plinth_spec::state::RenderStatus;
use plinth_worker::WorkerOptions;
use tokio::time::sleep;

use super::deployment::{Deployment, Worker, tiny};

/// Duration of an outage, which is longer than a lease of three seconds.
const OUTAGE: Duration = Duration::from_secs(6);

/// A worker with a job that has started.
struct Running {
    id: String,
    worker: Worker,
    /// Folder of the job's process below `/proc`.
    process: PathBuf,
}

/// Orders a render whose job waits for some seconds before it begins, and returns when the job has started. The worker's test of
/// the machine, which is a job, too, does not wait.
async fn start(deployment: &Deployment, outage: Duration, pause_secs: u32) -> Running {
    let id = deployment.upload_and_render("chair", tiny()).await;
    let started = deployment.folder.path().join("started");
    let options = deployment.options_with(&format!(
        "if grep -q '\"render\"' \"$3/job.json\"; then echo $$ >'{0}.new'; mv '{0}.new' '{0}'; sleep {pause_secs}; fi\nexec \"$@\"",
        started.display()
    ));
    let worker = deployment.start_worker(WorkerOptions { outage, ..options });
    deployment.wait_until(&id, |_render| started.exists()).await;
    let process = Path::new("/proc").join(std::fs::read_to_string(started).unwrap().trim());
    Running { id, worker, process }
}

/// Locks the database for writers until `end`.
async fn lock(deployment: &Deployment, end: impl Future<Output = ()> + Send + 'static) {
    let account = deployment.caller.account_id.clone();
    let locked = deployment.service.db().write(move |tx| {
        Box::pin(async move {
            plinth_db::accounts::lock(tx, &account).await?;
            end.await;
            Ok::<_, plinth_db::DbError>(())
        })
    });
    locked.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_continues_while_the_database_does_not_respond() {
    let deployment = Deployment::new().await;
    let Running { id, worker, process } = start(&deployment, Duration::from_mins(10), 9).await;
    lock(&deployment, sleep(OUTAGE)).await;
    assert!(process.exists(), "the job runs");
    let render = deployment.wait_until_ended(&id).await;
    assert_eq!(render.status, RenderStatus::Done, "{render:?}");
    let folder = deployment.folder.path().join(format!("objects/renders/{id}"));
    let attempts: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(attempts, ["1"]);
    assert_eq!(deployment.credits().await, 99, "charged once");
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_cancelled_when_the_database_does_not_respond_for_too_long() {
    let deployment = Deployment::new().await;
    let Running { worker, process, .. } = start(&deployment, Duration::from_secs(1), 600).await;
    // The job must end before the transaction reaches its time limit.
    let gone = async move {
        while process.exists() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    lock(&deployment, gone).await;
    worker.stop().await;
}
