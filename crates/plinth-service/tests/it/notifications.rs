//! Tests of the notifications of queued work, which wake idle workers in other processes.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use futures_util::FutureExt as _;
use plinth_db::previews::{self, Request, RequestKey};
use plinth_db::{Heard, QueueListener, Queued, is_preview_worker_listening};
use plinth_service::Service;
use plinth_spec::id::ModelId;
use plinth_spec::idempotency::ReplayKey;
use plinth_spec::wire::{BatchItem, CreateBatch};
use plinth_spec::{Takes, WorkClass};
use plinth_testkit::{TestDatabase, postgres};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::test_service::{START, TestService, some_files};

const PATIENCE: Duration = Duration::from_mins(1);

async fn listen(test_service: &TestService, takes: &Takes) -> QueueListener {
    test_service.service.db().listen(takes).await.unwrap().unwrap()
}

/// Collects notifications until one of the class `last` arrives.
async fn heard(listener: &mut QueueListener, last: WorkClass) -> Vec<(u32, WorkClass)> {
    let mut heard = Vec::new();
    loop {
        let next = timeout(PATIENCE, listener.next()).await.unwrap().unwrap();
        let Heard::Queued(Queued { jobs, class }) = next else { panic!("{next:?}") };
        heard.push((jobs, class.unwrap()));
        if class == Some(last) {
            return heard;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_that_enters_the_queue_is_announced_once() {
    let database = TestDatabase::postgres();
    let test_service = TestService::new(database.address()).await;
    let service = &test_service.service;
    let mut listener = listen(&test_service, &Takes::default()).await;
    let model = test_service.model("chair").await;
    service.claim_renders("w", 1).await.unwrap();
    test_service.render(&model, json!({"quality": "standard", "length": 1}), None).await.unwrap();
    let claim = test_service.claim().await;
    service.release_render(&claim).await.unwrap().unwrap();
    test_service.claim().await;
    test_service.wait_ms(61_000);
    assert_eq!(service.reclaim_expired_leases().await.unwrap().renders, 2, "the preview and the render");
    // The render is claimed before the free preview.
    let claim = test_service.claim().await;
    service.renew_claim(&claim).await.unwrap().unwrap();
    service.poster_stored(&claim).await.unwrap().unwrap();
    service.finish_render(&claim, &some_files(), &[]).await.unwrap().unwrap();
    let packaging = service.claim_packaging("w").await.unwrap().unwrap();
    service.release_packaging(&packaging).await.unwrap().unwrap();
    // The end of a packaging queues nothing.
    let packaging = service.claim_packaging("w").await.unwrap().unwrap();
    service.finish_packaging(&packaging, 1000).await.unwrap().unwrap();
    test_service.render(&model, json!({"quality": "pro", "length": 1}), None).await.unwrap();
    let mut heard = heard(&mut listener, WorkClass::Pro).await;
    // The two lost renders are requeued in the order in which their leases expired.
    heard[3..5].sort_unstable();
    let [share, standard] = [(1, WorkClass::Share), (1, WorkClass::Standard)];
    let expected = [share, standard, standard, share, standard, standard, standard, (1, WorkClass::Pro)];
    assert_eq!(heard, expected, "preview, order, release, two lost leases, packaging, its release, order");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_batch_is_not_announced() {
    let database = TestDatabase::postgres();
    let test_service = TestService::new(database.address()).await;
    let model = test_service.model("chair").await;
    let mut listener = listen(&test_service, &Takes::default()).await;
    let order = async || {
        let item = BatchItem {
            model_id: Some(model.clone()),
            render_settings: Some(json!({"quality": "standard", "length": 1})),
        };
        let batch = CreateBatch { renders: Some(vec![item.clone(), item]) };
        let key = ReplayKey::from_header(Some("a batch"));
        test_service.service.create_batch(&test_service.caller, batch, key).await.unwrap()
    };
    order().await;
    assert!(order().await.iter().all(|render| render.deduped == Some(true)));
    test_service.render(&model, json!({"quality": "pro", "length": 1}), None).await.unwrap();
    assert_eq!(heard(&mut listener, WorkClass::Pro).await, [(2, WorkClass::Standard), (1, WorkClass::Pro)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn listeners_are_counted_with_the_classes_that_they_take() {
    let database = TestDatabase::postgres();
    let test_service = TestService::new(database.address()).await;
    let mut all = listen(&test_service, &Takes::default()).await;
    let small: Takes = "share,standard".parse().unwrap();
    let other = listen(&test_service, &small).await;
    let mut found = all.list_listeners().await.unwrap();
    found.sort_by_key(|takes| takes != &small);
    assert_eq!(found, [small, Takes::default()]);
    drop(other);
    let gone = async { while all.list_listeners().await.unwrap().len() > 1 {} };
    timeout(PATIENCE, gone).await.unwrap();
}

/// Listens as a worker in another process, which takes the class `share` and previews. Returns when the worker listens, and
/// was woken to look for work that was queued before.
async fn start_listening(test_service: &TestService, database: &TestDatabase) -> Service {
    let worker = test_service.beside(database.address()).await;
    let listener = worker.clone();
    tokio::spawn(async move { listener.listen_for_work(&"share,preview".parse().unwrap()).await });
    timeout(PATIENCE, worker.render_queued()).await.unwrap();
    timeout(PATIENCE, worker.preview_requested()).await.unwrap();
    worker
}

/// Stores a request for a preview that no worker can read.
async fn request_preview(test_service: &TestService, model: &str) {
    let caller = &test_service.caller;
    let request = Request {
        key: RequestKey {
            account_id: caller.account_id.clone(),
            model_id: ModelId::parse(model).unwrap(),
            page_id: "page".to_owned(),
            request_id: "request".to_owned(),
        },
        workspace_id: caller.workspace_id.clone(),
        payer_id: caller.payer_id.clone(),
        request: "{}".to_owned(),
    };
    let db = test_service.service.db();
    let inserting = db.write(move |tx| Box::pin(async move { previews::insert(tx, &request, START).await }));
    inserting.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_wakes_up_for_the_work_that_it_takes_and_for_no_other() {
    let database = TestDatabase::postgres();
    let test_service = TestService::new(database.address()).await;
    let model = test_service.model("chair").await;
    let worker = start_listening(&test_service, &database).await;
    test_service.render(&model, json!({"quality": "standard", "length": 1}), None).await.unwrap();
    request_preview(&test_service, &model).await;
    timeout(PATIENCE, worker.preview_requested()).await.unwrap();
    // Notifications arrive in the order of their transactions, so that of the render has arrived, too.
    assert!(worker.render_queued().now_or_never().is_none(), "the worker does not take this class");
    test_service.render(&model, json!({"quality": "share", "length": 1}), None).await.unwrap();
    timeout(PATIENCE, worker.render_queued()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_for_a_loaded_model_wakes_only_the_worker_that_has_it() {
    let database = TestDatabase::postgres();
    let test_service = TestService::new(database.address()).await;
    let model = test_service.model("chair").await;
    let worker = start_listening(&test_service, &database).await;
    let other = start_listening(&test_service, &database).await;
    request_preview(&test_service, &model).await;
    for any in [&worker, &other] {
        timeout(PATIENCE, any.preview_requested()).await.unwrap();
    }
    // The worker fails to read the request, but counts as having the model loaded.
    assert!(worker.claim_preview(None).await.unwrap().is_none());
    request_preview(&test_service, &model).await;
    timeout(PATIENCE, worker.preview_requested()).await.unwrap();
    test_service.render(&model, json!({"quality": "share", "length": 1}), None).await.unwrap();
    timeout(PATIENCE, other.render_queued()).await.unwrap();
    assert!(other.preview_requested().now_or_never().is_none(), "the request is reserved for the first worker");
}

/// A connection that stays open while the database rejects new connections.
struct OpenConnection {
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
    psql: Child,
}

impl OpenConnection {
    fn new(database: &TestDatabase) -> Self {
        let mut psql = Command::new(postgres().join("psql"))
            .args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", database.address()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (psql.stdin.take().unwrap(), psql.stdout.take().unwrap());
        Self { stdin, stdout: BufReader::new(stdout).lines(), psql }
    }

    /// Makes the database accept or reject new connections.
    fn set_accepting(&mut self, accepts: bool) {
        // `ALTER DATABASE` does not change this for the database of its own connection.
        let sql = format!("UPDATE pg_database SET datallowconn = {accepts};");
        writeln!(self.stdin, "{sql}\n\\echo done").unwrap();
        assert_eq!(self.stdout.next().unwrap().unwrap(), "done");
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        let _ended = self.psql.kill().and_then(|()| self.psql.wait());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_whose_first_connection_is_rejected_listens_later() {
    let database = TestDatabase::postgres();
    let test_service = TestService::new(database.address()).await;
    let worker = test_service.beside(database.address()).await;
    let mut open = OpenConnection::new(&database);
    open.set_accepting(false);
    let listener = worker.clone();
    tokio::spawn(async move { listener.listen_for_work(&Takes::default()).await });
    // The worker is not notified, so it looks for work after each attempt to connect.
    timeout(PATIENCE, worker.render_queued()).await.unwrap();
    open.set_accepting(true);
    let listening = async {
        let mut conn = worker.db().read().await.unwrap();
        while is_preview_worker_listening(&mut conn).await.unwrap() != Some(true) {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, listening).await.unwrap();
}

#[tokio::test]
async fn sqlite_has_no_notifications() {
    let database = TestDatabase::sqlite();
    let test_service = TestService::new(database.address()).await;
    assert!(test_service.service.db().listen(&Takes::default()).await.unwrap().is_none());
}
