//! Simulates a fleet of workers on a PostgreSQL server; run by bench/fleet.sh. Claims, renewals and reports are those of real
//! workers, rendering is replaced by waiting.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::expect_used,
    clippy::panic,
    reason = "it prints its results"
)]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use plinth_db::queue::Kind;
use plinth_db::{Db, DbError, DbOptions, queue, renders};
use plinth_service::jobs::{Claim, RenderFiles};
use plinth_service::{Service, ServiceOptions};
use plinth_spec::id::RenderId;
use plinth_spec::quality::Codec;
use plinth_spec::state::{HlsStatus, RenderStatus};
use plinth_spec::{Takes, WorkClass};
use plinth_store::{LinkSigner, Store, StoreOptions};
use plinth_testkit::{Postgres, postgres};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// Settings of a server with enough memory for the tables, and with the durability that tests do without.
const SETTINGS: &[&str] = &[
    "fsync=on",
    "synchronous_commit=on",
    "full_page_writes=on",
    "shared_buffers=1GB",
    "max_wal_size=4GB",
    "max_connections=4200",
    "shared_preload_libraries=pg_stat_statements",
    "pg_stat_statements.track_planning=on",
];
/// Clock ticks per second in `/proc`, the same on all common Linux systems.
const TICKS: f64 = 100.0;
/// Interval at which an idle worker polls, as in `plinth worker`.
const POLL: Duration = Duration::from_secs(30);
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

/// Times of one kind of request.
#[derive(Default)]
struct Times(Mutex<Vec<Duration>>);

impl Times {
    async fn of<T>(&self, work: impl Future<Output = T>) -> T {
        let begin = Instant::now();
        let value = work.await;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(begin.elapsed());
        value
    }

    /// Returns and forgets the times, sorted.
    fn take(&self) -> Vec<Duration> {
        let mut times = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        times.sort_unstable();
        times
    }
}

#[derive(Default)]
struct Measured {
    claims: Times,
    packagings: Times,
    empty: Times,
    renewals: Times,
    reports: Times,
    failures: AtomicU64,
    /// When each render was claimed, of the measurement with idle workers.
    claimed: Mutex<Vec<(RenderId, Instant)>>,
}

/// One simulated worker.
struct Worker {
    service: Service,
    name: String,
    job: Duration,
    measured: Arc<Measured>,
}

impl Worker {
    async fn run(self) {
        let mut package_first = false;
        loop {
            let worked = self.work(package_first).await;
            match worked {
                Ok(Some(is_package)) => package_first = !is_package,
                Ok(None) => tokio::select! {
                    () = self.service.render_placed() => {}
                    () = sleep(POLL.mul_f64(0.75 + 0.5 * fastrand::f64())) => {}
                },
                Err(error) => {
                    if self.measured.failures.fetch_add(1, Ordering::Relaxed) == 0 {
                        eprintln!("the first failed request, of {}: {error} {:?}", self.name, error.cause);
                    }
                    sleep(Duration::from_secs(2)).await;
                }
            }
        }
    }

    /// Runs one job, and returns whether it was a packaging; `None` if there was none.
    async fn work(&self, package_first: bool) -> plinth_service::Result<Option<bool>> {
        for package in [package_first, !package_first] {
            let begin = Instant::now();
            let claim = if package {
                self.service.claim_packaging(self.name.as_str()).await?
            } else {
                self.service.claim_renders(self.name.as_str(), 16).await?.into_iter().next()
            };
            let times = match (&claim, package) {
                (None, _) => &self.measured.empty,
                (Some(_), true) => &self.measured.packagings,
                (Some(_), false) => &self.measured.claims,
            };
            times.0.lock().unwrap_or_else(PoisonError::into_inner).push(begin.elapsed());
            let Some(claim) = claim else { continue };
            if package {
                self.busy(&claim, self.job / 10).await?;
                let _lost = self.measured.reports.of(self.service.finish_packaging(&claim, 1000)).await?;
            } else {
                let entry = (claim.render.id.clone(), Instant::now());
                self.measured.claimed.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
                let job = self.job.mul_f64(0.5 + fastrand::f64());
                self.busy(&claim, job / 4).await?;
                let _lost = self.measured.reports.of(self.service.poster_stored(&claim)).await?;
                self.busy(&claim, job * 3 / 4).await?;
                let files = RenderFiles::none(Codec::H264);
                let _lost = self.measured.reports.of(self.service.finish_render(&claim, &files, &[])).await?;
            }
            return Ok(Some(package));
        }
        Ok(None)
    }

    /// Waits, and renews the lease as workers do: three times per lease.
    async fn busy(&self, claim: &Claim, time: Duration) -> plinth_service::Result<()> {
        let every = Duration::from_secs(u64::from(ServiceOptions::LEASE_SECS) / 3);
        let mut left = time;
        while left > every {
            sleep(every).await;
            left -= every;
            let _lost = self.measured.renewals.of(self.service.renew_claim(claim)).await?;
        }
        sleep(left).await;
        Ok(())
    }
}

/// Runs SQL and returns what it prints.
fn sql(server: &Postgres, text: &str) -> String {
    let mut psql = Command::new(postgres().join("psql"));
    psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", &server.address(), "-c", text]);
    let done = psql.output().expect("psql");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).trim().to_owned()
}

/// Inserts accounts with a model each, and their queued renders in turns, with what they were charged.
fn fill(server: &Postgres, plan: &Plan) {
    let (accounts, renders) = (plan.accounts, plan.renders);
    let id = |kind: char, number: &str| format!("'{kind}' || lpad(({number})::text, 11, '0')");
    let account = format!("n % {accounts}");
    let (a, w, m, r, e) = (id('a', &account), id('w', &account), id('m', &account), id('r', "n"), id('e', "n"));
    let class =
        "(ARRAY['share','share','share','share','share','standard','standard','standard','4k','pro'])[n / 7 % 10 + 1]";
    for text in [
        format!(
            "INSERT INTO accounts (id, email, is_admin, paid, free, created_at) \
             SELECT {a}, n || '@example.org', false, 1000, 0, 0 FROM generate_series(0, {accounts} - 1) n"
        ),
        format!(
            "INSERT INTO workspaces (id, name, owner_id, is_personal, created_at) \
             SELECT {w}, 'w', {a}, true, 0 FROM generate_series(0, {accounts} - 1) n"
        ),
        format!(
            "INSERT INTO models (id, workspace_id, original_name, file_size, sha256, animations, animation_count, status, \
             created_at, updated_at) SELECT {m}, {w}, 'a.glb', 1, md5(n::text), '[]', 0, 'active', 0, 0 \
             FROM generate_series(0, {accounts} - 1) n"
        ),
        format!(
            "INSERT INTO renders (id, workspace_id, model_id, payer_id, settings, settings_sha256, frames_sha256, work_class, \
             replay_key, replay_ordinal, is_system_preview, pool, credits, status, hls_status, warnings, attempt, hls_attempt, \
             created_at, updated_at) SELECT {r}, {w}, {m}, {a}, '{{\"length\":4,\"rotateY\":' || n || '}}', \
             encode(sha256(n::text::bytea), 'hex'), encode(sha256(n::text::bytea), 'hex'), {class}, '', -1, false, 'paid', 4, \
             'pending', 'pending', '[]', 0, 0, 1700000000000 + n, 1700000000000 + n FROM generate_series(0, {renders} - 1) n"
        ),
        format!(
            "INSERT INTO ledger (id, account_id, workspace_id, render_id, type, pool, credits, price_cents, source, \
             description, created_at) SELECT {e}, {a}, {w}, {r}, 'render', 'paid', -4, 0, 'render', 'render', \
             1700000000000 + n FROM generate_series(0, {renders} - 1) n"
        ),
        "INSERT INTO queue SELECT DISTINCT 'render ' || work_class, payer_id, CAST(0 AS DOUBLE PRECISION) FROM renders"
            .to_owned(),
        "VACUUM ANALYZE".to_owned(),
    ] {
        // Without checks of foreign keys, which take most of the time.
        sql(
            server,
            &if text == "VACUUM ANALYZE" { text } else { format!("SET session_replication_role = replica; {text}") },
        );
    }
}

/// Processor seconds that a process and its children have used, those that ended included.
fn cpu_secs(pid: u32) -> f64 {
    let field = |stat: &str, at: usize| -> u32 {
        // The name, in parentheses, may contain spaces.
        let rest = stat.rsplit(')').next().unwrap_or_default();
        rest.split_whitespace().nth(at - 3).and_then(|text| text.parse().ok()).unwrap_or(0)
    };
    let of = |pid: &str, fields: std::ops::RangeInclusive<usize>| {
        let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
        (field(&stat, 4), fields.map(|at| f64::from(field(&stat, at))).sum::<f64>())
    };
    let processes =
        std::fs::read_dir("/proc").expect("/proc").flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let children =
        processes.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).map(|name| of(&name, 14..=15));
    let living: f64 = children.filter(|(parent, _)| *parent == pid).map(|(_, ticks)| ticks).sum();
    (of(&pid.to_string(), 14..=17).1 + living) / TICKS
}

/// Sizes and dead rows of the tables that a queue changes.
fn tables(server: &Postgres) -> String {
    sql(
        server,
        "SELECT string_agg(relname || ' ' || pg_size_pretty(pg_table_size(relid)) || ' + ' || \
         pg_size_pretty(pg_indexes_size(relid)) || ' of indexes, ' || n_dead_tup || ' dead', '; ' ORDER BY relname) \
         FROM pg_stat_user_tables WHERE relname IN ('renders', 'queue', 'shares')",
    )
}

/// The statements that took most of the server's time: calls, mean ms to execute, mean ms to plan, text.
fn statements(server: &Postgres) -> String {
    sql(
        server,
        "SELECT calls || ' x ' || round(mean_exec_time::numeric, 3) || ' + ' || \
         round((total_plan_time / calls)::numeric, 3) || ' ms  ' || left(regexp_replace(query, '\\s+', ' ', 'g'), 90) \
         FROM pg_stat_statements ORDER BY total_exec_time + total_plan_time DESC LIMIT 10",
    )
}

fn ms(times: &[Duration], percent: usize) -> f64 {
    times.get((times.len() * percent / 100).min(times.len().saturating_sub(1))).map_or(0.0, Duration::as_secs_f64) * 1e3
}

fn line(what: &str, times: &[Duration], seconds: f64) -> String {
    let largest = times.last().map_or(0.0, Duration::as_secs_f64) * 1e3;
    format!(
        "{what:<24}{:>10.1}/s{:>10.2}{:>10.2}{largest:>10.2}",
        times.len() as f64 / seconds,
        ms(times, 50),
        ms(times, 99)
    )
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
