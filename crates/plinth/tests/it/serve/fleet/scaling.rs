//! Tests that no job is interrupted and no request fails while orders arrive in waves, the queries of the Helm chart
//! scale the workers, and servers are replaced.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use reqwest::Method;
use serde_json::json;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::deployment::{Fleet, Plan};
use super::drain::drain;
use super::node::Node;
use super::pools::{Pool, scale};
use super::program;
use crate::serve::crash::clients::{Clients as _, PAUSE, TIMEOUT};
use crate::serve::crash::{check, number, requests};
use crate::worker::autoscaler::select;

/// Number of orders that suffices to fill all workers of each pool.
const ORDERS: usize = 60;
/// Minimum number of orders. With fewer, a wave may have no work for one of the pools.
const FEWEST_ORDERS: usize = 20;
const WAVES: usize = 4;
/// Number of orders that are sent concurrently.
const AT_ONCE: usize = 8;
/// Number of consecutive orders with the same picture. One job renders those that are in the queue at the same time.
const LIKE: usize = 2;
/// Time for which a server that was told to stop continues to accept requests.
const DRAIN_SECS: &str = "3";

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs root and network namespaces: make faults"]
async fn a_fleet_is_scaled_and_upgraded_without_loss() {
    let (orders, begin) = (number_of_orders(), Instant::now());
    let new = program();
    let old: Option<PathBuf> = number("FLEET_PREVIOUS");
    let (cpu, gpu) =
        (["--pool", "cpu", "--takes", "share,standard"], ["--pool", "gpu", "--takes", "standard,4k,pro,dataset"]);
    let plan = Plan {
        servers: 2,
        server_args: &["--drain-seconds", DRAIN_SECS],
        workers: vec![cpu.to_vec(), cpu.to_vec(), gpu.to_vec(), gpu.to_vec()],
        variables: &[("PLINTH_WORKER_GRACE_SECONDS", "3600")],
        program: old.clone().unwrap_or_else(|| new.clone()),
    };
    let fleet = Fleet::open(plan).await;
    fleet.until_ready().await;
    let pool =
        |name, slots, nodes| Pool { name, slots, nodes, most: AtomicUsize::new(0), stopped: AtomicUsize::new(0) };
    let pools: Arc<[Pool]> = Arc::new([pool("cpu", 1, 2..4), pool("gpu", 2, 4..6)]);
    let stop = CancellationToken::new();
    let scaling = scale(&fleet, &pools, &stop);
    let first = fleet.answer(|client| requests::upload_request(client, "first")).await.0;
    let model = first.text("modelId");
    let mut renders = vec![first.text("renderId")];
    let (per_wave, mut drained) = (orders.div_ceil(WAVES), 0);
    for wave in 0..WAVES {
        let sending = send(&fleet, &model, wave * per_wave..(wave + 1) * per_wave);
        // `replace` runs in its own task, because it blocks its thread until a server has ended.
        let replacing = tokio::spawn(replace(Arc::clone(&fleet), wave, new.clone()));
        renders.extend(sending.await);
        drained += replacing.await.unwrap();
        fleet.until_all_have_ended().await;
        until_scaled_to_zero(&fleet).await;
    }
    stop.cancel();
    for task in scaling {
        task.await.unwrap();
    }
    let all = fleet.until_all_have_ended().await;
    assert_eq!(all.len(), renders.len(), "each order is one render");
    for render in &all {
        let packaged = if render["isSystemPreview"] == true { "skipped" } else { "ready" };
        assert_eq!((&render["status"], &render["hlsStatus"]), (&"done".into(), &packaged.into()), "{render}");
    }
    let again = select(&fleet.database.address(), "SELECT count(*) FROM renders WHERE attempt > 1 OR hls_attempt > 1");
    assert_eq!(again.trim(), "0", "a job was cut and begun again\n{}", fleet.log());
    let failed = fleet.failed.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert!(failed.is_empty(), "requests failed while servers were replaced: {failed:#?}\n{}", fleet.log());
    let responses = requests::Responses { renders: renders.into_iter().collect(), ..requests::Responses::default() };
    let sums = check::all(&*fleet, &fleet.remains(), &responses, &all).await;
    println!(
        "  {sums}; {} connections refused; {:.0} s",
        fleet.refused.load(Ordering::SeqCst),
        begin.elapsed().as_secs_f64()
    );
    pools.iter().for_each(|pool| check_scaling(pool, orders));
    let version = if old.is_some() { "the previous version" } else { "the same version" };
    println!(
        "  {orders} orders in {WAVES} waves; the servers replaced {version}; a drained worker finished {drained} jobs"
    );
    fleet.close().await;
}

fn number_of_orders() -> usize {
    let orders = number("FLEET_ORDERS").unwrap_or(ORDERS);
    assert!(
        orders >= FEWEST_ORDERS,
        "FLEET_ORDERS={orders} is too few: each wave needs work for each pool, which takes at least {FEWEST_ORDERS} orders"
    );
    orders
}

/// Asserts that a pool was scaled out and in again. It must have reached all its nodes if the orders suffice to fill
/// them, and at least one node otherwise.
fn check_scaling(pool: &Pool, orders: usize) {
    let (most, stopped) = (pool.most.load(Ordering::SeqCst), pool.stopped.load(Ordering::SeqCst));
    println!("  pool {}: at most {most} workers; {stopped} workers stopped", pool.name);
    let least = if orders >= ORDERS { pool.nodes.len() } else { 1 };
    assert!(most >= least && stopped >= most, "the pool {} was not scaled out to {least} workers and in", pool.name);
}

/// Sends the orders of a wave. Returns the ids of their renders.
async fn send(fleet: &Fleet, model: &str, orders: std::ops::Range<usize>) -> Vec<String> {
    let sent = futures_util::stream::iter(orders).map(async |number| {
        let quality = if number / LIKE % 3 == 2 { "standard" } else { "share" };
        let turn = (number / LIKE) as f64 / 4.0;
        // Orders of the same picture differ in a setting that does not affect it, because equal requests are replayed.
        let settings = json!({"quality": quality, "length": 0.04, "rotateY": turn, "strictCredits": number % 2 == 1});
        let body = json!({"modelId": model, "renderSettings": settings}).to_string();
        let create = |client: &plinth_testkit::Client| {
            let request = client.request(Method::POST, "/renders").header("idempotency-key", format!("order-{number}"));
            request.header("content-type", "application/json").body(body.clone())
        };
        let id = fleet.answer(create).await.0.text("id");
        // Clients also poll the renders that they have created.
        sleep(Duration::from_millis(200)).await;
        fleet.get(&format!("/renders/{id}")).await;
        id
    });
    sent.buffer_unordered(AT_ONCE).collect().await
}

/// Replaces servers or drains a worker during a wave. In the second wave, all servers change to the new version, one
/// after another. In the third, a server is stopped for some seconds. In the fourth, a worker that has jobs is drained.
/// Returns the number of jobs that the drained worker finished.
async fn replace(fleet: Arc<Fleet>, wave: usize, new: PathBuf) -> usize {
    match wave {
        1 => {
            for node in &fleet.nodes {
                node.use_program(&new);
            }
            for server in fleet.servers() {
                let status = server.stop().unwrap();
                assert!(status.success(), "a server that was told to stop ended with {status}");
                server.start();
                fleet.until_ready().await;
            }
        }
        2 => {
            let server = fleet.servers().next().unwrap();
            server.stop().unwrap();
            sleep(Duration::from_secs(5)).await;
            server.start();
            fleet.until_ready().await;
        }
        3 => return drain(&fleet).await,
        _ => {}
    }
    0
}

async fn until_scaled_to_zero(fleet: &Fleet) {
    let begin = Instant::now();
    while fleet.workers().any(|node| Node::is_running(node) || node.strike.try_lock().is_err()) {
        assert!(begin.elapsed() < TIMEOUT, "idle workers are not stopped\n{}", fleet.log());
        sleep(PAUSE).await;
    }
}
