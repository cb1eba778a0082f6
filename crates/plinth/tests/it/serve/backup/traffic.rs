//! Tests of backups that are made while a worker renders, and while clients upload models and create, cancel and delete
//! renders.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use plinth_db::{Db, DbOptions, ledger, render_counts, workspaces};
use plinth_testkit::{Client, Form, assert_h264, glb_with_triangle, png, probe};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::block_in_place;
use tokio::time::sleep;

use super::folder;
use crate::serve::assets::environment;
use crate::serve::kept::{COUNTERS, Kept};
use crate::serve::server::{EMAIL, Installation, Server};

const BUSY: &str = "bob@example.org";
const BACKUPS: usize = 3;
const TIMEOUT: Duration = Duration::from_mins(10);
const PAUSE: Duration = Duration::from_millis(50);
/// Number of renders that are neither cancelled nor deleted. The restored installation must finish them.
const ORDERS: usize = 12;
/// Tables whose rows change without a request of the test.
const CHANGING: [&str; 5] = ["rate_windows ", "holds ", "queue ", "shares ", "tokens "];

fn installation() -> Installation {
    let installation = Installation::with_sqlite().set("PLINTH_ADAPTER", "cpu").set("PLINTH_LEASE_SECONDS", "2");
    installation.set("PLINTH_FREE_UPLOADS_PER_DAY", "1000000").set("PLINTH_RATE_LIMIT_PER_MINUTE", "1000000")
}

fn serve(installation: &Installation) -> Server {
    block_in_place(|| installation.serve(&["--worker-slots", "1"]))
}

/// Returns the settings of a render with one frame. Each number gives a different picture.
fn frame(number: usize) -> Value {
    json!({"quality": "share", "length": 0.04, "rotateY": number % 180})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backups_made_under_traffic_restore_everything_from_before() {
    let installation = installation();
    let server = serve(&installation);
    let ada = Client::new(&server.base, &installation.account(EMAIL));
    let bob = Client::new(&server.base, &installation.account(BUSY));
    installation.admin(&["credits", "grant", BUSY, "100000"]);
    let render = furnish(&ada).await;
    let model = bob.upload("bob", None).await.text("modelId");
    until_all_have_ended(&ada).await;
    until_all_have_ended(&bob).await;
    let video = download(&ada, &render).await;
    let before = block_in_place(|| Kept::at(&installation));
    let traffic = Traffic::begin(&bob, &model);
    let mut backups = Vec::new();
    for number in 0..BACKUPS {
        traffic.until_more_is_done().await;
        let backup = folder(&installation, &format!("backup {number}"));
        let made = block_in_place(|| installation.admin(&["backup", backup.to_str().unwrap()]));
        assert_eq!(made["gone"], 0, "{made}");
        backups.push(backup);
    }
    traffic.until_more_is_done().await;
    // The server is killed, so that it runs no code for its shutdown.
    server.kill();
    traffic.end().await;
    for backup in &backups {
        let restored = block_in_place(|| restored(backup));
        let after = block_in_place(|| Kept::at(&restored));
        compare(&before, &after);
        balanced(&restored).await;
        assert_eq!(block_in_place(|| restored.admin(&["storage", "check"]))["found"], json!([]));
        if Some(backup) == backups.last() {
            assert!(after.count("renders") > before.count("renders"), "clients created renders before the last backup");
            goes_on(&restored, [&ada, &bob], &render, &video).await;
        }
    }
}

/// Creates one object of each kind that the store has, and a render. Returns the ID of the render.
async fn furnish(client: &Client) -> String {
    let model = client.upload("ada", None).await.text("modelId");
    let order = json!({"modelId": model, "renderSettings": frame(1)});
    let render = client.post("/renders", order.clone()).await.text("id");
    let other = client.post("/renders", json!({"modelId": model, "renderSettings": frame(2)})).await.text("id");
    client.post(&format!("/renders/{other}/cancel"), json!({})).await;
    client.form("/overlays", Form::default().file("file", "a.png", &png(1))).await.data();
    client.form("/assets/textures", Form::default().file("file", "b.png", &png(2))).await.data();
    client.form("/assets/envs", environment()).await.data();
    let staged = client.post("/models/create-upload-url", json!({})).await;
    let put = client.http.put(staged.text("url")).body(glb_with_triangle("staged")).send().await.unwrap();
    assert!(put.status().is_success(), "{}", put.status());
    render
}

/// A busy client that sends requests until it is stopped.
struct Traffic {
    is_over: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
}

impl Traffic {
    fn begin(client: &Client, model: &str) -> Self {
        let (is_over, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (over, count, client, model) = (Arc::clone(&is_over), Arc::clone(&done), client.clone(), model.to_owned());
        let task = tokio::spawn(async move {
            let mut number = 0;
            // Requests fail after the server was killed.
            while !over.load(Ordering::Relaxed) && one(&client, &model, number).await.is_ok() {
                number += 1;
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        Self { is_over, done, task }
    }

    async fn until_more_is_done(&self) {
        let begin = (Instant::now(), self.done.load(Ordering::Relaxed));
        while self.done.load(Ordering::Relaxed) < begin.1 + 3 {
            assert!(begin.0.elapsed() < TIMEOUT && !self.task.is_finished(), "the traffic has ended");
            sleep(PAUSE).await;
        }
    }

    async fn end(self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.task.await.unwrap();
    }
}

/// Uploads a file and creates a render. The file is a texture or, in some of the first [`ORDERS`] requests, a model. If
/// `number` is at least [`ORDERS`], cancels and deletes the render.
async fn one(client: &Client, model: &str, number: usize) -> reqwest::Result<()> {
    // A worker renders a free preview of each new model, so only a few requests upload a model.
    let (path, form) = if number < ORDERS && number.is_multiple_of(4) {
        ("/models", Form::default().file("file", "a.glb", &glb_with_triangle(&format!("traffic {number}"))))
    } else {
        ("/assets/textures", Form::default().file("file", "a.png", &png(u8::try_from(number % 256).unwrap())))
    };
    let upload = client.request(Method::POST, path).header("content-type", Form::content_type());
    upload.body(form.body()).send().await?;
    let order = json!({"modelId": model, "renderSettings": frame(3 + number)});
    let made = post(client, "/renders", &order).await?;
    if number >= ORDERS {
        let id = made["data"]["id"].as_str().unwrap_or_else(|| panic!("{made}"));
        post(client, &format!("/renders/{id}/cancel"), &json!({})).await?;
        client.request(Method::DELETE, &format!("/renders/{id}")).send().await?;
    }
    Ok(())
}

async fn post(client: &Client, path: &str, body: &Value) -> reqwest::Result<Value> {
    let request = client.request(Method::POST, path).header("content-type", "application/json");
    let answer = request.body(body.to_string()).send().await?.bytes().await?;
    Ok(serde_json::from_slice(&answer).unwrap())
}

/// Verifies a backup, and restores it to a new installation.
fn restored(backup: &Path) -> Installation {
    let installation = installation();
    let verified = installation.admin(&["verify", backup.to_str().unwrap()]);
    assert_eq!(installation.admin(&["restore", backup.to_str().unwrap()]), verified);
    installation
}

/// Asserts that all objects and rows from before the backup exist afterwards, except rows that the busy client may have
/// changed.
fn compare(before: &Kept, after: &Kept) {
    assert!(before.objects.len() > 20, "{before:#?}");
    for kind in ["models/", "staged/", "overlays/", "textures/", "envs/", "renders/"] {
        assert!(before.objects.keys().any(|path| path.starts_with(kind)), "{kind} in {before:#?}");
    }
    for (path, sha256) in &before.objects {
        assert_eq!(after.objects.get(path), Some(sha256), "{path}");
    }
    let busy = before.rows.iter().find(|row| row.starts_with("accounts ") && row.contains(BUSY)).unwrap();
    let busy = busy.split('"').nth(1).unwrap();
    let is_quiet =
        |row: &&String| !row.contains(busy) && !CHANGING.iter().chain(&COUNTERS).any(|table| row.starts_with(table));
    let lost: Vec<&String> = before.rows.difference(&after.rows).filter(is_quiet).collect();
    assert!(lost.is_empty(), "{lost:#?} are lost or changed");
    assert!(before.rows.iter().filter(is_quiet).count() > 20, "{before:#?}");
}

/// Asserts that every balance is the sum of its ledger entries, and that every charge belongs to a render.
async fn balanced(installation: &Installation) {
    let db = Db::open(&installation.database(), DbOptions::default()).await.unwrap();
    let mut conn = db.read().await.unwrap();
    assert_eq!(ledger::find_unbalanced(&mut conn).await.unwrap(), []);
    assert_eq!(workspaces::find_miscounted(&mut conn).await.unwrap(), []);
    for workspace in render_counts::list_workspaces(&mut conn, None, 1000).await.unwrap() {
        assert!(!render_counts::is_miscounted(&mut conn, &workspace).await.unwrap(), "{workspace}");
    }
    drop(conn);
    db.close().await;
}

/// Asserts that the restored installation serves the old files and finishes the queued renders.
async fn goes_on(installation: &Installation, clients: [&Client; 2], render: &str, video: &[u8]) {
    let server = serve(installation);
    let [ada, bob] = clients.map(|client| Client { base: server.base.clone(), ..client.clone() });
    assert_eq!(download(&ada, render).await, video);
    let file = folder(installation, "video.mp4");
    std::fs::write(&file, video).unwrap();
    assert_h264(&probe(&file).0);
    for ended in until_all_have_ended(&bob).await {
        assert!(["done", "failed"].contains(&ended["status"].as_str().unwrap()), "{ended}\n{}", installation.log());
    }
    let order = json!({"modelId": ada.upload("ada", None).await.text("modelId"), "renderSettings": frame(90)});
    ada.post("/renders", order).await.data();
    until_all_have_ended(&ada).await;
}

async fn download(client: &Client, render: &str) -> Vec<u8> {
    let response = client.request(Method::GET, &format!("/renders/{render}/video")).send().await.unwrap();
    assert_eq!(response.status(), 200);
    response.bytes().await.unwrap().to_vec()
}

/// Waits until all renders of a client and their packagings have ended. Returns the renders.
async fn until_all_have_ended(client: &Client) -> Vec<Value> {
    let begin = Instant::now();
    loop {
        let list = client.get("/renders?limit=100").await;
        let renders = list.data().as_array().unwrap().clone();
        assert!(renders.len() < 100, "the renders must fit on one page");
        let is = |render: &Value, name: &str, those: &[&str]| those.contains(&render[name].as_str().unwrap());
        let has_ended = |render: &Value| {
            is(render, "status", &["error", "failed"])
                || is(render, "status", &["done"]) && is(render, "hlsStatus", &["ready", "failed", "skipped"])
        };
        if renders.iter().all(has_ended) {
            return renders;
        }
        assert!(begin.elapsed() < TIMEOUT, "{renders:#?} do not end");
        sleep(PAUSE).await;
    }
}
