//! Tests of previews that another process draws. The second service of each test acts as the process of a worker.

use std::time::Duration;

use plinth_db::Heard;
use plinth_db::previews::{self, Request, RequestKey, State};
use plinth_service::previews::{MAX_PICTURE_BYTES, Preview, PreviewProblem, PreviewReply, WantedPreview};
use plinth_service::{Clock, Result, Service};
use plinth_spec::id::ModelId;
use plinth_spec::preview::PreviewOptions;
use plinth_spec::{ErrorCode, Takes};
use plinth_testkit::{TestDatabase, on_both_databases};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::teams::run_sql;
use crate::test_service::{self, TestService};

const PATIENCE: Duration = Duration::from_mins(1);
/// The error of a preview that failed because of the service: code, status and message.
const INTERNAL: (ErrorCode, u16, &str) =
    (ErrorCode::Internal, 500, "the server could not process the request; please try again");

/// Asks for a preview in a task, as a request handler does.
fn ask(test_service: &TestService, model: &str, zoom: f64) -> JoinHandle<Result<Vec<u8>>> {
    let (service, caller, model) = (test_service.service.clone(), test_service.caller.clone(), model.to_owned());
    let settings = json!({"zoom": zoom}).as_object().unwrap().clone();
    let options = PreviewOptions { longest: 5000, is_draft: true, position: Some(0.5), ..PreviewOptions::default() };
    let preview = Preview { settings, options, ..Preview::default() };
    tokio::spawn(async move { timeout(PATIENCE, service.preview(&caller, &model, preview)).await.unwrap() })
}

/// Claims a preview as soon as there is one.
async fn claim(worker: &Service) -> WantedPreview {
    let claiming = async {
        loop {
            if let Some(wanted) = worker.claim_preview(None).await.unwrap() {
                return wanted;
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, claiming).await.unwrap()
}

async fn the_request_and_what_was_drawn_travel_through_the_database(address: &str) {
    let test_service = TestService::new(address).await;
    let worker = test_service.beside(address).await;
    let model = test_service.model("chair").await;
    let asked = ask(&test_service, &model, 1.5);
    let wanted = claim(&worker).await;
    assert_eq!((wanted.model_id.as_str(), &wanted.workspace_id), (model.as_str(), &test_service.caller.workspace_id));
    assert_eq!((wanted.options.longest, wanted.options.is_draft, wanted.options.position), (1280, true, Some(0.5)));
    assert_eq!(wanted.settings.echoed(), json!({"zoom": 1.5}));
    let picture = vec![7; 100_000];
    wanted.reply.send(Ok(picture.clone())).unwrap();
    assert_eq!(asked.await.unwrap().unwrap(), picture);
    let (of_request, expected) = of_request();
    for (drawn, expected) in [
        (of_request, expected),
        // A message can quote settings, and PostgreSQL stores no NUL character.
        (Err(PreviewProblem::OfRequest("it\0 fell\nover".to_owned())), (ErrorCode::InvalidSettings, 422, "it fell")),
        (Err(PreviewProblem::Internal), INTERNAL),
        (Ok(vec![7; usize::try_from(MAX_PICTURE_BYTES).unwrap() + 1]), INTERNAL),
    ] {
        let asked = ask(&test_service, &model, 2.0);
        claim(&worker).await.reply.send(drawn).unwrap();
        assert_fails(asked, expected).await;
    }
    let stranger = test_service::caller(&test_service.service, "eve@example.org").await;
    let denied = test_service.service.preview(&stranger, &model, Preview::default()).await.unwrap_err();
    assert_eq!(denied.code, ErrorCode::ModelNotFound);
}

/// Returns the reply to a request that cannot be drawn, and the expected error.
fn of_request() -> (PreviewReply, (ErrorCode, u16, &'static str)) {
    let message = "there is no mesh to draw";
    (Err(PreviewProblem::OfRequest(message.to_owned())), (ErrorCode::InvalidSettings, 422, message))
}

async fn assert_fails(asked: JoinHandle<Result<Vec<u8>>>, expected: (ErrorCode, u16, &str)) {
    let error = asked.await.unwrap().unwrap_err();
    assert_eq!((error.code, error.status, error.message.as_str()), expected);
}

async fn failures_of_the_worker_in_this_process_are_not_those_of_the_request(address: &str) {
    let test_service = TestService::new(address).await;
    let model = test_service.model("chair").await;
    let mut wanted = test_service.service.take_previews().unwrap();
    let (of_request, expected) = of_request();
    for (reply, expected) in
        [(Some(of_request), expected), (Some(Err(PreviewProblem::Internal)), INTERNAL), (None, INTERNAL)]
    {
        let asked = ask(&test_service, &model, 1.5);
        let WantedPreview { reply: answer, .. } = timeout(PATIENCE, wanted.recv()).await.unwrap().unwrap();
        match reply {
            Some(reply) => answer.send(reply).unwrap(),
            // As if the worker had panicked.
            None => drop(answer),
        }
        assert_fails(asked, expected).await;
    }
}

async fn malformed_identifiers_of_pages_are_rejected(address: &str) {
    let test_service = TestService::new(address).await;
    let model = test_service.model("chair").await;
    for page in ["a\0b", "a\n", &"a".repeat(65)] {
        let preview = Preview { page_id: page.to_owned(), ..Preview::default() };
        let error = test_service.service.preview(&test_service.caller, &model, preview).await.unwrap_err();
        assert_eq!((error.code, error.status), (ErrorCode::BadRequest, 400), "{page:?}: {error}");
    }
}

async fn a_request_that_a_worker_cannot_read_is_an_internal_problem(address: &str) {
    let test_service = TestService::new(address).await;
    let worker = test_service.beside(address).await;
    let caller = &test_service.caller;
    let key = RequestKey {
        account_id: caller.account_id.clone(),
        model_id: ModelId::parse(&test_service.model("chair").await).unwrap(),
        page_id: "page".to_owned(),
        request_id: "request".to_owned(),
    };
    let request = Request {
        key: key.clone(),
        workspace_id: caller.workspace_id.clone(),
        payer_id: caller.payer_id.clone(),
        request: "{}".to_owned(),
    };
    let inserting = test_service
        .service
        .db()
        .write(move |tx| Box::pin(async move { previews::insert(tx, &request, test_service::START).await }));
    inserting.await.unwrap();
    assert!(worker.claim_preview(None).await.unwrap().is_none());
    let mut conn = test_service.service.db().read().await.unwrap();
    let state = previews::find_state(&mut conn, &key, test_service::START).await.unwrap();
    assert_eq!(state, State::Drawn(Err(PreviewProblem::Internal)));
}

async fn a_dropped_reply_and_a_cancelled_request(address: &str) {
    let test_service = TestService::new(address).await;
    let (first, second) = (test_service.beside(address).await, test_service.beside(address).await);
    let model = test_service.model("chair").await;
    let asked = ask(&test_service, &model, 1.5);
    drop(claim(&first).await);
    claim(&second).await.reply.send(Ok(vec![1])).unwrap();
    assert_eq!(asked.await.unwrap().unwrap(), [1], "the worker that stopped left it to the other");
    // A client that disconnects withdraws its request, even after a worker has claimed it.
    let asked = ask(&test_service, &model, 1.6);
    let mut wanted = claim(&second).await;
    asked.abort();
    timeout(PATIENCE, wanted.reply.closed()).await.unwrap();
    let asked = ask(&test_service, &model, 1.7);
    let newest = claim(&second).await;
    assert_eq!(newest.settings.echoed(), json!({"zoom": 1.7}));
    newest.reply.send(Ok(vec![2])).unwrap();
    assert_eq!(asked.await.unwrap().unwrap(), [2]);
    // The rows of ended previews are deleted.
    test_service.wait_ms(600_000);
    assert_eq!(test_service.service.clean_up().await.unwrap().rows, 1);
}

async fn a_newer_request_replaces_an_older_one_of_another_server(address: &str) {
    let test_service = TestService::new(address).await;
    let (worker, other) = (test_service.beside(address).await, test_service.beside(address).await);
    let model = test_service.model("chair").await;
    let older = ask(&test_service, &model, 1.5);
    let mut wanted = claim(&worker).await;
    let (caller, same) = (test_service.caller.clone(), model.clone());
    let newer = tokio::spawn(async move { other.preview(&caller, &same, Preview::default()).await });
    let error = older.await.unwrap().unwrap_err();
    assert_eq!((error.status, error.message.as_str()), (409, "a newer preview of this model has replaced this one"));
    timeout(PATIENCE, wanted.reply.closed()).await.unwrap();
    claim(&worker).await.reply.send(Ok(vec![3])).unwrap();
    assert_eq!(newer.await.unwrap().unwrap(), [3]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_and_servers_are_notified() {
    let database = TestDatabase::postgres();
    let test_service = TestService::new(database.address()).await;
    let worker = test_service.beside(database.address()).await;
    let model = test_service.model("chair").await;
    let takes: Takes = "preview".parse().unwrap();
    let mut listener = worker.db().listen(&takes).await.unwrap().unwrap();
    let mut of_renders = worker.db().listen(&"share".parse().unwrap()).await.unwrap().unwrap();
    let mut pictures = test_service.service.db().listen_for_pictures().await.unwrap().unwrap();
    let mut tokens = Vec::new();
    for zoom in [1.5, 1.6] {
        let asked = ask(&test_service, &model, zoom);
        let heard = timeout(PATIENCE, async {
            loop {
                match listener.next().await.unwrap() {
                    Heard::Preview(holder) => return holder,
                    // The upload has also queued a free preview.
                    Heard::Queued(_) => {}
                }
            }
        });
        tokens.push(heard.await.unwrap());
        claim(&worker).await.reply.send(Ok(vec![1])).unwrap();
        timeout(PATIENCE, pictures.next()).await.unwrap().unwrap();
        asked.await.unwrap().unwrap();
    }
    assert!(tokens[0].is_none() && tokens[1].is_some(), "the second is for the worker that has the model");
    test_service.upload("stool", None).await.unwrap();
    let heard = timeout(PATIENCE, of_renders.next()).await.unwrap().unwrap();
    assert!(matches!(heard, Heard::Queued(_)), "a worker that takes no previews does not hear of them");
    pictures.check().await.unwrap();
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'plinth-pictures'";
    run_sql(&database, end);
    assert!(pictures.check().await.is_err(), "the connection is lost");
}

/// Number of previews that the benchmark measures, and the size of their pictures in bytes. A draft of a detailed model
/// has about this size.
const MEASURED: usize = 300;
const PICTURE: usize = 100_000;

/// Asks for previews one after another. Prints percentiles of their durations.
async fn measure(name: &str, service: &Service, test_service: &TestService, model: &str) {
    let mut times = Vec::new();
    for _preview in 0..MEASURED {
        let begin = std::time::Instant::now();
        let picture = service.preview(&test_service.caller, model, Preview::default()).await.unwrap();
        assert_eq!(picture.len(), PICTURE);
        times.push(begin.elapsed());
    }
    times.sort_unstable();
    #[expect(clippy::print_stdout, reason = "a benchmark prints its results")]
    let () = println!("{name}: p50 {:?}, p95 {:?}", times[MEASURED / 2], times[MEASURED * 95 / 100]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a benchmark: bench/previews.sh"]
async fn round_trip_without_drawing() {
    let database = TestDatabase::postgres();
    let test_service = TestService::with(database.address(), |options| options.clock = Clock::Database).await;
    let model = test_service.model("chair").await;
    let (worker, server) =
        (test_service.beside(database.address()).await, test_service.beside(database.address()).await);
    let mut wanted = test_service.service.take_previews().unwrap();
    let here = tokio::spawn(async move {
        while let Some(next) = wanted.recv().await {
            next.reply.send(Ok(vec![7; PICTURE])).unwrap();
        }
    });
    measure("in memory", &test_service.service, &test_service, &model).await;
    here.abort();
    let listening = worker.clone();
    let listening = tokio::spawn(async move { listening.listen_for_work(&"preview".parse().unwrap()).await });
    let pictures = server.clone();
    let pictures = tokio::spawn(async move { pictures.listen_for_pictures().await });
    let elsewhere = tokio::spawn(async move {
        loop {
            worker.preview_requested().await;
            while let Some(next) = worker.claim_preview(None).await.unwrap() {
                next.reply.send(Ok(vec![7; PICTURE])).unwrap();
            }
        }
    });
    measure("through PostgreSQL", &server, &test_service, &model).await;
    for task in [listening, pictures, elsewhere] {
        task.abort();
    }
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        the_request_and_what_was_drawn_travel_through_the_database
        failures_of_the_worker_in_this_process_are_not_those_of_the_request
        malformed_identifiers_of_pages_are_rejected
        a_request_that_a_worker_cannot_read_is_an_internal_problem
        a_dropped_reply_and_a_cancelled_request
        a_newer_request_replaces_an_older_one_of_another_server
    }
}
