//! Tests of the service functions for workers: claims, reports and lost leases.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use plinth_db::leases::{self, Report, Worker};
use plinth_db::outcomes::{self, Outcome};
use plinth_db::{DbError, instance, renders, unreferenced_objects};
use plinth_service::jobs::{LeaseLost, Reclaimed};
use plinth_spec::funding::Pool;
use plinth_spec::idempotency::ReplayKey;
use plinth_spec::state::{HlsStatus, RenderStatus};
use plinth_spec::wire::{BatchItem, CreateBatch};
use plinth_spec::{ErrorCode, FailureCode, OutputFile};
use plinth_testkit::{TestDatabase, on_both_databases};
use serde_json::json;
use tokio::sync::{Barrier, oneshot};

use crate::teams::until_a_transaction_waits;
use crate::test_service::{START, TestService, some_files};

async fn a_render_goes_from_pending_to_done_and_its_packaging_follows(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let id = test_service.upload("chair", Some("{}")).await.unwrap().result.render_id.to_string();
    let status = async || service.render(&test_service.caller, &id).await.unwrap();
    let claim = test_service.claim().await;
    assert!(service.claim_renders("other", 1).await.unwrap().is_empty());
    assert_eq!(status().await.status, RenderStatus::PosterProcessing);
    service.poster_stored(&claim).await.unwrap().unwrap();
    assert_eq!(status().await.status, RenderStatus::VideoProcessing);
    // A worker repeats a report if the connection broke before the database confirmed it.
    service.poster_stored(&claim).await.unwrap().unwrap();
    assert!(
        service.claim_packaging("worker").await.unwrap().is_none(),
        "packaging cannot be claimed before the video is done"
    );
    let counted = async || {
        let now = test_service.time.load(Ordering::SeqCst);
        let counted = outcomes::list(&mut service.db().read().await.unwrap(), now).await.unwrap();
        counted.iter().map(|one| (one.outcome, one.hour)).collect::<Vec<_>>()
    };
    assert_eq!(counted().await, []);
    service.finish_render(&claim, &some_files(), &["no mesh 'x'".to_owned()]).await.unwrap().unwrap();
    let done = status().await;
    assert_eq!((done.status, done.file_size), (RenderStatus::Done, Some(3)));
    assert!(done.has_web_variant && done.has_thumb && !done.hls_ready);
    assert_eq!(done.warnings, ["no mesh 'x'"]);

    let packaging = service.claim_packaging("worker").await.unwrap().unwrap();
    assert_eq!(status().await.hls_status, HlsStatus::Processing);
    service.release_packaging(&packaging).await.unwrap().unwrap();
    let packaging = service.claim_packaging("worker").await.unwrap().unwrap();
    service.finish_packaging(&packaging, 1000).await.unwrap().unwrap();
    let ready = status().await;
    assert!(ready.hls_ready && ready.updated_at > done.updated_at);
    assert_eq!(service.finish_packaging(&packaging, 1000).await.unwrap(), Err(LeaseLost));
    assert_eq!(counted().await, [(Outcome::Done, 1), (Outcome::Packaged, 1)]);
}

async fn a_worker_claims_free_previews_only_if_it_takes_their_class(address: &str) {
    let test_service = TestService::new(address).await;
    test_service.model("chair").await;
    let claim = async |takes: &str| {
        let worker = Worker { takes: takes.parse().unwrap(), ..Worker::from("worker") };
        test_service.service.claim_renders(worker, 1).await.unwrap().pop()
    };
    assert!(claim("standard,pro").await.is_none());
    assert!(claim("share").await.unwrap().render.is_system_preview);
}

async fn equal_frames_are_claimed_together(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let (a, b) = (test_service.model("a").await, test_service.model("b").await);
    for n in 1..=2 {
        for model in [&a, &b] {
            test_service.render(model, json!({"quality": "share", "length": n}), None).await.unwrap();
            test_service
                .render(model, json!({"length": f64::from(n), "quality": "share"}), Some("again"))
                .await
                .unwrap();
        }
    }
    // All renders have the same creation time, so they are claimed in an undefined order.
    let (mut previews, mut pairs) = (0, 0);
    while previews + pairs < 6 {
        let group = service.claim_renders("first", 4).await.unwrap();
        if group[0].render.is_system_preview {
            assert_eq!(group.len(), 1, "the frames of a watermarked preview are not shared");
            assert!(group[0].is_marked());
            previews += 1;
        } else {
            assert_eq!(group.len(), 2);
            assert_eq!(group[0].render.model_id, group[1].render.model_id);
            assert_eq!(group[0].render.frames_sha256, group[1].render.frames_sha256);
            assert_ne!(
                group[0].render.settings_sha256, group[1].render.settings_sha256,
                "different notations of the same settings share frames"
            );
            assert_ne!(group[0].token, group[1].token, "each claim has its own lease");
            pairs += 1;
        }
    }
    assert_eq!((previews, pairs), (2, 4));
    assert!(service.claim_renders("first", 4).await.unwrap().is_empty());
}

async fn eight_workers_claim_each_of_1000_renders_once(address: &str) {
    let test_service = TestService::new(address).await;
    test_service.grant(Pool::Paid, 1000).await;
    let model = test_service.model("chair").await;
    // Each render shares its frames with exactly one other render, so that a claim contains one or two renders.
    for batch in 0..10 {
        let item = |n: u32| BatchItem {
            model_id: Some(model.clone()),
            render_settings: Some(json!({"quality": "share", "length": 0.04, "rotateY": batch / 2 * 30, "panX": n,
                                         "strictCredits": batch % 2 == 1})),
        };
        let request = CreateBatch { renders: Some((0..100).map(item).collect()) };
        let key = ReplayKey::from_header(Some(&format!("batch {batch}")));
        test_service.service.create_batch(&test_service.caller, request, key).await.unwrap();
    }
    // All workers start together, and continue only after each has a claim. Otherwise one worker could claim all
    // renders, because SQLite has a single writer.
    let (mut workers, together) = (Vec::new(), Arc::new(Barrier::new(8)));
    for n in 0..8 {
        let (service, together) = (test_service.beside(address).await, Arc::clone(&together));
        workers.push(tokio::spawn(async move {
            let (mut taken, most) = (Vec::new(), 1 + n % 3);
            together.wait().await;
            loop {
                let claims = service.claim_renders(format!("w{n}").as_str(), most).await.unwrap();
                assert!(claims.len() <= most);
                let (first, none) = (taken.is_empty(), claims.is_empty());
                taken.extend(claims);
                if first {
                    together.wait().await;
                }
                if none {
                    return taken;
                }
            }
        }));
    }
    let (mut renders, mut tokens) = (Vec::new(), BTreeSet::new());
    for worker in workers {
        let taken = worker.await.unwrap();
        assert!(!taken.is_empty(), "every worker has claimed renders");
        for claim in taken {
            assert_eq!((claim.render.attempt, claim.render.status), (1, RenderStatus::PosterProcessing));
            renders.push(claim.render.id);
            tokens.insert(claim.token);
        }
    }
    let once: BTreeSet<_> = renders.iter().collect();
    assert_eq!(
        (renders.len(), once.len(), tokens.len()),
        (1001, 1001, 1001),
        "1000 renders and the system preview of the upload"
    );
}

async fn the_renders_of_many_workers_that_are_lost_together_are_requeued_together(address: &str) {
    let test_service = TestService::new(address).await;
    test_service.grant(Pool::Paid, 100).await;
    let model = test_service.model("chair").await;
    let item = |n: u32| BatchItem {
        model_id: Some(model.clone()),
        render_settings: Some(json!({"quality": "share", "length": 0.04, "panX": n})),
    };
    let request = CreateBatch { renders: Some((0..100).map(item).collect()) };
    test_service.service.create_batch(&test_service.caller, request, ReplayKey::from_header(None)).await.unwrap();
    let mut claimed = 0;
    while !test_service.service.claim_renders("worker", 1).await.unwrap().is_empty() {
        claimed += 1;
    }
    test_service.wait_ms(61_000);
    let reclaimed = test_service.service.reclaim_expired_leases().await.unwrap().renders;
    assert_eq!((claimed, reclaimed), (101, 101), "100 renders and the system preview of the upload");
}

async fn a_lost_render_that_cannot_be_requeued_is_tried_once(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    test_service.grant(Pool::Paid, 100).await;
    let model = test_service.model("chair").await;
    let item = BatchItem { model_id: Some(model), render_settings: Some(json!({"quality": "share", "length": 0.04})) };
    let request = CreateBatch { renders: Some(vec![item; 100]) };
    service.create_batch(&test_service.caller, request, ReplayKey::from_header(None)).await.unwrap();
    // The renders share their frames and thus one slot. Its time is measured on one of them.
    assert_eq!(service.claim_renders("worker", 100).await.unwrap().len(), 100);
    test_service.wait_ms(61_000);
    // The time of the slot cannot be charged.
    let spoiling =
        service.db().write(|tx| Box::pin(async move { instance::set(tx, "share_time_ahead", "unreadable").await }));
    spoiling.await.unwrap();
    assert_eq!(service.reclaim_expired_leases().await.unwrap(), Reclaimed { renders: 99, errors: 1 });
}

async fn a_render_with_lost_workers_is_retried_twice_and_then_refunded(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let id = test_service.upload("chair", Some("{}")).await.unwrap().result.render_id.to_string();
    let render = async || service.render(&test_service.caller, &id).await.unwrap();
    let first = test_service.claim().await;
    test_service.wait_ms(59_000);
    assert_eq!(service.renew_claim(&first).await.unwrap(), Ok(()));
    service.poster_stored(&first).await.unwrap().unwrap();
    test_service.wait_ms(59_000);
    assert_eq!(service.reclaim_expired_leases().await.unwrap().renders, 0, "the lease was renewed");
    test_service.wait_ms(2_000);
    let reclaimers = (0..4).map(|_n| {
        let service = service.clone();
        tokio::spawn(async move { service.reclaim_expired_leases().await.unwrap().renders })
    });
    let mut reclaimed = 0;
    for reclaimer in reclaimers.collect::<Vec<_>>() {
        reclaimed += reclaimer.await.unwrap();
    }
    assert_eq!(reclaimed, 1);
    let waiting = render().await;
    assert_eq!((waiting.status, waiting.failure_code), (RenderStatus::Pending, None));
    let poster = service.render_file(&test_service.caller, &id, OutputFile::Poster).await;
    assert_eq!(
        poster.map(drop).unwrap_err().code,
        ErrorCode::PosterNotFound,
        "the poster of the interrupted attempt is no longer valid"
    );
    assert_eq!(test_service.account().await.paid, 76);
    // Releasing a render does not count as a lost attempt.
    service.release_render(&test_service.claim().await).await.unwrap().unwrap();
    let mut last = test_service.claim().await;
    for losses in 2..=3 {
        test_service.wait_ms(59_000);
        assert_eq!(service.reclaim_expired_leases().await.unwrap().renders, 0);
        test_service.wait_ms(2_000);
        assert_eq!(service.reclaim_expired_leases().await.unwrap().renders, 1);
        if losses == 2 {
            assert_eq!(render().await.status, RenderStatus::Pending);
            last = test_service.claim().await;
            assert_eq!(last.render.attempt, 4);
        }
    }
    let ended = render().await;
    assert_eq!((ended.status, ended.failure_code), (RenderStatus::Error, Some(FailureCode::Reaped)));
    assert_eq!(test_service.account().await.paid, 100);
    // Reports of workers whose leases have expired change nothing.
    for claim in [&first, &last] {
        assert_eq!(service.renew_claim(claim).await.unwrap(), Err(LeaseLost));
        assert_eq!(service.poster_stored(claim).await.unwrap(), Err(LeaseLost));
        assert_eq!(service.finish_render(claim, &some_files(), &[]).await.unwrap(), Err(LeaseLost));
        assert_eq!(service.fail_render(claim, FailureCode::Timeout, "").await.unwrap(), Err(LeaseLost));
    }
    assert_eq!(render().await.status, RenderStatus::Error);
    assert_eq!(test_service.account().await.paid, 100);
    test_service.assert_balanced().await;
}

async fn a_released_render_is_resumed_by_another_worker(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let id = test_service.upload("chair", Some("{}")).await.unwrap().result.render_id.to_string();
    let status = async || service.render(&test_service.caller, &id).await.unwrap().status;
    let first = test_service.claim().await;
    service.release_render(&first).await.unwrap().unwrap();
    assert_eq!(status().await, RenderStatus::Pending);
    let second = test_service.claim().await;
    assert_eq!(second.render.attempt, 2);
    service.poster_stored(&second).await.unwrap().unwrap();
    service.release_render(&second).await.unwrap().unwrap();
    assert_eq!(status().await, RenderStatus::PosterDone);
    let third = test_service.claim().await;
    assert_eq!((third.render.status, third.render.attempt), (RenderStatus::VideoProcessing, 3));
    assert_eq!(service.fail_render(&second, FailureCode::Timeout, "").await.unwrap(), Err(LeaseLost));
    service.finish_render(&third, &some_files(), &[]).await.unwrap().unwrap();
    assert_eq!(status().await, RenderStatus::Done);
    let row = renders::find_anywhere(&mut service.db().read().await.unwrap(), &third.render.id).await.unwrap().unwrap();
    assert_eq!((row.poster_attempt, row.files_attempt), (Some(3), Some(3)), "earlier files will be deleted");
    assert_eq!(test_service.account().await.paid, 76, "charged once");
}

/// A worker that is told to stop does not wait for its report of the poster. PostgreSQL only: SQLite has no row locks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_render_whose_poster_is_being_reported_is_released() {
    let database = TestDatabase::postgres();
    let test_service = TestService::new(database.address()).await;
    let service = &test_service.service;
    let id = test_service.upload("chair", Some("{}")).await.unwrap().result.render_id.to_string();
    let claim = test_service.claim().await;
    let (locked, is_locked) = oneshot::channel();
    let (end, is_ended) = oneshot::channel::<()>();
    let (db, render, token) = (service.db().clone(), claim.render.id.clone(), claim.token.clone());
    let reporting = tokio::spawn(async move {
        let writing = db.write(move |tx| {
            Box::pin(async move {
                let (from, to) = (RenderStatus::PosterProcessing, RenderStatus::VideoProcessing);
                let report = Report { poster_attempt: Some(1), ..Report::new(from, to, HlsStatus::Pending) };
                let is_reported = leases::report(tx, &render, &token, &report, START).await?;
                locked.send(()).unwrap();
                is_ended.await.unwrap();
                Ok::<_, DbError>(is_reported)
            })
        });
        writing.await
    });
    is_locked.await.unwrap();
    let (released, ()) = tokio::join!(service.release_render(&claim), async {
        until_a_transaction_waits(&database).await;
        end.send(()).unwrap();
    });
    assert!(reporting.await.unwrap().unwrap());
    assert_eq!(released.unwrap(), Ok(()));
    assert_eq!(service.render(&test_service.caller, &id).await.unwrap().status, RenderStatus::PosterDone);
}

async fn failures_are_refunded_once_unless_the_model_caused_them(address: &str) {
    let test_service = TestService::new(address).await;
    let model = test_service.model("chair").await;
    test_service.service.fail_render(&test_service.claim().await, FailureCode::Timeout, "").await.unwrap().unwrap();
    assert_eq!(test_service.account().await.paid, 100, "a free preview has nothing to refund");
    for &code in FailureCode::ALL {
        test_service.wait_ms(10_000);
        let before = test_service.account().await.paid;
        let render = test_service.render(&model, json!({"length": 1}), None).await.unwrap();
        let claim = test_service.claim().await;
        test_service.service.fail_render(&claim, code, "because").await.unwrap().unwrap();
        let lost = if code == FailureCode::RendererError { 4 } else { 0 };
        assert_eq!(test_service.account().await.paid, before - lost, "{}", code.as_str());
        let view = test_service.service.render(&test_service.caller, render.id.as_str()).await.unwrap();
        assert_eq!((view.failure_code, view.hls_status), (Some(code), HlsStatus::Skipped));
    }
    test_service.assert_balanced().await;
}

async fn packaging_fails_after_three_lost_workers_and_the_video_remains(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let id = test_service.upload("chair", Some("{}")).await.unwrap().result.render_id.to_string();
    let claim = test_service.claim().await;
    service.poster_stored(&claim).await.unwrap().unwrap();
    service.finish_render(&claim, &some_files(), &[]).await.unwrap().unwrap();
    for loss in 1..=3 {
        // Releasing a packaging does not count as a lost attempt, but the next attempt has another number.
        let released = service.claim_packaging("w").await.unwrap().unwrap();
        service.release_packaging(&released).await.unwrap().unwrap();
        let lost = service.claim_packaging("w").await.unwrap().unwrap();
        assert_eq!((released.render.hls_attempt, lost.render.hls_attempt), (2 * loss - 1, 2 * loss));
        test_service.wait_ms(59_000);
        assert_eq!(service.reclaim_expired_leases().await.unwrap().renders, 0);
        test_service.wait_ms(2_000);
        assert_eq!(service.reclaim_expired_leases().await.unwrap().renders, 1);
    }
    assert!(service.claim_packaging("w").await.unwrap().is_none());
    let render = service.render(&test_service.caller, &id).await.unwrap();
    assert_eq!((render.status, render.hls_status), (RenderStatus::Done, HlsStatus::Failed));
    assert_eq!(test_service.account().await.paid, 76, "a failed packaging is not refunded");
}

async fn cancel_and_claim_exclude_each_other(address: &str) {
    let test_service = TestService::new(address).await;
    test_service.grant(Pool::Paid, 1000).await;
    let model = test_service.model("chair").await;
    test_service.service.fail_render(&test_service.claim().await, FailureCode::Timeout, "").await.unwrap().unwrap();
    let (mut cancelled, mut claimed) = (0u64, 0u64);
    for n in 1..=40 {
        let length = f64::from(n) / 10.0;
        let render = test_service.render(&model, json!({"quality": "share", "length": length}), None).await.unwrap();
        let (service, caller, id) = (test_service.service.clone(), test_service.caller.clone(), render.id.to_string());
        let cancel = tokio::spawn(async move { service.cancel_render(&caller, &id).await });
        let taken = test_service.service.claim_renders("w", 1).await.unwrap();
        let cancel = cancel.await.unwrap();
        assert_ne!(cancel.is_ok(), !taken.is_empty(), "exactly one of cancel and claim succeeds");
        cancelled += u64::from(cancel.is_ok());
        claimed += taken.len() as u64;
    }
    assert_eq!(cancelled + claimed, 40);
    test_service.assert_balanced().await;
}

/// Puts a file into the store, as a worker does. Returns its path.
fn store_file(test_service: &TestService, path: &str) -> PathBuf {
    let file = test_service.folder.path().join("objects/renders").join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "file").unwrap();
    file
}

/// Asserts that the cleanup deletes a file in an hour, but not before, because its worker may still be storing files.
async fn assert_deleted_in_an_hour(test_service: &TestService, file: &Path) {
    for (wait_ms, exists) in [(3_599_999, true), (1, false)] {
        test_service.wait_ms(wait_ms);
        test_service.service.clean_up().await.unwrap();
        assert_eq!(file.exists(), exists, "{}", file.display());
    }
}

async fn files_of_ended_attempts_are_deleted_in_an_hour(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let order = async |name: &str| test_service.upload(name, Some("{}")).await.unwrap().result.render_id.to_string();

    let id = order("lost").await;
    test_service.claim().await;
    let lost = store_file(&test_service, &format!("{id}/1/poster.webp"));
    test_service.wait_ms(61_000);
    assert_eq!(service.reclaim_expired_leases().await.unwrap().renders, 1);
    assert_deleted_in_an_hour(&test_service, &lost).await;
    let claim = test_service.claim().await;
    let failed = store_file(&test_service, &format!("{id}/2/poster.webp"));
    service.fail_render(&claim, FailureCode::Timeout, "").await.unwrap().unwrap();
    assert_deleted_in_an_hour(&test_service, &failed).await;

    let id = order("cancelled").await;
    service.release_render(&test_service.claim().await).await.unwrap().unwrap();
    let cancelled = store_file(&test_service, &format!("{id}/1/poster.webp"));
    service.cancel_render(caller, &id).await.unwrap();
    assert_deleted_in_an_hour(&test_service, &cancelled).await;

    let id = order("done").await;
    service.release_render(&test_service.claim().await).await.unwrap().unwrap();
    let released = store_file(&test_service, &format!("{id}/1/poster.webp"));
    let claim = test_service.claim().await;
    service.poster_stored(&claim).await.unwrap().unwrap();
    service.finish_render(&claim, &some_files(), &[]).await.unwrap().unwrap();
    let video = store_file(&test_service, &format!("{id}/2/video.mp4"));
    assert_deleted_in_an_hour(&test_service, &released).await;

    service.release_packaging(&service.claim_packaging("w").await.unwrap().unwrap()).await.unwrap().unwrap();
    let released = store_file(&test_service, &format!("{id}/2/hls/1/master.m3u8"));
    let packaging = service.claim_packaging("w").await.unwrap().unwrap();
    let packaged = store_file(&test_service, &format!("{id}/2/hls/2/master.m3u8"));
    service.finish_packaging(&packaging, 1000).await.unwrap().unwrap();
    assert_deleted_in_an_hour(&test_service, &released).await;
    assert!(video.exists() && packaged.exists());
    service.delete_render(caller, &id).await.unwrap();
    service.clean_up().await.unwrap();
    assert!(!video.exists() && !packaged.exists());

    let id = order("never packaged").await;
    let claim = test_service.claim().await;
    service.poster_stored(&claim).await.unwrap().unwrap();
    service.finish_render(&claim, &some_files(), &[]).await.unwrap().unwrap();
    let mut last = PathBuf::new();
    for attempt in 1..=3 {
        service.claim_packaging("w").await.unwrap().unwrap();
        last = store_file(&test_service, &format!("{id}/1/hls/{attempt}/master.m3u8"));
        test_service.wait_ms(61_000);
        service.reclaim_expired_leases().await.unwrap();
    }
    assert_deleted_in_an_hour(&test_service, &last).await;

    let id = order("deleted while it is packaged").await;
    let claim = test_service.claim().await;
    service.poster_stored(&claim).await.unwrap().unwrap();
    service.finish_render(&claim, &some_files(), &[]).await.unwrap().unwrap();
    service.claim_packaging("w").await.unwrap().unwrap();
    service.delete_render(caller, &id).await.unwrap();
    let late = store_file(&test_service, &format!("{id}/1/hls/1/master.m3u8"));
    assert_deleted_in_an_hour(&test_service, &late).await;
}

async fn a_render_that_no_worker_has_claimed_leaves_nothing_to_delete(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let id = test_service.upload("chair", Some("{}")).await.unwrap().result.render_id.to_string();
    service.cancel_render(&test_service.caller, &id).await.unwrap();
    let scheduled = unreferenced_objects::list(&mut service.db().read().await.unwrap()).await.unwrap();
    assert!(scheduled.is_empty(), "{scheduled:?}");
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        a_render_goes_from_pending_to_done_and_its_packaging_follows
        a_worker_claims_free_previews_only_if_it_takes_their_class
        equal_frames_are_claimed_together
        eight_workers_claim_each_of_1000_renders_once
        the_renders_of_many_workers_that_are_lost_together_are_requeued_together
        a_lost_render_that_cannot_be_requeued_is_tried_once
        a_render_with_lost_workers_is_retried_twice_and_then_refunded
        a_released_render_is_resumed_by_another_worker
        failures_are_refunded_once_unless_the_model_caused_them
        packaging_fails_after_three_lost_workers_and_the_video_remains
        cancel_and_claim_exclude_each_other
        files_of_ended_attempts_are_deleted_in_an_hour
        a_render_that_no_worker_has_claimed_leaves_nothing_to_delete
    }
}
