//! Accounts share the checks of files and the room for downloads, even if one of them sends many files.
//!
//! The runtime of these tests has a single thread, so that a request has asked for its turn when the test goes on.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use plinth_service::access::Caller;
use plinth_service::models::Uploaded;
use plinth_service::{HostRule, Result, Service};
use plinth_spec::limits;
use plinth_spec::wire::IngestModel;
use plinth_testkit::{Reply, TestDatabase, Visit, Web, glb_with_triangle};
use tokio::time::{sleep, timeout};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::test_service::{self, TestService, upload};

const TIMEOUT: Duration = Duration::from_mins(1);

/// A checker that writes the name of its model to the file `started`, and waits for a file `end-NAME`.
const CHECKER: &str = r#"cd "$(dirname "$0")"
for file; do :; done
name=$(grep -aoE '(ada|grace)-[0-9]' "$file" | head -n 1)
echo "$name" >> started
until [ -e "end-$name" ]; do sleep 0.01; done
echo '{"Rejected":{"status":422,"message":"it was checked"}}'"#;

/// Waits until a condition holds.
async fn until(holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(TIMEOUT, waiting).await.unwrap();
}

/// Waits until `count` checks have started. Returns the names of their models in the order of their start.
async fn started(folder: &Path, count: usize) -> Vec<String> {
    let names = || {
        let text = std::fs::read_to_string(folder.join("started")).unwrap_or_default();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    until(|| names().len() >= count).await;
    names()
}

fn end(folder: &Path, name: &str) {
    std::fs::write(folder.join(format!("end-{name}")), "").unwrap();
}

/// Counts the checks that ask for their turn in the current thread. Each does so as soon as its span has been created.
struct Asking(Arc<AtomicUsize>);

impl Subscriber for Asking {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == plinth_trace::TARGET && metadata.name() == "check model"
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        self.0.fetch_add(1, Ordering::SeqCst);
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, _event: &Event<'_>) {}

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

async fn ingest(service: Service, caller: Caller, url: String) -> Result<Uploaded> {
    service.ingest_model(&caller, IngestModel { url: Some(url), render_settings: None }).await
}

/// Uploads a model, or ingests it from a server that has a model of each name.
async fn send(service: Service, caller: Caller, name: String, from: Option<String>) -> Result<Uploaded> {
    match from {
        Some(server) => ingest(service, caller, format!("{server}/{name}.glb")).await,
        None => upload(&service, &caller, "a.glb", &glb_with_triangle(&name), None).await,
    }
}

/// All checks are of one account, and more of its files wait, when another account uploads or ingests a model.
async fn the_next_check_is_that_of_another_account(is_ingested: bool) {
    let model = |visit: &Visit| Reply::model(glb_with_triangle(visit.path.trim_matches('/').trim_end_matches(".glb")));
    let (database, web) = (TestDatabase::sqlite(), Web::start(model));
    let test_service = TestService::with(database.address(), |options| {
        options.checks_at_once = 2;
        options.fetch.allowed_hosts = vec![HostRule::parse(&web.address().to_string()).unwrap()];
    })
    .await;
    let service = test_service.checked_by(database.address(), CHECKER, Duration::from_mins(10)).await;
    let (ada, folder) = (&test_service.caller, test_service.folder.path());
    let grace = test_service::caller(&service, "grace@example.org").await;
    let asking = Arc::new(AtomicUsize::new(0));
    let _counting = tracing::subscriber::set_default(Asking(Arc::clone(&asking)));
    let begin = |caller: &Caller, name: &str, is_ingested: bool| {
        let from = is_ingested.then(|| web.url(""));
        tokio::spawn(send(service.clone(), caller.clone(), name.to_owned(), from))
    };
    let names: Vec<String> = (0..6).map(|n| format!("ada-{n}")).collect();
    let mut sent: Vec<_> = names.iter().enumerate().map(|(n, name)| begin(ada, name, n % 2 == 0)).collect();
    until(|| asking.load(Ordering::SeqCst) == 6).await;
    sent.push(begin(&grace, "grace-0", is_ingested));
    until(|| asking.load(Ordering::SeqCst) == 7).await;
    let first = started(folder, 2).await;
    assert!(first.len() == 2 && first.iter().all(|name| names.contains(name)), "{first:?}");
    end(folder, &first[0]);
    let next = started(folder, 3).await;
    assert_eq!(next[2..], ["grace-0"], "{next:?}");
    for name in names.iter().map(String::as_str).chain(["grace-0"]) {
        end(folder, name);
    }
    for one in sent {
        let error = one.await.unwrap().unwrap_err();
        assert!(error.status == 422 && error.message == "it was checked", "{error:?}");
    }
}

#[tokio::test]
async fn an_upload_is_checked_before_waiting_files_of_another_account() {
    Box::pin(the_next_check_is_that_of_another_account(false)).await;
}

#[tokio::test]
async fn an_ingested_file_is_checked_before_waiting_files_of_another_account() {
    Box::pin(the_next_check_is_that_of_another_account(true)).await;
}

/// A download reserves the maximum size of a model until its server has sent the size.
#[tokio::test]
async fn the_downloads_of_an_account_leave_room_for_those_of_others() {
    let answer = |visit: &Visit| {
        if visit.path.starts_with("/slow") {
            return Reply::model("").saying_no_length().hanging();
        }
        Reply::model(glb_with_triangle("chair"))
    };
    let (database, web) = (TestDatabase::sqlite(), Web::start(answer));
    let test_service = TestService::with(database.address(), |options| {
        options.incoming_bytes = 4 * limits::MODEL_FILE_BYTES;
        options.fetch.allowed_hosts = vec![HostRule::parse(&web.address().to_string()).unwrap()];
    })
    .await;
    let (service, ada) = (&test_service.service, &test_service.caller);
    let grace = test_service::caller(service, "grace@example.org").await;
    // No HEAD request is sent to a presigned link, so each download is one visit.
    let slow = || tokio::spawn(ingest(service.clone(), ada.clone(), web.url("/slow.glb?sig=1")));
    let slow: Vec<_> = (0..5).map(|_n| slow()).collect();
    until(|| web.visits() >= 2).await;
    let made = ingest(service.clone(), grace, web.url("/chair.glb?sig=1")).await.unwrap();
    assert!(made.is_new);
    assert_eq!(web.visits(), 3, "other downloads of the first account wait");
    assert!(slow.iter().all(|download| !download.is_finished()));
    for download in slow {
        download.abort();
    }
}
