//! A benchmark of requests per second with 100 000 renders in the database. bench/load.sh runs it.
#![expect(clippy::print_stdout, reason = "it prints its results")]

use std::sync::Arc;
use std::time::Instant;

use plinth_db::renders::{self, Render};
use plinth_db::{Db, DbError, DbOptions};
use plinth_spec::id::{ModelId, RenderId};
use plinth_spec::state::{HlsStatus, RenderStatus};
use plinth_testkit::Client;

use super::server::{EMAIL, Served};

const RENDERS: usize = 100_000;
/// Number of rows per transaction. Each row also updates the counter of its workspace.
const AT_ONCE: usize = 200;
const CONNECTIONS: usize = 64;
/// Number of requests for single renders, and for each kind of page of a list.
const REQUESTS: [usize; 2] = [6_400, 1_280];
/// Number of rows before a deep page.
const DEEP: usize = 90_000;

fn id(number: usize) -> String {
    format!("load{number:08}")
}

/// Inserts the renders directly into the database.
async fn fill(served: &Served, model: &ModelId, address: &str) {
    let db = Db::open(address, DbOptions::default()).await.unwrap();
    let mut conn = db.read().await.unwrap();
    let account = plinth_db::accounts::find_by_email(&mut conn, EMAIL).await.unwrap().unwrap().id;
    let workspace = plinth_db::workspaces::find_personal(&mut conn, &account).await.unwrap().unwrap().id;
    let newest = renders::list_summaries(&mut conn, model, &workspace, 1, 1 << 20).await.unwrap().remove(0);
    let like = renders::find_anywhere(&mut conn, &newest.id).await.unwrap().unwrap();
    drop(conn);
    for begin in (0..RENDERS).step_by(AT_ONCE) {
        let (like, workspace) = (like.clone(), workspace.clone());
        let rows = (begin..begin + AT_ONCE).map(move |number| Render {
            id: RenderId::parse(&id(number)).unwrap(),
            workspace_id: workspace.clone(),
            is_system_preview: false,
            status: RenderStatus::Done,
            hls_status: HlsStatus::Skipped,
            created_at: like.created_at - i64::try_from(number).unwrap(),
            ..like.clone()
        });
        let written = db.write(move |tx| {
            Box::pin(async move {
                for row in rows {
                    renders::insert(tx, &row).await?;
                }
                Ok::<_, DbError>(())
            })
        });
        written.await.unwrap();
    }
    db.close().await;
    assert!(served.client.get(&format!("/renders/{}", id(7))).await.status == 200);
}

/// The speed of one kind of request.
struct Speed {
    what: &'static str,
    per_second: f64,
    p50_ms: f64,
    p99_ms: f64,
}

/// Sends requests to the given paths from many connections.
async fn measure(
    client: &Client,
    what: &'static str,
    requests: usize,
    address: impl Fn(usize) -> String + Send + Sync + 'static,
) -> Speed {
    let address = Arc::new(address);
    let begin = Instant::now();
    let tasks: Vec<_> = (0..CONNECTIONS)
        .map(|connection| {
            let (client, address) = (Client::new(&client.base, &client.token), Arc::clone(&address));
            tokio::spawn(async move {
                let mut times = Vec::new();
                for number in 0..requests / CONNECTIONS {
                    let asked = Instant::now();
                    let answer = client.get(&address(connection * 7919 + number * 104_729)).await;
                    assert_eq!(answer.status, 200, "{answer:?}");
                    times.push(asked.elapsed());
                }
                times
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.unwrap());
    }
    let per_second = times.len() as f64 / begin.elapsed().as_secs_f64();
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1000.0;
    Speed { what, per_second, p50_ms: at(50), p99_ms: at(99) }
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

async fn load(served: Served, database: &str, address: &str) {
    let client = &served.client;
    let made = client.upload("load", None).await;
    let begin = Instant::now();
    fill(&served, &ModelId::parse(&made.text("modelId")).unwrap(), address).await;
    println!("\n{database}: {RENDERS} renders written in {:.0} s", begin.elapsed().as_secs_f64());
    let [single, pages] = REQUESTS;
    let deep = cursor_at(client, DEEP).await;
    let page = |query: String| move |_request| format!("/renders?{query}");
    let speeds = [
        measure(client, "list, offset 0", pages, page("offset=0".to_owned())).await,
        measure(client, "list, offset 90 000", pages, page(format!("offset={DEEP}"))).await,
        measure(client, "list, cursor, first page", pages, page("cursor=".to_owned())).await,
        measure(client, "list, cursor, 90 000 deep", pages, page(format!("cursor={deep}"))).await,
        measure(client, "list, status=done, offset 0", pages, page("status=done".to_owned())).await,
        // Measured last, when PostgreSQL has vacuumed the many versions of the workspace's row.
        measure(client, "GET /renders/:id", single, |n| format!("/renders/{}", id(n % RENDERS))).await,
    ];
    println!("{:28} | requests/s | p50 ms | p99 ms", format!("{database}, {CONNECTIONS} connections"));
    for Speed { what, per_second, p50_ms, p99_ms } in speeds {
        println!("{what:28} | {per_second:10.0} | {p50_ms:6.1} | {p99_ms:6.1}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a benchmark: bench/load.sh"]
async fn load_sqlite() {
    let served = Served::with_sqlite();
    let address = format!("sqlite://{}", served.installation.folder.path().join("data/plinth.db").display());
    load(served, "SQLite", &address).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a benchmark: bench/load.sh"]
async fn load_postgres() {
    let served = Served::with_postgres_and_s3().await;
    let address = served.installation.postgres.as_ref().unwrap().address();
    load(served, "PostgreSQL", &address).await;
}
