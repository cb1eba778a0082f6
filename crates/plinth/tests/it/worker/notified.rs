//! Tests of an idle worker in another process, which PostgreSQL notifies of queued renders.

use std::process::Command;
use std::time::{Duration, Instant};

use plinth_spec::state::RenderStatus;
use plinth_testkit::postgres;
use tokio::time::{sleep, timeout};

use super::deployment::{Deployment, TIMEOUT, tiny};
use super::pools::Process;

/// Maximum wait for a notified worker. It is far shorter than the polling interval for PostgreSQL, at least 22 s.
const SOON: Duration = Duration::from_secs(5);

/// Runs a statement whose result is a single number, and returns this number.
fn ask(deployment: &Deployment, sql: &str) -> usize {
    let mut psql = Command::new(postgres().join("psql"));
    psql.args(["-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", deployment.database.address(), "-c", sql]);
    let done = psql.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).trim().parse().unwrap()
}

/// Orders a render and waits until the worker is idle again. Returns how long the render waited for the worker.
async fn wait_of_order(deployment: &Deployment, name: &str) -> Duration {
    let id = deployment.upload_and_render(name, tiny()).await;
    let ordered = Instant::now();
    deployment.wait_until(&id, |render| render.status != RenderStatus::Pending).await;
    let wait = ordered.elapsed();
    deployment.wait_until_ended(&id).await;
    let packaged = async {
        while ask(deployment, "SELECT count(*) FROM renders WHERE lease_token IS NOT NULL OR hls_status = 'pending'")
            > 0
        {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(TIMEOUT, packaged).await.unwrap();
    wait
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_worker_starts_at_once_what_another_process_queues() {
    let deployment = Deployment::with_postgres_in_real_time().await;
    let _worker = Process::start(&deployment, &[]);
    wait_of_order(&deployment, "first").await;
    let wait = wait_of_order(&deployment, "second").await;
    assert!(wait < SOON, "{wait:?}");
    let listeners = "FROM pg_stat_activity WHERE application_name LIKE 'plinth-listener %'";
    assert_eq!(ask(&deployment, &format!("SELECT count(*) {listeners}")), 1);
    assert_eq!(ask(&deployment, &format!("SELECT count(pg_terminate_backend(pid)) {listeners}")), 1);
    let after_loss = wait_of_order(&deployment, "third").await;
    assert!(after_loss < SOON, "{after_loss:?}");
    assert_eq!(ask(&deployment, &format!("SELECT count(*) {listeners}")), 1, "it listens again");
    let again = wait_of_order(&deployment, "fourth").await;
    assert!(again < SOON, "{again:?}");
    #[expect(clippy::print_stdout, reason = "it measures")]
    let () = println!("started after {wait:?}; after a lost connection {after_loss:?}, then {again:?}");
}
