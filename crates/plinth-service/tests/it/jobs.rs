//! The workers' door.

use std::collections::BTreeSet;
use std::sync::Arc;

use plinth_service::jobs::LeaseLost;
use plinth_spec::funding::Pool;
use plinth_spec::idempotency::ReplayKey;
use plinth_spec::state::{HlsStatus, RenderStatus};
use plinth_spec::wire::{BatchItem, CreateBatch};
use plinth_spec::{ErrorCode, FailureCode, OutputFile};
use plinth_testkit::on_both_databases;
use serde_json::json;
use tokio::sync::Barrier;

use crate::house::{House, some_files};

async fn a_render_goes_from_pending_to_done_and_its_packaging_follows(address: &str) {
    let house = House::new(address).await;
    let service = &house.service;
    let id = house.upload("chair", Some("{}")).await.unwrap().result.render_id.to_string();
    let status = async || service.render(&house.caller, &id).await.unwrap();
    let claim = house.claim().await;
    assert!(service.claim_renders("other", 1).await.unwrap().is_empty());
    assert_eq!(status().await.status, RenderStatus::PosterProcessing);
    service.poster_stored(&claim).await.unwrap().unwrap();
    assert_eq!(status().await.status, RenderStatus::VideoProcessing);
    assert!(service.claim_packaging("worker").await.unwrap().is_none(), "not before the video");
    service.finish_render(&claim, &some_files(), &["no mesh 'x'".to_owned()]).await.unwrap().unwrap();
    let done = status().await;
    assert_eq!((done.status, done.file_size), (RenderStatus::Done, Some(3)));
    assert!(done.has_web_variant && done.has_thumb && !done.hls_ready);
    assert_eq!(done.warnings, ["no mesh 'x'"]);

    let packaging = service.claim_packaging("worker").await.unwrap().unwrap();
    assert_eq!(status().await.hls_status, HlsStatus::Processing);
    service.release_packaging(&packaging).await.unwrap().unwrap();
    let packaging = service.claim_packaging("worker").await.unwrap().unwrap();
    service.finish_packaging(&packaging).await.unwrap().unwrap();
    let ready = status().await;
    assert!(ready.hls_ready && ready.updated_at > done.updated_at);
    assert_eq!(service.finish_packaging(&packaging).await.unwrap(), Err(LeaseLost));
}

async fn equal_frames_are_claimed_together(address: &str) {
    let house = House::new(address).await;
    let service = &house.service;
    let (a, b) = (house.model("a").await, house.model("b").await);
    for n in 1..=2 {
        for model in [&a, &b] {
            house.render(model, json!({"quality": "share", "length": n}), None).await.unwrap();
            house.render(model, json!({"length": f64::from(n), "quality": "share"}), Some("again")).await.unwrap();
        }
    }
    // All were placed in one moment of the tests' clock, so they come in any order.
    let (mut previews, mut pairs) = (0, 0);
    while previews + pairs < 6 {
        let group = service.claim_renders("first", 4).await.unwrap();
        if group[0].render.is_system_preview {
            assert_eq!(group.len(), 1, "a preview carries a mark, so its frames are no other's");
            assert!(group[0].is_marked());
            previews += 1;
        } else {
            assert_eq!(group.len(), 2);
            assert_eq!(group[0].render.model_id, group[1].render.model_id);
            assert_eq!(group[0].render.frames_sha256, group[1].render.frames_sha256);
            assert_ne!(
                group[0].render.settings_sha256, group[1].render.settings_sha256,
                "written differently, the same frames"
            );
            assert_ne!(group[0].token, group[1].token, "each has its own lease");
            pairs += 1;
        }
    }
    assert_eq!((previews, pairs), (2, 4));
    assert!(service.claim_renders("first", 4).await.unwrap().is_empty());
}

async fn eight_workers_claim_each_of_1000_renders_once(address: &str) {
    let house = House::new(address).await;
    house.grant(Pool::Paid, 1000).await;
    let model = house.model("chair").await;
    // Each angle is ordered twice, so that claims are of one and of two; equal settings would be one order.
    for batch in 0..10 {
        let item = |n: u32| BatchItem {
            model_id: Some(model.clone()),
            render_settings: Some(json!({"quality": "share", "length": 0.04, "rotateY": batch / 2 * 30, "panX": n,
                                         "strictCredits": batch % 2 == 1})),
        };
        let request = CreateBatch { renders: Some((0..100).map(item).collect()) };
        let key = ReplayKey::from_header(Some(&format!("batch {batch}")));
        house.service.create_batch(&house.caller, request, key).await.unwrap();
    }
    // They claim at the same moment, and go on once each has claims: SQLite has one writer, who else might take all.
    let (mut workers, together) = (Vec::new(), Arc::new(Barrier::new(8)));
    for n in 0..8 {
        let (service, together) = (house.beside(address).await, Arc::clone(&together));
        workers.push(tokio::spawn(async move {
            let (mut taken, most) = (Vec::new(), 1 + n % 3);
            together.wait().await;
            loop {
                let claims = service.claim_renders(&format!("w{n}"), most).await.unwrap();
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
        assert!(!taken.is_empty(), "each of them gets some");
        for claim in taken {
            assert_eq!((claim.render.attempt, claim.render.status), (1, RenderStatus::PosterProcessing));
            renders.push(claim.render.id);
            tokens.insert(claim.token);
        }
    }
    let once: BTreeSet<_> = renders.iter().collect();
    assert_eq!((renders.len(), once.len(), tokens.len()), (1001, 1001, 1001), "with the preview of the upload");
}

async fn a_render_whose_worker_is_lost_is_tried_twice_more_and_then_refunded(address: &str) {
    let house = House::new(address).await;
    let service = &house.service;
    let id = house.upload("chair", Some("{}")).await.unwrap().result.render_id.to_string();
    let render = async || service.render(&house.caller, &id).await.unwrap();
    let first = house.claim().await;
    house.wait_ms(59_000);
    assert_eq!(service.renew_claim(&first).await.unwrap(), Ok(()));
    service.poster_stored(&first).await.unwrap().unwrap();
    house.wait_ms(59_000);
    assert_eq!(service.reap().await.unwrap(), 0, "the lease was renewed");
    house.wait_ms(2_000);
    let reapers = (0..4).map(|_n| {
        let service = service.clone();
        tokio::spawn(async move { service.reap().await.unwrap() })
    });
    let mut reaped = 0;
    for reaper in reapers.collect::<Vec<_>>() {
        reaped += reaper.await.unwrap();
    }
    assert_eq!(reaped, 1);
    let waiting = render().await;
    assert_eq!((waiting.status, waiting.failure_code), (RenderStatus::Pending, None));
    let poster = service.render_file(&house.caller, &id, OutputFile::Poster).await;
    assert_eq!(poster.map(drop).unwrap_err().code, ErrorCode::PosterNotFound, "its files no longer count");
    assert_eq!(house.account().await.paid, 76);
    // A stopping worker that gives it back loses nothing.
    service.release_render(&house.claim().await).await.unwrap().unwrap();
    let mut last = house.claim().await;
    for losses in 2..=3 {
        house.wait_ms(61_000);
        assert_eq!(service.reap().await.unwrap(), 1);
        if losses == 2 {
            assert_eq!(render().await.status, RenderStatus::Pending);
            last = house.claim().await;
            assert_eq!(last.render.attempt, 4);
        }
    }
    let ended = render().await;
    assert_eq!((ended.status, ended.failure_code), (RenderStatus::Error, Some("reaped")));
    assert_eq!(house.account().await.paid, 100);
    // The workers were only slow: whatever they say now changes nothing.
    for claim in [&first, &last] {
        assert_eq!(service.renew_claim(claim).await.unwrap(), Err(LeaseLost));
        assert_eq!(service.poster_stored(claim).await.unwrap(), Err(LeaseLost));
        assert_eq!(service.finish_render(claim, &some_files(), &[]).await.unwrap(), Err(LeaseLost));
        assert_eq!(service.fail_render(claim, FailureCode::Timeout, "").await.unwrap(), Err(LeaseLost));
    }
    assert_eq!(render().await.status, RenderStatus::Error);
    assert_eq!(house.account().await.paid, 100);
    house.assert_balanced().await;
}

async fn a_stopping_worker_gives_back_and_another_goes_on(address: &str) {
    let house = House::new(address).await;
    let service = &house.service;
    let id = house.upload("chair", Some("{}")).await.unwrap().result.render_id.to_string();
    let status = async || service.render(&house.caller, &id).await.unwrap().status;
    let first = house.claim().await;
    service.release_render(&first).await.unwrap().unwrap();
    assert_eq!(status().await, RenderStatus::Pending);
    let second = house.claim().await;
    assert_eq!(second.render.attempt, 2);
    service.poster_stored(&second).await.unwrap().unwrap();
    service.release_render(&second).await.unwrap().unwrap();
    assert_eq!(status().await, RenderStatus::PosterDone);
    let third = house.claim().await;
    assert_eq!((third.render.status, third.render.attempt), (RenderStatus::VideoProcessing, 3));
    assert_eq!(service.fail_render(&second, FailureCode::Timeout, "").await.unwrap(), Err(LeaseLost));
    service.finish_render(&third, &some_files(), &[]).await.unwrap().unwrap();
    assert_eq!(status().await, RenderStatus::Done);
    assert_eq!(house.account().await.paid, 76, "charged once");
}

async fn every_failure_but_the_models_own_is_refunded_once(address: &str) {
    let house = House::new(address).await;
    let model = house.model("chair").await;
    house.service.fail_render(&house.claim().await, FailureCode::Timeout, "").await.unwrap().unwrap();
    assert_eq!(house.account().await.paid, 100, "a free preview has nothing to refund");
    for &code in FailureCode::ALL {
        house.wait_ms(10_000);
        let before = house.account().await.paid;
        let render = house.render(&model, json!({"length": 1}), None).await.unwrap();
        let claim = house.claim().await;
        house.service.fail_render(&claim, code, "because").await.unwrap().unwrap();
        let lost = if code == FailureCode::RendererError { 4 } else { 0 };
        assert_eq!(house.account().await.paid, before - lost, "{}", code.as_str());
        let view = house.service.render(&house.caller, render.id.as_str()).await.unwrap();
        assert_eq!((view.failure_code, view.hls_status), (Some(code.as_str()), HlsStatus::Skipped));
    }
    house.assert_balanced().await;
}

async fn a_packaging_whose_workers_die_fails_after_three_times_and_the_video_stays(address: &str) {
    let house = House::new(address).await;
    let service = &house.service;
    let id = house.upload("chair", Some("{}")).await.unwrap().result.render_id.to_string();
    let claim = house.claim().await;
    service.poster_stored(&claim).await.unwrap().unwrap();
    service.finish_render(&claim, &some_files(), &[]).await.unwrap().unwrap();
    for _death in 0..3 {
        assert!(service.claim_packaging("w").await.unwrap().is_some());
        house.wait_ms(61_000);
        assert_eq!(service.reap().await.unwrap(), 1);
    }
    assert!(service.claim_packaging("w").await.unwrap().is_none());
    let render = service.render(&house.caller, &id).await.unwrap();
    assert_eq!((render.status, render.hls_status), (RenderStatus::Done, HlsStatus::Failed));
    assert_eq!(house.account().await.paid, 76, "nothing is refunded");
}

async fn cancel_and_claim_exclude_each_other(address: &str) {
    let house = House::new(address).await;
    house.grant(Pool::Paid, 1000).await;
    let model = house.model("chair").await;
    house.service.fail_render(&house.claim().await, FailureCode::Timeout, "").await.unwrap().unwrap();
    let (mut cancelled, mut claimed) = (0u64, 0u64);
    for n in 1..=40 {
        let length = f64::from(n) / 10.0;
        let render = house.render(&model, json!({"quality": "share", "length": length}), None).await.unwrap();
        let (service, caller, id) = (house.service.clone(), house.caller.clone(), render.id.to_string());
        let cancel = tokio::spawn(async move { service.cancel_render(&caller, &id).await });
        let taken = house.service.claim_renders("w", 1).await.unwrap();
        let cancel = cancel.await.unwrap();
        assert_ne!(cancel.is_ok(), !taken.is_empty(), "either one or the other");
        cancelled += u64::from(cancel.is_ok());
        claimed += taken.len() as u64;
    }
    assert_eq!(cancelled + claimed, 40);
    house.assert_balanced().await;
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        a_render_goes_from_pending_to_done_and_its_packaging_follows
        equal_frames_are_claimed_together
        eight_workers_claim_each_of_1000_renders_once
        a_render_whose_worker_is_lost_is_tried_twice_more_and_then_refunded
        a_stopping_worker_gives_back_and_another_goes_on
        every_failure_but_the_models_own_is_refunded_once
        a_packaging_whose_workers_die_fails_after_three_times_and_the_video_stays
        cancel_and_claim_exclude_each_other
    }
}
