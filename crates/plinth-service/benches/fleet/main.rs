//! Simulates a fleet of workers on a PostgreSQL server; run by bench/fleet.sh. Claims, renewals and reports are those of real
//! workers, rendering is replaced by waiting.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::expect_used,
    clippy::panic,
    reason = "it prints its results"
)]

mod database;
mod times;
mod worker;

use std::fmt::Write as _;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use plinth_db::queue::Kind;
use plinth_db::{Db, DbError, DbOptions, queue, renders};
use plinth_service::{Service, ServiceOptions};
use plinth_spec::id::RenderId;
use plinth_spec::state::{HlsStatus, RenderStatus};
use plinth_spec::{Takes, WorkClass};
use plinth_store::{LinkSigner, Store, StoreOptions};
use plinth_testkit::Postgres;
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio::time::sleep;

use database::{SETTINGS, cpu_secs, fill, sql, statements, tables};
use times::{Measured, line};
use worker::Worker;

/// Orders of the measurement with idle workers.
const ORDERS: u32 = 100;

struct Plan {
    workers: u32,
    renders: u32,
    accounts: u32,
    job: Duration,
    measured: Duration,
}

impl Plan {
    /// Errors: not five whole numbers.
    fn of_args() -> Self {
        let numbers: Vec<u32> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
        let [workers, renders, accounts, job, measured] = numbers[..] else {
            panic!("give five whole numbers: workers, renders, accounts, seconds of a job, seconds to measure");
        };
        let [job, measured] = [job, measured].map(|secs| Duration::from_secs(secs.into()));
        Self { workers, renders, accounts, job, measured }
    }
}

async fn open(server: &Postgres, folder: &TempDir, connections: u32, may_change: bool) -> Service {
    let options = DbOptions { postgres_connections: connections, may_change, ..DbOptions::default() };
    let db = Db::open(&server.address(), options).await.expect("the database");
    let address = format!("file://{}", folder.path().display());
    let signer = LinkSigner::new("http://127.0.0.1:1".parse().expect("a URL"));
    let store =
        Store::open(StoreOptions { address, s3: Vec::new(), s3_public_endpoint: None, signer }).expect("a store");
    Service::new(db, store, ServiceOptions::default())
}

/// Starts the workers; their first claims are spread over the time of a job.
async fn start(server: &Postgres, folder: &TempDir, plan: &Plan, measured: &Arc<Measured>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    for number in 0..plan.workers {
        let service = open(server, folder, 1, false).await;
        // With a backlog no worker is ever idle.
        if plan.renders == 0 {
            let listener = service.clone();
            tasks.spawn(async move { listener.listen_for_work(&Takes::default()).await });
        }
        let worker = Worker { service, name: format!("w{number}"), job: plan.job, measured: Arc::clone(measured) };
        let wait = plan.job.mul_f64(fastrand::f64());
        tasks.spawn(async move {
            sleep(wait).await;
            worker.run().await;
        });
    }
    tasks
}

/// Orders renders one at a time while all workers are idle, and prints how long they waited and how many workers looked.
async fn measure_idle(service: &Service, measured: &Measured) {
    let (mut conn, id) =
        (service.db().read().await.expect("a connection"), RenderId::parse("r00000000000").expect("an id"));
    let like = renders::find_anywhere(&mut conn, &id).await.expect("a row").expect("a row");
    drop(conn);
    let mut orders = Vec::new();
    for number in 0..ORDERS {
        let id = RenderId::parse(&format!("o{number:011}")).expect("an id");
        let render = renders::Render {
            id: id.clone(),
            status: RenderStatus::Pending,
            hls_status: HlsStatus::Skipped,
            work_class: Some(WorkClass::Share),
            frames_sha256: number.to_string(),
            ..like.clone()
        };
        let placing = service.db().write(move |tx| {
            Box::pin(async move {
                renders::insert(tx, &render).await?;
                queue::enter(tx, Kind::Render, [render.work_class], &render.payer_id).await?;
                Ok::<_, DbError>(())
            })
        });
        placing.await.expect("an order");
        orders.push((id, Instant::now()));
        sleep(Duration::from_millis(500)).await;
    }
    let claimed = measured.claimed.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let wait = |(id, ordered): &(RenderId, Instant)| {
        claimed.iter().find(|(claimed, _)| claimed == id).map(|(_, at)| at.saturating_duration_since(*ordered))
    };
    let mut waits: Vec<Duration> = orders.iter().filter_map(wait).collect();
    waits.sort_unstable();
    println!("{} of {ORDERS} orders were claimed; ms from the order to the claim:", waits.len());
    println!("{}", line("order to claim", &waits, f64::from(ORDERS) / 2.0));
}

#[tokio::main]
async fn main() {
    let plan = Plan::of_args();
    let server = Postgres::start_with(SETTINGS);
    let folder = TempDir::with_prefix("plinth-fleet-").expect("a folder");
    let service = open(&server, &folder, 4, true).await;
    sql(&server, "CREATE EXTENSION pg_stat_statements");
    fill(&server, &Plan { renders: plan.renders.max(1), ..Plan::of_args() });
    if plan.renders == 0 {
        sql(&server, "UPDATE renders SET status = 'done', hls_status = 'ready'; DELETE FROM queue");
    }
    println!(
        "{} queued renders of {} accounts; {} workers, jobs of about {:?}",
        plan.renders, plan.accounts, plan.workers, plan.job
    );
    println!(
        "database {}, {}",
        sql(&server, "SELECT pg_size_pretty(pg_database_size(current_database()))"),
        tables(&server)
    );
    let measured = Arc::new(Measured::default());
    let mut tasks = start(&server, &folder, &plan, &measured).await;
    // Until all have begun.
    sleep(plan.job.mul_f64(1.5) + Duration::from_secs(2)).await;
    for times in [&measured.claims, &measured.packagings, &measured.empty, &measured.renewals, &measured.reports] {
        times.take();
    }
    sql(&server, "SELECT pg_stat_statements_reset()");
    let (begin, cpu, own) = (Instant::now(), cpu_secs(server.pid()), cpu_secs(std::process::id()));
    if plan.renders == 0 {
        measure_idle(&service, &measured).await;
    } else {
        sleep(plan.measured).await;
    }
    let seconds = begin.elapsed().as_secs_f64();
    let own = cpu_secs(std::process::id()) - own;
    let cpu = cpu_secs(server.pid()) - cpu;
    println!("{:<24}{:>12}{:>10}{:>10}{:>10}", "", "", "p50 ms", "p99 ms", "max ms");
    let kinds = [
        ("claims of renders", &measured.claims),
        ("claims of packagings", &measured.packagings),
        ("claims that find nothing", &measured.empty),
        ("renewals", &measured.renewals),
        ("reports", &measured.reports),
    ];
    let mut text = String::new();
    for (what, times) in kinds {
        let _always = writeln!(text, "{}", line(what, &times.take(), seconds));
    }
    print!("{text}");
    let connections = sql(&server, "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'");
    println!(
        "{connections} connections; PostgreSQL used {:.2} cores, this program {:.2}",
        cpu / seconds,
        own / seconds
    );
    println!("failed requests: {}", measured.failures.load(Ordering::Relaxed));
    println!("after {seconds:.0} s: {}", tables(&server));
    println!("most time of the server (calls, ms to execute and to plan):\n{}", statements(&server));
    tasks.shutdown().await;
}
