//! A service with one account, and workers that use it.

use std::num::NonZeroUsize;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use plinth_db::{Db, DbOptions, ledger};
use plinth_fence::FenceOptions;
use plinth_service::access::{Caller, NewAccount, NewKey};
use plinth_service::admin::{Actor, Grant};
use plinth_service::models::{Incoming, Upload};
use plinth_service::{Checker, Clock, Service, ServiceOptions};
use plinth_spec::OutputFile;
use plinth_spec::funding::Pool;
use plinth_spec::idempotency::{RESUBMIT_MS, ReplayKey};
use plinth_spec::wire::{CreateRender, Render, Scope};
use plinth_store::{LinkSigner, Store, StoreOptions};
use plinth_testkit::{S3Server, TestDatabase, ffmpeg, ffmpeg_in_scripts, glb_with_triangle};
use plinth_worker::{Phase, WorkerError, WorkerOptions, child_environment, run};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

const EMAIL: &str = "ada@example.org";
/// The initial time of the test clock.
const START: i64 = 1_800_000_000_000;
/// Maximum time that a test waits. Everything in these tests is much faster, even on a busy machine.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(4);

pub(crate) struct Deployment {
    pub(crate) service: Service,
    pub(crate) caller: Caller,
    pub(crate) folder: TempDir,
    pub(crate) database: TestDatabase,
    time: Arc<AtomicI64>,
    _s3: Option<S3Server>,
}

impl Deployment {
    /// Creates a service with SQLite and local files.
    pub(crate) async fn new() -> Self {
        Self::on(TestDatabase::sqlite(), None, true, None).await
    }

    /// Creates a service with SQLite and local files, whose uploads this checker checks.
    pub(crate) async fn with_checker(checker: Checker) -> Self {
        Self::on(TestDatabase::sqlite(), None, true, Some(checker)).await
    }

    /// Creates a service with SQLite, local files and real time, for workers in other processes.
    pub(crate) async fn in_real_time() -> Self {
        Self::on(TestDatabase::sqlite(), None, false, None).await
    }

    /// Creates a service with PostgreSQL and local files in real time.
    pub(crate) async fn with_postgres_in_real_time() -> Self {
        Self::on(TestDatabase::postgres(), None, false, None).await
    }

    /// Creates a service with PostgreSQL and S3.
    pub(crate) async fn with_postgres_and_s3() -> Self {
        Self::on(TestDatabase::postgres(), Some(S3Server::start().await), true, None).await
    }

    /// Receives the bytes of an uploaded file.
    pub(crate) async fn file(&self, bytes: &[u8]) -> Incoming {
        let size = bytes.len() as u64;
        let room = self.service.room(&self.caller, size, Some(size)).await.unwrap();
        let mut file = self.service.incoming_file(&room, size).unwrap();
        file.write(bytes).await.unwrap();
        file
    }

    async fn on(database: TestDatabase, s3: Option<S3Server>, has_test_clock: bool, checker: Option<Checker>) -> Self {
        let folder = TempDir::with_prefix("plinth-worker-").unwrap();
        let time = Arc::new(AtomicI64::new(START));
        let options = ServiceOptions {
            clock: if has_test_clock { Clock::Set(Arc::clone(&time)) } else { Clock::Database },
            incoming: folder.path().to_owned(),
            checker,
            // Workers renew the lease every second of real time. It never expires by the test clock, which does not
            // advance by itself.
            lease_secs: 3,
            ..ServiceOptions::default()
        };
        let db = Db::open(database.address(), DbOptions::default()).await.unwrap();
        let (address, settings) = match &s3 {
            None => (format!("file://{}", folder.path().join("objects").display()), Vec::new()),
            Some(server) => (format!("s3://{}/here", server.bucket()), s3_settings(server)),
        };
        let signer = LinkSigner::new("http://127.0.0.1:1".parse().unwrap());
        let store = Store::open(StoreOptions { address, s3: settings, s3_public_endpoint: None, signer }).unwrap();
        let service = Service::new(db, store, options);
        let caller = caller(&service, EMAIL).await;
        Self { service, caller, folder, database, time, _s3: s3 }
    }

    /// Advances the test clock, and returns its new time.
    pub(crate) fn advance_ms(&self, ms: i64) -> i64 {
        self.time.fetch_add(ms, Ordering::SeqCst) + ms
    }

    /// Uploads a model with one triangle. Its render is billed if there are settings, and otherwise is a free preview.
    pub(crate) async fn upload(&self, name: &str, settings: Option<Value>) -> (String, String) {
        self.upload_file(name, &glb_with_triangle(name), settings).await
    }

    pub(crate) async fn upload_file(&self, name: &str, glb: &[u8], settings: Option<Value>) -> (String, String) {
        let mut file = self.service.incoming_model(&self.caller, None).await.unwrap();
        file.write(glb).await.unwrap();
        let settings = settings.map(|settings| settings.to_string());
        let upload = Upload { file, name: format!("{name}.glb"), settings };
        self.advance_ms(1);
        let uploaded = self.service.upload_model(&self.caller, upload).await.unwrap().result;
        (uploaded.model_id.to_string(), uploaded.render_id.to_string())
    }

    /// Uploads a model and creates a render of it.
    pub(crate) async fn upload_and_render(&self, name: &str, settings: Value) -> String {
        self.upload(name, Some(settings)).await.1
    }

    /// Creates another render of a model. Advances the clock first, so that the request is not a replay.
    pub(crate) async fn render_again(&self, model: &str, settings: Value, key: &str) -> String {
        self.advance_ms(RESUBMIT_MS + 1);
        let request = CreateRender { model_id: Some(model.to_owned()), render_settings: Some(settings) };
        let created = self.service.create_render(&self.caller, request, ReplayKey::from_header(Some(key))).await;
        created.unwrap().id.to_string()
    }

    pub(crate) async fn grant(&self, pool: Pool, credits: i64) {
        let grant = Grant { pool, ..Grant::paid(credits) };
        self.service.grant_credits(&Actor::Command, &self.caller.account_id, grant).await.unwrap();
    }

    pub(crate) async fn render(&self, id: &str) -> Render {
        self.service.render(&self.caller, id).await.unwrap()
    }

    /// Polls a render until a condition holds.
    pub(crate) async fn wait_until(&self, id: &str, what: impl Fn(&Render) -> bool) -> Render {
        let looking = async {
            loop {
                let render = self.render(id).await;
                if what(&render) {
                    return render;
                }
                sleep(Duration::from_millis(30)).await;
            }
        };
        let found = timeout(TIMEOUT, looking).await;
        assert!(found.is_ok(), "the condition does not become true: {:?}", self.render(id).await);
        found.unwrap()
    }

    pub(crate) async fn wait_until_ended(&self, id: &str) -> Render {
        self.wait_until(id, |render| render.status.is_final()).await
    }

    /// Returns the balance of the account, which had 100 credits at the start. Asserts that it is the sum of the ledger
    /// entries.
    pub(crate) async fn credits(&self) -> u64 {
        let mut conn = self.service.db().read().await.unwrap();
        assert_eq!(ledger::find_unbalanced(&mut conn).await.unwrap(), []);
        self.service.account(&self.caller).await.unwrap().paid
    }

    /// Creates another account and returns its caller.
    pub(crate) async fn other_caller(&self) -> Caller {
        self.caller_of("eve@example.org").await
    }

    /// Creates an account and returns its caller.
    pub(crate) async fn caller_of(&self, email: &str) -> Caller {
        caller(&self.service, email).await
    }

    /// Uploads a model with one triangle as `caller`, and returns its identifier.
    pub(crate) async fn upload_of(&self, caller: &Caller, name: &str) -> String {
        let mut file = self.service.incoming_model(caller, None).await.unwrap();
        file.write(&glb_with_triangle(name)).await.unwrap();
        let upload = Upload { file, name: format!("{name}.glb"), settings: None };
        self.service.upload_model(caller, upload).await.unwrap().result.model_id.to_string()
    }

    /// Returns the content of an output file of a render.
    pub(crate) async fn content(&self, id: &str, output: OutputFile) -> Vec<u8> {
        let file = self.service.render_file(&self.caller, id, output).await.unwrap();
        let pieces = self.service.open_delivery(&file, None).await.unwrap().map(|piece| piece.unwrap());
        pieces.collect::<Vec<_>>().await.concat()
    }

    /// Returns the full-size poster of a render.
    pub(crate) async fn poster(&self, id: &str) -> image::RgbImage {
        image::load_from_memory(&self.content(id, OutputFile::FullPoster).await).unwrap().into_rgb8()
    }

    /// Returns the options of the workers in these tests.
    pub(crate) fn options(&self) -> WorkerOptions {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_plinth"));
        WorkerOptions {
            slots: NonZeroUsize::new(1),
            environment: child_environment(std::env::vars_os()),
            adapter: Some("cpu".to_owned()),
            ffmpeg: ffmpeg().to_owned(),
            // Jobs may read the folder of ffmpeg, which can be anywhere.
            fence: FenceOptions {
                readable: ffmpeg().parent().map(Into::into).into_iter().collect(),
                ..FenceOptions::default()
            },
            timeout: TIMEOUT,
            preview_timeout: TIMEOUT,
            memory_bytes: 4 << 30,
            disk_bytes: 4 << 30,
            cache_bytes: 1 << 30,
            preview_idle: TIMEOUT,
            outage: TIMEOUT,
            room_bytes: 0,
            poll: Duration::from_millis(50),
            grace: Duration::ZERO,
            ..WorkerOptions::new(program, self.folder.path().join("scratch"))
        }
    }

    /// Returns the options of a worker whose jobs run a script. In the script, `"$@"` runs the real job.
    pub(crate) fn options_with(&self, lines: &str) -> WorkerOptions {
        let program = self.folder.path().join("program");
        let plinth = env!("CARGO_BIN_EXE_plinth");
        let text = format!("#!/bin/bash\nset -- {plinth} \"$@\"\n{lines}\n");
        std::fs::write(&program, text).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        WorkerOptions { program, ..self.options() }
    }

    /// Writes a script that is used in place of ffmpeg. In the script, `"$FFMPEG"` is the real ffmpeg.
    pub(crate) fn ffmpeg_with(&self, lines: &str) -> PathBuf {
        let path = self.folder.path().join("ffmpeg");
        std::fs::write(&path, format!("#!/bin/bash\n{}{lines}\n", ffmpeg_in_scripts())).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Returns the options of a worker that logs its render tasks for [`Self::render_tasks`].
    pub(crate) fn options_that_log_tasks(&self) -> WorkerOptions {
        let log = self.folder.path().join("tasks");
        // Further tasks of a reused process are lines of its standard input.
        let lines = r#"cat "$3/job.json" >> LOG; echo >> LOG
            if grep -q '"stays":true' "$3/job.json"; then tee -a LOG | "$@"; else exec "$@"; fi"#;
        self.options_with(&lines.replace("LOG", log.to_str().unwrap()))
    }

    /// Returns the render tasks that a worker has given to its processes.
    pub(crate) fn render_tasks(&self) -> Vec<Value> {
        let log = std::fs::read_to_string(self.folder.path().join("tasks")).unwrap();
        let tasks = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let tasks = tasks.map(|line| line.pointer("/task/render").cloned().unwrap_or(line));
        tasks.filter(|task| task.get("watermark").is_some()).collect()
    }

    pub(crate) fn start_worker(&self, options: WorkerOptions) -> Worker {
        Worker::start(self.service.clone(), options)
    }

    /// Runs a worker until a render has ended.
    pub(crate) async fn render_with_worker(&self, id: &str, options: WorkerOptions) -> Render {
        let worker = self.start_worker(options);
        let render = self.wait_until_ended(id).await;
        worker.stop().await;
        render
    }

    /// Returns the folders of running jobs.
    pub(crate) fn jobs(&self) -> Vec<PathBuf> {
        let entries = |folder: &Path| -> Vec<PathBuf> {
            std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
        };
        let runs = entries(&self.folder.path().join("scratch"));
        let inside = runs.iter().filter(|path| name(path).starts_with("run-")).flat_map(|path| entries(path));
        inside.filter(|path| name(path).starts_with("job-")).collect()
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

pub(crate) struct Worker {
    stop: CancellationToken,
    task: JoinHandle<Result<(), WorkerError>>,
}

impl Worker {
    pub(crate) fn start(service: Service, options: WorkerOptions) -> Self {
        let stop = CancellationToken::new();
        let (phase, _unwatched) = watch::channel(Phase::Starting);
        Self { task: tokio::spawn(run(service, options, stop.clone(), phase)), stop }
    }

    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap().unwrap();
    }

    /// Returns whether the worker has ended by itself.
    pub(crate) fn has_ended(&self) -> bool {
        self.task.is_finished()
    }

    /// Waits for the worker to end by itself.
    pub(crate) async fn end(self) -> Result<(), WorkerError> {
        self.task.await.unwrap()
    }
}

/// Returns the settings of the smallest render: one frame of 540p.
pub(crate) fn tiny() -> Value {
    json!({"quality": "share", "length": 0.04})
}

/// Returns the settings of a render that takes longer than any test.
pub(crate) fn endless() -> Value {
    json!({"quality": "share", "length": 90})
}

fn s3_settings(server: &S3Server) -> Vec<(String, String)> {
    let (key, secret) = server.credentials();
    let settings = [
        ("aws_endpoint", server.endpoint()),
        ("aws_access_key_id", key),
        ("aws_secret_access_key", secret),
        ("aws_region", "us-east-1"),
    ];
    settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
}

async fn caller(service: &Service, email: &str) -> Caller {
    let account = NewAccount { email: email.to_owned(), is_admin: false, password_hash: None };
    let account_id = service.create_account(account).await.unwrap();
    let key = NewKey {
        account_id,
        workspace_id: None,
        name: "test".to_owned(),
        scopes: vec![Scope::Read, Scope::Render],
        expires_in_secs: None,
        has_legacy_prefix: false,
    };
    let token = service.create_key(key).await.unwrap().token;
    service.authenticate(Some(&token)).await.unwrap()
}
