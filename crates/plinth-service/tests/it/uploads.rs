//! Tests of uploads that have not become models yet: staged files, file checks, and their limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use plinth_db::staged::NewStagedUpload;
use plinth_service::access::Caller;
use plinth_service::{Result, Service};
use plinth_spec::id::StagedId;
use plinth_spec::wire::FinalizeUpload;
use plinth_spec::{ErrorCode, limits};
use plinth_store::ObjectKey;
use plinth_testkit::{Reply, S3Server, Web, glb_with_sphere, glb_with_triangle, on_both_databases};

use crate::test_service::{self, TestService, code, upload};

async fn a_staged_upload_is_finalized_once(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let staged = service.create_upload_url(caller, Some(5)).await.unwrap();
    assert_eq!((staged.expires_in, staged.max_bytes), (60, 1 << 30));
    let finalize = |ticket: &str, name: &str| FinalizeUpload {
        ticket: Some(ticket.to_owned()),
        filename: Some(name.to_owned()),
        render_settings: None,
    };
    let early = service.finalize_upload(caller, finalize(&staged.ticket, "x.glb")).await;
    assert_eq!(code(early), ErrorCode::NotFound, "no file was uploaded yet");
    let path = staged.url.split("/_o/").nth(1).unwrap().split('?').next().unwrap();
    let file = tempfile_with(&glb_with_triangle("staged"));
    service.store().put_path(path, file.path()).await.unwrap();
    assert_eq!(
        code(service.finalize_upload(caller, finalize(&staged.ticket, "x.zip")).await),
        ErrorCode::InvalidFormat
    );
    assert_eq!(code(service.finalize_upload(caller, finalize("short", "x.glb")).await), ErrorCode::BadRequest);
    assert_eq!(code(service.finalize_upload(caller, finalize(&"x".repeat(40), "x.glb")).await), ErrorCode::NotFound);
    let other = test_service::caller(service, "grace@example.org").await;
    assert_eq!(code(service.finalize_upload(&other, finalize(&staged.ticket, "x.glb")).await), ErrorCode::NotFound);

    let made = service.finalize_upload(caller, finalize(&staged.ticket, "x.glb")).await.unwrap();
    assert!(made.is_new);
    let again = service.finalize_upload(caller, finalize(&staged.ticket, "x.glb")).await.unwrap_err();
    assert!(again.code == ErrorCode::NotFound && again.message.contains("already finalized"), "{again:?}");
    assert!(service.store().find_path(path).await.unwrap().is_none(), "the staged file is deleted");
    // The client uploads to the link again.
    service.store().put_path(path, file.path()).await.unwrap();
    test_service.wait_ms(49 * 3_600_000);
    service.clean_up().await.unwrap();
    assert!(service.store().find_path(path).await.unwrap().is_none());
    assert!(service.store().find(&ObjectKey::Model(&made.result.model_id)).await.unwrap().is_some());
}

async fn a_staged_file_is_not_read_without_the_credits_for_its_render(address: &str) {
    // In a missing folder, no file can be received.
    let test_service = TestService::with(address, |options| options.incoming.push("missing")).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let staged = service.create_upload_url(caller, None).await.unwrap();
    let path = staged.url.split("/_o/").nth(1).unwrap().split('?').next().unwrap();
    let file = tempfile_with(&glb_with_triangle("staged"));
    service.store().put_path(path, file.path()).await.unwrap();
    for (length, expected) in [(60, ErrorCode::NoCredits), (1, ErrorCode::Internal)] {
        let request = FinalizeUpload {
            ticket: Some(staged.ticket.clone()),
            filename: Some("x.glb".to_owned()),
            render_settings: Some(serde_json::json!({"length": length})),
        };
        assert_eq!(code(service.finalize_upload(caller, request).await), expected, "{length}");
    }
}

fn tempfile_with(bytes: &[u8]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    file
}

async fn known_files_and_uploads_without_credits_are_not_checked(address: &str) {
    let test_service = TestService::new(address).await;
    let known = test_service.upload("chair", None).await.unwrap().result.model_id;
    let blind = test_service.without_checks(address).await;
    let upload = async |name: &str, settings| {
        let glb = glb_with_triangle(name);
        upload(&blind, &test_service.caller, "a.glb", &glb, settings).await
    };
    let again = upload("chair", Some("{}")).await.unwrap();
    assert_eq!((again.result.model_id, again.is_new), (known, false));
    assert_eq!(code(upload("table", Some("{}")).await), ErrorCode::UploadFailed, "a new file is checked");
    // 24 of 100 credits have been spent.
    let long = Some(r#"{"length": 60}"#);
    let garbage = async || {
        let mut conn = test_service.service.db().read().await.unwrap();
        plinth_db::unreferenced_objects::list(&mut conn).await.unwrap()
    };
    let before = garbage().await;
    assert_eq!(code(upload("table", long).await), ErrorCode::NoCredits, "not checked");
    assert_eq!(code(test_service.upload("table", long).await), ErrorCode::NoCredits);
    assert_eq!(garbage().await, before, "an upload that the balance does not cover stores no file");
}

async fn the_number_of_open_staged_uploads_is_limited(address: &str) {
    let test_service = TestService::new(address).await;
    let ask = async || test_service.service.create_upload_url(&test_service.caller, None).await;
    for _n in 0..limits::STAGED_UPLOADS {
        ask().await.unwrap();
    }
    assert_eq!(code(ask().await), ErrorCode::LimitReached);
    test_service.wait_ms((limits::EXPIRES_DEFAULT_SECS + limits::STAGING_LIFETIME_SECS) * 1000);
    ask().await.unwrap();
}

async fn an_upload_with_a_long_link_counts_until_its_file_is_deleted(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let ask = async || service.create_upload_url(caller, Some(limits::EXPIRES_MAX_SECS)).await;
    let long = ask().await.unwrap();
    let path = long.url.split("/_o/").nth(1).unwrap().split('?').next().unwrap();
    for _n in 1..limits::STAGED_UPLOADS {
        ask().await.unwrap();
    }
    test_service.wait_ms((limits::EXPIRES_MAX_SECS - 60) * 1000);
    put(service, &long.url, b"abc").await.unwrap();
    assert_eq!(code(ask().await), ErrorCode::LimitReached, "the links still accept files");
    test_service.wait_ms(limits::STAGING_LIFETIME_SECS * 1000);
    service.clean_up().await.unwrap();
    assert_eq!(service.store().find_path(path).await.unwrap().map(|blob| blob.size), Some(3));
    assert_eq!(code(ask().await), ErrorCode::LimitReached, "the files are still stored");
    test_service.wait_ms(61 * 1000);
    ask().await.unwrap();
    service.clean_up().await.unwrap();
    assert!(service.store().find_path(path).await.unwrap().is_none());
}

async fn the_bytes_of_an_upload_with_a_long_link_count_while_the_link_works(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let long = service.create_upload_url(caller, Some(limits::EXPIRES_MAX_SECS)).await.unwrap();
    let id = staged_id(&long.url);
    service
        .db()
        .write(move |tx| Box::pin(async move { plinth_db::staged::set_size(tx, &id, limits::STAGED_BYTES - 3).await }))
        .await
        .unwrap();
    test_service.wait_ms(limits::EXPIRES_MAX_SECS * 1000);
    let short = service.create_upload_url(caller, None).await.unwrap();
    put(service, &short.url, b"abc").await.unwrap();
    assert_eq!(code(put(service, &short.url, b"abcd").await), ErrorCode::LimitReached);
}

/// Returns the identifier of the upload of a link.
fn staged_id(url: &str) -> StagedId {
    StagedId::parse(url.split("/staged/").nth(1).unwrap().split('.').next().unwrap()).unwrap()
}

/// Sends a file to an upload link.
async fn put(service: &Service, url: &str, bytes: &[u8]) -> Result<()> {
    let link = crate::delivery::parts(url);
    let mut file = service.begin_local_put(&link, None).await?;
    service.write_local_put(&link, &mut file, bytes).await?;
    service.finish_local_put(&link, file).await
}

/// Returns the size of the stored file of an upload link, and the size of open uploads according to the database.
async fn stored_and_recorded(test_service: &TestService, url: &str) -> (Option<u64>, u64) {
    let (service, caller) = (&test_service.service, &test_service.caller);
    let since = test_service.time.load(Ordering::SeqCst) - 1000;
    let path = url.split("/_o/").nth(1).unwrap().split('?').next().unwrap();
    let stored = service.store().find_path(path).await.unwrap().map(|blob| blob.size);
    let mut conn = service.db().read().await.unwrap();
    let recorded = plinth_db::staged::open_bytes(&mut conn, &caller.workspace_id, since, None).await.unwrap();
    (stored, recorded)
}

async fn files_that_are_sent_to_one_link_at_the_same_time_are_measured(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let large = vec![0; 60 << 20];
    for delay_ms in [20, 60, 120] {
        let staged = service.create_upload_url(caller, None).await.unwrap();
        let link = crate::delivery::parts(&staged.url);
        let mut file = service.begin_local_put(&link, None).await.unwrap();
        file.write(&large).await.unwrap();
        let small = async {
            tokio::time::sleep(Duration::from_millis(delay_ms)).await;
            put(service, &staged.url, b"a").await
        };
        let (first, second) = tokio::join!(service.finish_local_put(&link, file), small);
        first.unwrap();
        second.unwrap();
        let (stored, recorded) = stored_and_recorded(&test_service, &staged.url).await;
        assert_eq!(stored, Some(recorded), "after {delay_ms} ms");
        // The link expires, so that only the file of the next link is counted.
        test_service.wait_ms(limits::STAGING_LIFETIME_SECS * 1000);
    }
}

async fn a_file_that_is_stored_while_its_upload_is_finalized_is_deleted(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let large = vec![0; 60 << 20];
    for (n, delay_ms) in [5, 15, 30].into_iter().enumerate() {
        let staged = service.create_upload_url(caller, None).await.unwrap();
        put(service, &staged.url, &glb_with_triangle(&n.to_string())).await.unwrap();
        let link = crate::delivery::parts(&staged.url);
        let mut file = service.begin_local_put(&link, None).await.unwrap();
        file.write(&large).await.unwrap();
        let request = FinalizeUpload {
            ticket: Some(staged.ticket.clone()),
            filename: Some("a.glb".to_owned()),
            render_settings: None,
        };
        let finalizing = async {
            tokio::time::sleep(Duration::from_millis(delay_ms)).await;
            service.finalize_upload(caller, request).await
        };
        let (second, finalized) = tokio::join!(service.finish_local_put(&link, file), finalizing);
        let (stored, recorded) = stored_and_recorded(&test_service, &staged.url).await;
        match finalized {
            Ok(_made) => assert_eq!((stored, recorded), (None, 0), "after {delay_ms} ms: {second:?}"),
            // The second file was stored before the finalization, and is not a valid model.
            Err(error) => assert_eq!((error.code, stored), (ErrorCode::UploadFailed, Some(recorded))),
        }
        test_service.wait_ms(limits::STAGING_LIFETIME_SECS * 1000);
    }
}

async fn the_size_of_staged_files_is_limited(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let staged = service.create_upload_url(caller, None).await.unwrap();
    let other = service.create_upload_url(caller, None).await.unwrap();
    let set_size = async |url: &str, size: u64| {
        let id = staged_id(url);
        service
            .db()
            .write(move |tx| Box::pin(async move { plinth_db::staged::set_size(tx, &id, size).await }))
            .await
            .unwrap();
    };
    let put = async |url: &str, bytes: &[u8]| put(service, url, bytes).await;
    // Another file uses all but three bytes of the limit.
    set_size(&other.url, limits::STAGED_BYTES - 3).await;
    put(&staged.url, b"abc").await.unwrap();
    put(&staged.url, b"abc").await.unwrap();
    let error = put(&staged.url, b"abcd").await.unwrap_err();
    assert_eq!((error.code, error.status), (ErrorCode::LimitReached, 429), "the file is not too large for a model");
    // A file may also be larger than any model.
    let large = vec![0_u8; usize::try_from(limits::MODEL_FILE_BYTES).unwrap() + 1];
    for (bytes, expected) in [(&large[1..], ErrorCode::LimitReached), (&large[..], ErrorCode::FileTooLarge)] {
        assert_eq!(code(put(&staged.url, bytes).await), expected, "{} bytes", bytes.len());
    }
    drop(large);
    assert_eq!(code(service.create_upload_url(caller, None).await), ErrorCode::LimitReached);
    set_size(&other.url, limits::STAGED_BYTES).await;
    assert_eq!(code(put(&staged.url, b"a").await), ErrorCode::LimitReached);
    // Two concurrent uploads cannot exceed the limit either.
    set_size(&other.url, limits::STAGED_BYTES - 3).await;
    set_size(&staged.url, 0).await;
    let link = crate::delivery::parts(&staged.url);
    let mut file = service.begin_local_put(&link, None).await.unwrap();
    file.write(b"abc").await.unwrap();
    set_size(&other.url, limits::STAGED_BYTES - 2).await;
    assert_eq!(code(service.finish_local_put(&link, file).await), ErrorCode::LimitReached);
    // Another account has its own limit. Expired files do not count.
    let guest = test_service::caller(service, "grace@example.org").await;
    service.create_upload_url(&guest, None).await.unwrap();
    test_service.wait_ms((limits::EXPIRES_DEFAULT_SECS + limits::STAGING_LIFETIME_SECS) * 1000);
    service.create_upload_url(caller, None).await.unwrap();
}

async fn an_account_sends_a_limited_number_of_files_at_the_same_time(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let mut files = Vec::new();
    for _n in 0..limits::UPLOADS_AT_ONCE {
        files.push(service.incoming_model(caller, None).await.unwrap());
    }
    let waiting = async |caller| {
        tokio::time::timeout(Duration::from_millis(200), service.incoming_model(caller, None)).await.is_err()
    };
    assert!(waiting(caller).await);
    let guest = test_service::caller(service, "grace@example.org").await;
    assert!(!waiting(&guest).await, "uploads of another account do not wait");
    files.pop();
    assert!(!waiting(caller).await);
}

async fn an_account_uses_at_most_half_of_the_room_for_files_that_are_being_received(address: &str) {
    let test_service = TestService::with(address, |options| options.incoming_bytes = 4000).await;
    let (service, ada) = (&test_service.service, &test_service.caller);
    let waits = async |caller: &Caller, bytes: Option<u64>| {
        tokio::time::timeout(Duration::from_millis(200), service.incoming_model(caller, bytes)).await.is_err()
    };
    let half = service.incoming_model(ada, Some(2000)).await.unwrap();
    assert!(waits(ada, Some(1)).await);
    let grace = test_service::caller(service, "grace@example.org").await;
    let first = service.incoming_model(&grace, Some(500)).await.unwrap();
    assert!(waits(&grace, None).await, "without its size, a file may become as large as the limit");
    let second = service.incoming_model(&grace, Some(1500)).await.unwrap();
    let bob = test_service::caller(service, "bob@example.org").await;
    assert!(waits(&bob, Some(1)).await, "the server has no room");
    drop(first);
    assert!(!waits(&bob, Some(500)).await);
    drop((half, second));
    assert!(!waits(ada, None).await);
}

async fn a_full_disk_receives_no_files(address: &str) {
    let test_service = TestService::with(address, |options| options.reserve_bytes = u64::MAX).await;
    let error = test_service.service.incoming_model(&test_service.caller, Some(1)).await.unwrap_err();
    assert_eq!((error.code, error.status, error.retry_after_secs), (ErrorCode::RateLimited, 429, Some(60)));
    let room = test_service.service.room(&test_service.caller, 1, Some(1)).await.unwrap_err();
    assert_eq!(room.code, ErrorCode::RateLimited);
}

async fn a_check_is_stopped_after_its_time_limit(address: &str) {
    let test_service = TestService::new(address).await;
    let slow = test_service.checked_by(address, "exec sleep 600", Duration::from_secs(1)).await;
    let error = upload(&slow, &test_service.caller, "a.glb", &glb_with_triangle("a"), None).await.unwrap_err();
    assert_eq!((error.code, error.status), (ErrorCode::UploadFailed, 422));
    assert!(error.message.contains("needs more than 1 s"), "{}", error.message);
}

async fn a_check_that_uses_too_much_processor_time_is_rejected(address: &str) {
    let test_service = TestService::new(address).await;
    // A real check has a limit of processor time, too, at which the kernel ends it with the same signal.
    let script = "ulimit -c 0; ulimit -S -t 0; while :; do :; done";
    let busy = test_service.checked_by(address, script, Duration::from_mins(10)).await;
    let error = upload(&busy, &test_service.caller, "a.glb", &glb_with_triangle("a"), None).await.unwrap_err();
    assert_eq!((error.code, error.status), (ErrorCode::UploadFailed, 422));
    assert!(error.message.contains("the model needs more than 600 s"), "{}", error.message);
}

async fn dropping_the_request_stops_its_check(address: &str) {
    let test_service = TestService::new(address).await;
    let pid = test_service.folder.path().join("pid");
    let script = format!("echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600", pid.display());
    let slow = test_service.checked_by(address, &script, Duration::from_mins(10)).await;
    let (caller, glb) = (test_service.caller.clone(), glb_with_triangle("a"));
    let request = tokio::spawn(async move { upload(&slow, &caller, "a.glb", &glb, None).await.map(drop) });
    let process = loop {
        tokio::time::sleep(Duration::from_millis(10)).await;
        if let Ok(text) = std::fs::read_to_string(&pid) {
            break format!("/proc/{}", text.trim());
        }
    };
    assert!(std::fs::exists(&process).unwrap());
    request.abort();
    let mut looks = 0..500;
    while std::fs::exists(&process).unwrap() {
        assert!(looks.next().is_some(), "the check is still running");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// With PostgreSQL, uploads go to S3. With SQLite, they go to a folder.
async fn files_that_arrive_after_the_finalization_are_deleted(address: &str) {
    let test_service = TestService::new(address).await;
    let caller = &test_service.caller;
    let s3 = S3Server::start().await;
    let in_s3 = test_service.with_s3(&s3);
    let service = if address.starts_with("postgres") { &in_s3 } else { &test_service.service };
    let put = async |url: &str, bytes: Vec<u8>| {
        if address.starts_with("postgres") {
            reqwest::Client::new().put(url).body(bytes).send().await.unwrap().error_for_status().unwrap();
        } else {
            // A local store does not accept late files. The test writes the file directly, as another program could.
            let path = url.split("/_o/").nth(1).unwrap().split('?').next().unwrap();
            service.store().put_path(path, tempfile_with(&bytes).path()).await.unwrap();
        }
    };
    let open = service.create_upload_url(caller, None).await.unwrap();
    let staged = service.create_upload_url(caller, None).await.unwrap();
    let glb = glb_with_triangle("first");
    put(&open.url, glb_with_triangle("open")).await;
    put(&staged.url, glb.clone()).await;
    let finalize = || FinalizeUpload {
        ticket: Some(staged.ticket.clone()),
        filename: Some("a.glb".to_owned()),
        render_settings: None,
    };
    let made = service.finalize_upload(caller, finalize()).await.unwrap().result;
    let objects = async || service.store().list("staged").unwrap().count().await;
    assert_eq!(objects().await, 1, "the finalized file is deleted");
    put(&staged.url, glb_with_triangle("second")).await;
    assert_eq!((objects().await, service.measure_staged().await.unwrap(), objects().await), (2, 1, 1));
    assert_eq!(service.measure_staged().await.unwrap(), 0, "an open upload keeps its file");
    // The late file changes nothing, even before it is deleted.
    put(&staged.url, glb_with_triangle("third")).await;
    assert_eq!(code(service.finalize_upload(caller, finalize()).await), ErrorCode::NotFound);
    let model = service.model(caller, made.model_id.as_str()).await.unwrap();
    let mut pieces = service.store().read(&ObjectKey::Model(&made.model_id), None).await.unwrap();
    let mut stored = Vec::new();
    while let Some(piece) = pieces.next().await {
        stored.extend_from_slice(&piece.unwrap());
    }
    assert!(stored == glb && model.row.file_size == glb.len() as u64);
}

async fn an_interrupted_check_is_an_error_that_may_be_retried(address: &str) {
    let test_service = TestService::new(address).await;
    let glb = glb_with_triangle("a");
    let assert_retried = async |service: &Service| {
        let error = upload(service, &test_service.caller, "a.glb", &glb, Some("{}")).await.unwrap_err();
        assert_eq!((error.code, error.status, error.retry_after_secs), (ErrorCode::UploadFailed, 500, Some(5)));
        let mut conn = test_service.service.db().read().await.unwrap();
        assert_eq!(plinth_db::unreferenced_objects::list(&mut conn).await.unwrap(), Vec::<String>::new());
        let left = std::fs::read_dir(test_service.folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let left: Vec<_> = left.filter(|name| name.to_str().unwrap().starts_with("plinth-incoming-")).collect();
        assert_eq!(left, Vec::<std::ffi::OsString>::new());
    };
    // A service manager sends SIGTERM to all processes of the server.
    for signal in ["TERM", "INT", "HUP"] {
        // Tests in the background ignore some signals, and so do their child processes.
        let script = format!("exec env --default-signal sh -c 'kill -{signal} $$; sleep 60'");
        let killed = test_service.checked_by(address, &script, Duration::from_mins(1)).await;
        assert_retried(&killed).await;
    }
    let slow = test_service.checked_by(address, "exec sleep 600", Duration::from_mins(10)).await;
    let stopping = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        slow.stop_checks();
    };
    tokio::join!(assert_retried(&slow), stopping);
    assert_retried(&slow).await;
    // The same file is accepted by the next server.
    upload(&test_service.service, &test_service.caller, "a.glb", &glb, Some("{}")).await.unwrap();
}

/// With PostgreSQL, uploads go to S3. With SQLite, they go to a folder.
async fn the_latest_files_beyond_the_limit_of_an_account_are_deleted(address: &str) {
    let test_service = TestService::new(address).await;
    let caller = &test_service.caller;
    let s3 = S3Server::start().await;
    let in_s3 = test_service.with_s3(&s3);
    let service = if address.starts_with("postgres") { &in_s3 } else { &test_service.service };
    let links = [service.create_upload_url(caller, None).await.unwrap(), {
        test_service.wait_ms(1_000);
        service.create_upload_url(caller, None).await.unwrap()
    }];
    let ids = links.each_ref().map(|link| staged_id(&link.url));
    for id in &ids {
        let file = tempfile_with(&glb_with_triangle("late"));
        service.store().put_file(&ObjectKey::Staged(id), file.path()).await.unwrap();
    }
    assert_eq!(service.measure_staged().await.unwrap(), 0);
    let [early, late] = ids;
    service.store().delete(&ObjectKey::Staged(&early)).await.unwrap();
    let written = service.db().write(move |tx| {
        Box::pin(async move { plinth_db::staged::set_size(tx, &early, limits::MODEL_FILE_BYTES).await })
    });
    written.await.unwrap();
    assert_eq!(service.measure_staged().await.unwrap(), 0, "the account has not reached its limit");
    // The account gets further uploads, which are as old as the first one.
    let workspace = caller.workspace_id.clone();
    let written = service.db().write(move |tx| {
        Box::pin(async move {
            for n in 0..limits::STAGED_BYTES / limits::MODEL_FILE_BYTES - 1 {
                let id = StagedId::parse(&format!("{n:012}")).unwrap();
                let upload = NewStagedUpload {
                    id: &id,
                    ticket_sha256: id.as_str(),
                    workspace_id: &workspace,
                    created_at: test_service::START,
                    link_expires_at: test_service::START + limits::EXPIRES_DEFAULT_SECS * 1000,
                };
                plinth_db::staged::insert(tx, upload).await?;
                plinth_db::staged::set_size(tx, &id, limits::MODEL_FILE_BYTES).await?;
            }
            Ok::<_, plinth_db::DbError>(())
        })
    });
    written.await.unwrap();
    assert_eq!(service.measure_staged().await.unwrap(), 1);
    assert!(service.store().find(&ObjectKey::Staged(&late)).await.unwrap().is_none());
    assert_eq!(service.measure_staged().await.unwrap(), 0);
}

/// Starts an S3 server that does not know the first `forgotten` multipart uploads any more when the client completes them. `begun`
/// counts the uploads.
fn forgetful_s3(forgotten: u32, begun: Arc<AtomicU32>) -> Web {
    let xml = |body: String| Reply::new("200 OK", "application/xml", body);
    Web::start(move |visit| match (visit.method.as_str(), visit.path.split_once("?uploadId=")) {
        ("POST", None) => {
            let id = begun.fetch_add(1, Ordering::SeqCst) + 1;
            xml(format!("<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>"))
        }
        ("PUT", _part) => xml(String::new()).with_header("ETag", "\"part\""),
        ("POST", Some((_key, id))) if id.parse::<u32>().is_ok_and(|id| id > forgotten) => {
            xml("<CompleteMultipartUploadResult><ETag>\"file\"</ETag></CompleteMultipartUploadResult>".to_owned())
        }
        _ => Reply::missing(),
    })
}

async fn a_file_whose_upload_s3_has_forgotten_is_stored_once_more(address: &str) {
    let test_service = TestService::new(address).await;
    // The file is sent to S3 in two parts.
    let glb = glb_with_sphere(350);
    for (forgotten, is_stored) in [(2, false), (1, true)] {
        let begun = Arc::new(AtomicU32::new(0));
        let s3 = forgetful_s3(forgotten, Arc::clone(&begun));
        let service = test_service.with_s3_at(&s3.url(""), "bucket", ("key", "secret"));
        let uploaded = upload(&service, &test_service.caller, "a.glb", &glb, None).await;
        match uploaded {
            Ok(uploaded) => assert!(is_stored && uploaded.is_new),
            Err(error) => assert!(!is_stored && error.status == 500, "{error:?}"),
        }
        assert_eq!(begun.load(Ordering::SeqCst), 2);
    }
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        a_staged_upload_is_finalized_once
        a_staged_file_is_not_read_without_the_credits_for_its_render
        known_files_and_uploads_without_credits_are_not_checked
        the_number_of_open_staged_uploads_is_limited
        an_upload_with_a_long_link_counts_until_its_file_is_deleted
        the_bytes_of_an_upload_with_a_long_link_count_while_the_link_works
        the_size_of_staged_files_is_limited
        files_that_are_sent_to_one_link_at_the_same_time_are_measured
        a_file_that_is_stored_while_its_upload_is_finalized_is_deleted
        an_account_sends_a_limited_number_of_files_at_the_same_time
        an_account_uses_at_most_half_of_the_room_for_files_that_are_being_received
        a_full_disk_receives_no_files
        a_check_is_stopped_after_its_time_limit
        a_check_that_uses_too_much_processor_time_is_rejected
        dropping_the_request_stops_its_check
        files_that_arrive_after_the_finalization_are_deleted
        the_latest_files_beyond_the_limit_of_an_account_are_deleted
        an_interrupted_check_is_an_error_that_may_be_retried
        a_file_whose_upload_s3_has_forgotten_is_stored_once_more
    }
}
