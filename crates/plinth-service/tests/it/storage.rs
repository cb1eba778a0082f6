//! Tests of deletion holds.

use plinth_db::previews::{self, Request, RequestKey, State};
use plinth_service::Clock;
use plinth_spec::id::ModelId;
use plinth_testkit::on_both_databases;

use crate::test_service::{START, TestService};

/// Time in milliseconds after which the hold of a killed process expires.
const HOLD_MS: i64 = 600_000;

async fn a_hold_is_renewed_until_it_is_released(address: &str) {
    let test_service = TestService::with(address, |options| {
        options.clock = Clock::Database;
        options.hold_secs = 1;
    });
    let test_service = test_service.await;
    let now = async || test_service.service.db().read().await.unwrap().now_ms().await.unwrap();
    let hold = test_service.service.hold_storage().await.unwrap();
    let end = now().await + 2500;
    while now().await < end {
        assert!(test_service.service.is_held().await.unwrap());
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert!(hold.release().await.unwrap(), "the hold did not expire in the meantime");
    assert!(!test_service.service.is_held().await.unwrap());
}

async fn an_expired_hold_is_reported_and_cannot_be_renewed(address: &str) {
    let test_service = TestService::new(address).await;
    let lost = test_service.service.hold_storage().await.unwrap();
    test_service.wait_ms(HOLD_MS);
    assert!(!test_service.service.is_held().await.unwrap());
    let other = test_service.service.hold_storage().await.unwrap();
    assert!(!lost.release().await.unwrap(), "objects may have been deleted after the hold expired");
    assert!(test_service.service.is_held().await.unwrap(), "releasing one hold does not end another hold");
    assert!(other.release().await.unwrap());
    assert!(!test_service.service.is_held().await.unwrap());
}

async fn the_holder_learns_that_its_hold_has_expired(address: &str) {
    // The hold is renewed ten times per second of real time.
    let test_service = TestService::with(address, |options| options.hold_secs = 1).await;
    let hold = test_service.service.hold_storage().await.unwrap();
    test_service.wait_ms(1000);
    tokio::time::timeout(std::time::Duration::from_mins(1), hold.lost()).await.unwrap();
    assert!(!hold.release().await.unwrap());
}

async fn a_dropped_hold_expires(address: &str) {
    let test_service = TestService::new(address).await;
    drop(test_service.service.hold_storage().await.unwrap());
    assert!(test_service.service.is_held().await.unwrap());
    test_service.wait_ms(HOLD_MS);
    assert!(!test_service.service.is_held().await.unwrap());
    test_service.service.clean_up().await.unwrap();
}

async fn a_hold_keeps_no_requests_for_previews(address: &str) {
    let test_service = TestService::new(address).await;
    let (caller, model) = (&test_service.caller, test_service.model("chair").await);
    let request = Request {
        key: RequestKey {
            account_id: caller.account_id.clone(),
            model_id: ModelId::parse(&model).unwrap(),
            page_id: "page".to_owned(),
            request_id: "request".to_owned(),
        },
        workspace_id: caller.workspace_id.clone(),
        payer_id: caller.payer_id.clone(),
        request: "{}".to_owned(),
    };
    let (placed, key) = (request.clone(), request.key);
    let placing =
        test_service.service.db().write(move |tx| Box::pin(async move { previews::insert(tx, &placed, START).await }));
    placing.await.unwrap();
    let _hold = test_service.service.hold_storage().await.unwrap();
    test_service.wait_ms(HOLD_MS - 1);
    assert_eq!(test_service.service.clean_up().await.unwrap().rows, 1);
    assert!(test_service.service.is_held().await.unwrap());
    let state = previews::find_state(&mut test_service.service.db().read().await.unwrap(), &key, START).await.unwrap();
    assert_eq!(state, State::Replaced, "the row is gone");
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        a_hold_is_renewed_until_it_is_released
        an_expired_hold_is_reported_and_cannot_be_renewed
        the_holder_learns_that_its_hold_has_expired
        a_dropped_hold_expires
        a_hold_keeps_no_requests_for_previews
    }
}
