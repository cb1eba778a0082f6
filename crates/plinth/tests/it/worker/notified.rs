//! An idle worker in another process, which PostgreSQL notifies of queued renders.

use std::process::Command;
use std::time::{Duration, Instant};

use plinth_spec::state::RenderStatus;
use plinth_testkit::postgres;
use tokio::time::{sleep, timeout};

use super::house::{House, PATIENCE, tiny};
use super::pools::Process;

/// Far shorter than the interval at which a worker polls PostgreSQL, which is at least 22 s.
const SOON: Duration = Duration::from_secs(5);

/// Runs a statement and returns its only number.
fn ask(house: &House, sql: &str) -> usize {
    let mut psql = Command::new(postgres().join("psql"));
    psql.args(["-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", house.database.address(), "-c", sql]);
    let done = psql.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).trim().parse().unwrap()
}

/// Orders a render, and returns how long it waited for the worker. The worker has nothing to do afterwards.
async fn wait_of_order(house: &House, name: &str) -> Duration {
    let id = house.order(name, tiny()).await;
    let ordered = Instant::now();
    house.until(&id, |render| render.status != RenderStatus::Pending).await;
    let wait = ordered.elapsed();
    house.end_of(&id).await;
    let packaged = async {
        while ask(house, "SELECT count(*) FROM renders WHERE lease_token IS NOT NULL OR hls_status = 'pending'") > 0 {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(PATIENCE, packaged).await.unwrap();
    wait
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_worker_starts_at_once_what_another_process_queues() {
    let house = House::with_postgres_in_real_time().await;
    let _worker = Process::start(&house, &[]);
    wait_of_order(&house, "first").await;
    let wait = wait_of_order(&house, "second").await;
    assert!(wait < SOON, "{wait:?}");
    let listeners = "FROM pg_stat_activity WHERE application_name LIKE 'plinth-listener %'";
    assert_eq!(ask(&house, &format!("SELECT count(*) {listeners}")), 1);
    assert_eq!(ask(&house, &format!("SELECT count(pg_terminate_backend(pid)) {listeners}")), 1);
    let after_loss = wait_of_order(&house, "third").await;
    assert!(after_loss < SOON, "{after_loss:?}");
    assert_eq!(ask(&house, &format!("SELECT count(*) {listeners}")), 1, "it listens again");
    let again = wait_of_order(&house, "fourth").await;
    assert!(again < SOON, "{again:?}");
    #[expect(clippy::print_stdout, reason = "it measures")]
    let () = println!("started after {wait:?}; after a lost connection {after_loss:?}, then {again:?}");
}
