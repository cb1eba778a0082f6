//! Tests of previews that a worker in another process renders for a server without a worker.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use plinth_db::{Db, DbOptions, previews};
use tokio::time::{sleep, timeout};

use super::browser::Browser;
use super::on_both;
use super::server::{EMAIL, Served};
use crate::processes_in;

/// Maximum time to wait for a condition. It is much longer than needed, even on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(2);
const BOB: &str = "bob@example.org";

/// A `plinth worker` of the installation. It is killed on drop.
pub(super) struct Worker(Child);

impl Worker {
    pub(super) fn start(served: &Served, args: &[&str]) -> Self {
        let mut program = served.installation.program();
        let log =
            std::fs::File::options().create(true).append(true).open(served.installation.folder.path().join("log"));
        program.arg("worker").args(args).env("PLINTH_ADAPTER", "cpu").stdout(Stdio::null()).stderr(log.unwrap());
        Self(program.spawn().unwrap())
    }

    /// Stops the worker and waits for its end.
    fn stop(mut self) {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success());
        assert_eq!(self.0.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A signed-in browser that requests previews of one model.
pub(super) struct Composer {
    browser: Browser,
    path: String,
    token: String,
}

impl Composer {
    pub(super) async fn open(served: &Served, email: &str, model: &str) -> Self {
        let browser = served.browser(email).await;
        let token = browser.get("/keys").await.form_token();
        Self { browser, path: format!("/models/{model}/preview"), token }
    }

    /// Asks for a preview. Returns the status and the body.
    pub(super) async fn ask(&self, fields: &[(&str, &str)]) -> (u16, Vec<u8>) {
        let fields = [fields, &[("form_token", self.token.as_str())]].concat();
        let request = self.browser.form(&self.path, &fields).header("sec-fetch-site", "same-origin");
        let answer = request.header("accept", "application/json").send().await.unwrap();
        (answer.status().as_u16(), answer.bytes().await.unwrap().to_vec())
    }

    /// Asks for a preview until it is drawn, because a worker may be starting.
    pub(super) async fn draw(&self, fields: &[(&str, &str)]) -> image::RgbaImage {
        let drawing = async {
            loop {
                let (status, body) = self.ask(fields).await;
                let text = || String::from_utf8_lossy(&body).into_owned();
                match status {
                    200 => return image::load_from_memory(&body).unwrap().to_rgba8(),
                    404 => assert!(text().contains("No worker draws previews at the moment"), "{}", text()),
                    _other => panic!("{status}: {}", text()),
                }
            }
        };
        timeout(TIMEOUT, drawing).await.unwrap()
    }
}

/// Waits until a condition on the database holds.
async fn until(db: &Db, condition: impl AsyncFn(&Db) -> bool) {
    let waiting = async {
        while !condition(db).await {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(TIMEOUT, waiting).await.unwrap();
}

async fn database(served: &Served) -> Db {
    Db::open(&served.installation.database(), DbOptions::default()).await.unwrap()
}

/// Returns whether a worker draws a preview or has a model loaded.
async fn is_leased(db: &Db) -> bool {
    let mut conn = db.read().await.unwrap();
    let now = conn.now_ms().await.unwrap();
    previews::is_any_leased(&mut conn, now).await.unwrap()
}

async fn a_worker_in_another_process_draws_and_keeps_the_model(served: Served) {
    let model = served.client.upload("chair", None).await.text("modelId");
    let composer = Composer::open(&served, EMAIL, &model).await;
    let worker = Worker::start(&served, &["--takes", "preview", "--pool", "previews"]);
    assert_eq!(composer.draw(&[("longest", "320")]).await.dimensions(), (320, 180));
    let loaded = processes_in(served.installation.folder.path());
    let begin = Instant::now();
    for turn in ["10", "20", "30", "40", "50"] {
        let (status, body) = composer.ask(&[("longest", "320"), ("rotateY", turn), ("draft", "on")]).await;
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
    }
    #[expect(clippy::print_stdout, reason = "it measures")]
    let () = println!("a preview of another process took {:?}", begin.elapsed() / 5);
    let still = processes_in(served.installation.folder.path());
    let jobs = |found: &std::collections::BTreeMap<u32, String>| {
        found.iter().filter(|(_, line)| line.contains("render-child")).map(|(id, _)| *id).collect::<Vec<_>>()
    };
    assert_eq!(jobs(&still), jobs(&loaded), "the same process, which has the model loaded");
    // The response says why a preview cannot be rendered. Models of other workspaces are not found.
    let (status, body) = composer.ask(&[("envId", "k3Jd92LmQx7a")]).await;
    assert!(status == 400 && String::from_utf8_lossy(&body).contains("deleted or belongs"));
    served.installation.account(BOB);
    let stranger = Composer::open(&served, BOB, &model).await;
    assert_eq!(stranger.ask(&[]).await.0, 404);
    // The worker takes no renders.
    let db = database(&served).await;
    let waits = |db: &Db| {
        let db = db.clone();
        async move { plinth_db::renders::count_unfinished(&mut db.read().await.unwrap()).await.unwrap() }
    };
    assert!(waits(&db).await.iter().all(|(status, _)| *status == plinth_spec::state::RenderStatus::Pending));
    worker.stop();
    let rows = db.write(|tx| Box::pin(previews::delete_before(tx, i64::MAX))).await.unwrap();
    assert_eq!(rows, 0, "a worker that ends leaves no rows");
}

async fn the_preview_of_a_killed_worker_is_drawn_by_another(served: Served) {
    let model = served.client.upload("chair", None).await.text("modelId");
    let composer = Composer::open(&served, EMAIL, &model).await;
    let first = Worker::start(&served, &["--takes", "preview"]);
    let db = database(&served).await;
    let asking = async { composer.ask(&[("longest", "320"), ("zoom", "1.5")]).await };
    let killing = async {
        // A lease shows that the worker has claimed this preview, because it had no other work. It is still loading the
        // model when it is killed.
        until(&db, is_leased).await;
        drop(first);
        Worker::start(&served, &["--takes", "preview"])
    };
    let ((status, body), _second) = timeout(TIMEOUT, async { tokio::join!(asking, killing) }).await.unwrap();
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
    assert_eq!(image::load_from_memory(&body).unwrap().to_rgba8().dimensions(), (320, 180));
}

async fn a_worker_of_renders_draws_no_previews(served: Served) {
    let model = served.client.upload("chair", None).await.text("modelId");
    let composer = Composer::open(&served, EMAIL, &model).await;
    let _worker = Worker::start(&served, &["--takes", "pro"]);
    let (status, body) = composer.ask(&[]).await;
    assert!(status == 404 && String::from_utf8_lossy(&body).contains("No worker draws previews at the moment"));
}

on_both! {
    a_worker_in_another_process_draws_and_keeps_the_model the_preview_of_a_killed_worker_is_drawn_by_another
    a_worker_of_renders_draws_no_previews
}
