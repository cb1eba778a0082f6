//! Tests of the pictures of looks, and of the limit on their total size in a workspace.

use std::time::Duration;

use plinth_spec::wire::UpdateLook;
use plinth_spec::{ErrorCode, limits};
use plinth_testkit::on_both_databases;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::test_service::{TestService, code, some_files};

/// Settings with about 130 000 characters.
fn large() -> Value {
    json!({"hiddenMeshNames": vec!["x".repeat(256); 512]})
}

/// Saves large looks until the workspace has no room for another one. Returns their number.
async fn fill(test_service: &TestService) -> u64 {
    for number in 0..limits::LOOKS {
        let saved = test_service.service.save_look(&test_service.caller, &number.to_string(), &large(), false).await;
        if let Err(error) = saved {
            assert_eq!(error.code, ErrorCode::LimitReached);
            assert!(error.message.contains(&limits::LOOKS_CHARACTERS.to_string()), "{}", error.message);
            return number;
        }
    }
    panic!("the workspace has room for {} large looks", limits::LOOKS);
}

async fn looks_of_a_workspace_have_a_maximum_total_size(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let filled = fill(&test_service).await;
    let size = |count: u64| count * large().to_string().len() as u64;
    assert!(size(filled) <= limits::LOOKS_CHARACTERS && size(filled + 1) > limits::LOOKS_CHARACTERS, "{filled}");
    let small = service.save_look(caller, "small", &json!({}), false).await.unwrap();
    let change = async |id: &str, settings: Value| {
        let change = UpdateLook { render_settings: Some(settings), ..UpdateLook::default() };
        service.change_look(caller, id, change).await
    };
    assert_eq!(code(change(&small.id, large()).await), ErrorCode::LimitReached);
    assert_eq!(code(service.save_look(caller, "small", &large(), true).await), ErrorCode::LimitReached);
    let first = service.save_look(caller, "0", &large(), true).await.unwrap();
    change(&first.id, json!({})).await.unwrap();
    change(&small.id, large()).await.unwrap();
}

async fn lists_of_large_looks_reserve_memory_until_they_are_sent(address: &str) {
    let test_service = TestService::new(address).await;
    fill(&test_service).await;
    let list = async || {
        timeout(Duration::from_secs(1), test_service.service.list_looks(&test_service.caller)).await.map(Result::unwrap)
    };
    let (page, first) = list().await.unwrap();
    let (_page, second) = list().await.unwrap();
    assert!(page.data.len() > 30);
    assert!(list().await.is_err(), "three such lists have more than the share of one account");
    drop((first, second));
    assert!(list().await.is_ok());
}

async fn a_free_preview_is_the_picture_of_a_look_with_its_settings(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let mut looks = Vec::new();
    for quality in ["share", "standard"] {
        looks.push(service.save_look(caller, quality, &json!({"quality": quality}), false).await.unwrap());
    }
    let pictures = async || service.look_pictures(caller, &looks).await.unwrap();
    let preview = test_service.upload("chair", None).await.unwrap().result.render_id;
    let claim = test_service.claim().await;
    service.poster_stored(&claim).await.unwrap().unwrap();
    assert!(pictures().await.iter().all(Option::is_none), "it is not finished");
    service.finish_render(&claim, &some_files(), &[]).await.unwrap().unwrap();
    let shown = pictures().await;
    assert!(shown[0].as_ref().is_some_and(|link| link.contains(preview.as_str())), "{shown:?}");
    assert!(shown[1].is_none(), "{shown:?}");
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        a_free_preview_is_the_picture_of_a_look_with_its_settings
        looks_of_a_workspace_have_a_maximum_total_size
        lists_of_large_looks_reserve_memory_until_they_are_sent
    }
}
