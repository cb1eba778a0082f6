//! Tests of which renders are claimed together because they have the same frames.

use plinth_db::queue::{self, Kind};
use plinth_db::renders::{self, Render};
use plinth_service::jobs::Claim;
use plinth_spec::funding::Pool;
use plinth_spec::id::RenderId;
use plinth_spec::state::RenderStatus;
use plinth_testkit::on_both_databases;
use serde_json::json;

use crate::test_service::TestService;

async fn a_free_render_shares_its_frames_with_the_preview_of_an_upload(address: &str) {
    let test_service = TestService::new(address).await;
    let uploaded = test_service.upload("chair", None).await.unwrap().result;
    test_service.grant(Pool::Paid, -test_service.account().await.paid.cast_signed()).await;
    test_service.grant(Pool::Free, 100).await;
    let free = test_service.render(uploaded.model_id.as_str(), json!({"quality": "share"}), None).await.unwrap();
    let claims = test_service.service.claim_renders("worker", 16).await.unwrap();
    let claimed: Vec<&RenderId> = claims.iter().map(|claim| &claim.render.id).collect();
    assert_eq!(claimed, [&free.id, &uploaded.render_id]);
    assert!(claims.iter().all(Claim::is_marked));
}

async fn renders_of_a_version_that_stored_no_hash_of_the_frames_are_claimed_alone(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    test_service.upload("chair", Some("{}")).await.unwrap();
    let made = test_service.claim().await.render;
    let old = |id: &str, settings: &str| Render {
        id: RenderId::parse(id).unwrap(),
        settings: settings.to_owned(),
        frames_sha256: String::new(),
        status: RenderStatus::Pending,
        ..made.clone()
    };
    let rows = [old("first0000000", "{}"), old("second000000", r#"{"length":1}"#)];
    let inserting = service.db().write(move |tx| {
        Box::pin(async move {
            renders::insert_all(tx, &rows).await?;
            queue::enter(tx, Kind::Render, [rows[0].work_class], &rows[0].payer_id).await
        })
    });
    inserting.await.unwrap();
    for _render in 0..2 {
        assert_eq!(service.claim_renders("worker", 16).await.unwrap().len(), 1);
    }
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        a_free_render_shares_its_frames_with_the_preview_of_an_upload
        renders_of_a_version_that_stored_no_hash_of_the_frames_are_claimed_alone
    }
}
