//! Benchmarks of a server with many renders in its database, which bench/load.sh runs.
#![expect(clippy::print_stdout, reason = "it prints its results")]

mod fill;
mod integration;
mod process;
mod speed;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use plinth_spec::id::ModelId;
use plinth_testkit::Client;

use self::fill::{fill, id};
use self::integration::integrate;
use self::process::Process;
use self::speed::measure;
use super::server::{EMAIL, Installation, Served};

const CONNECTIONS: usize = 64;
/// Number of requests for single renders, and for each kind of page of a list.
const REQUESTS: [usize; 2] = [6_400, 1_280];
/// Account with a large workspace that does not change during the benchmark.
const QUIET: &str = "quiet@example.org";

/// Returns the value of an environment variable of bench/load.sh.
#[expect(clippy::disallowed_methods, reason = "the program under test does not have these variables")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Returns the number in an environment variable of bench/load.sh.
fn setting(name: &str, otherwise: usize) -> usize {
    variable(name).map_or(otherwise, |value| value.parse().expect(name))
}

/// Creates an account with credits and one model, and returns a client with its key.
async fn account(served: &Served, email: &str) -> (Client, ModelId) {
    let token = served.installation.account(email);
    served.installation.admin(&["credits", "grant", email, "100000000"]);
    let client = served.client(&token);
    let made = client.upload("load", None).await;
    (client, ModelId::parse(&made.text("modelId")).unwrap())
}

/// Returns the cursor of the page after this number of rows.
async fn cursor_at(client: &Client, depth: usize) -> String {
    let mut cursor = String::new();
    for _page in 0..depth / 100 {
        let answer = client.get(&format!("/renders?limit=100&cursor={cursor}")).await;
        answer.body["meta"]["nextCursor"].as_str().unwrap().clone_into(&mut cursor);
    }
    cursor
}

/// Measures requests for single renders and for pages of lists, in a workspace with `renders` renders.
async fn reads(server: &Process, client: &Client, renders: usize) {
    let [single, pages] = REQUESTS;
    let deep = renders * 9 / 10;
    let cursor = cursor_at(client, deep).await;
    for (what, query) in [
        ("list, offset 0", "offset=0".to_owned()),
        ("list, deep offset", format!("offset={deep}")),
        ("list, cursor, first page", "cursor=".to_owned()),
        ("list, cursor, as deep", format!("cursor={cursor}")),
        ("list, status=done", "status=done".to_owned()),
    ] {
        measure(server, client, what, (CONNECTIONS, pages), move |_request| format!("/renders?{query}")).await;
    }
    let one = move |n: usize| format!("/renders/{}", id('a', n % renders));
    measure(server, client, "GET /renders/:id", (CONNECTIONS, single), one).await;
}

/// Measures polling and filtered lists of a large workspace that does not change, over one connection. Then measures
/// the list of all finished renders over many connections. All renders are of one model.
async fn quiet(server: &Process, client: &Client) {
    let newest = client.get("/renders?limit=1").await.data()[0].clone();
    let text = |name: &str| newest[name].as_str().unwrap().to_owned();
    let (newest, model) = (text("updatedAt"), text("modelId"));
    for (what, query) in [
        ("updatedSince, newest", format!("updatedSince={newest}")),
        ("updatedSince, cursor", format!("updatedSince={newest}&cursor=")),
        ("status=done, first page", "status=done".to_owned()),
        ("status=failed, none", "status=failed".to_owned()),
        ("status=pending, one", "status=pending&limit=100".to_owned()),
        ("without a filter", "limit=100".to_owned()),
        ("modelId, all, cursor", format!("model={model}&cursor=")),
    ] {
        measure(server, client, what, (1, 200), move |_request| format!("/renders?{query}")).await;
    }
    // The total of the first list is an estimate, that of the second is the sum of the numbers of all hours.
    for (what, query) in [
        ("modelId, all, offset", format!("model={model}")),
        ("updatedSince, all, offset", "updatedSince=2000-01-01T00:00:00Z".to_owned()),
    ] {
        measure(server, client, what, (1, 20), move |_request| format!("/renders?{query}")).await;
    }
    let done = |_request| "/renders?status=done".to_owned();
    measure(server, client, "status=done, 64 at once", (CONNECTIONS, 1_280), done).await;
}

async fn load(installation: Installation, database: &str) {
    let address = installation.database();
    let served = Served::on(installation.with_build(variable("LOAD_PROGRAM").map(PathBuf::from)));
    let server = Process::of(served.server.pid());
    let renders = setting("LOAD_RENDERS", 100_000);
    let quiet_renders = setting("LOAD_QUIET_RENDERS", 1_000_000);
    served.installation.admin(&["credits", "grant", EMAIL, "100000000"]);
    let model = ModelId::parse(&served.client.upload("load", None).await.text("modelId")).unwrap();
    let (quiet_client, quiet_model) = account(&served, QUIET).await;
    let begin = Instant::now();
    fill(&address, ('a', EMAIL, &model), renders).await;
    fill(&address, ('q', QUIET, &quiet_model), quiet_renders).await;
    println!("\n{database}: {} renders written in {:.0} s", renders + quiet_renders, begin.elapsed().as_secs_f64());
    println!("{database}: {renders} renders, {CONNECTIONS} connections");
    reads(&server, &served.client, renders).await;
    println!("{database}: a workspace of {quiet_renders} renders, 1 connection");
    quiet(&server, &quiet_client).await;
    let seconds = setting("LOAD_SECONDS", 60);
    println!("{database}: integrations that upload, order and poll, {CONNECTIONS} connections, {seconds} s");
    let pause = Duration::from_millis(setting("LOAD_PAUSE_MS", 0) as u64);
    integrate(&served, &server, Duration::from_secs(seconds as u64), pause).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a benchmark: bench/load.sh"]
async fn load_sqlite() {
    load(Installation::with_sqlite(), "SQLite").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a benchmark: bench/load.sh"]
async fn load_postgres() {
    load(Installation::with_postgres_and_s3().await, "PostgreSQL").await;
}
