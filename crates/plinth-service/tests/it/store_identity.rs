//! Tests of the check that the store belongs to the database.

use bytes::Bytes;
use plinth_service::Service;
use plinth_service::storage::FirstIdentity::{Create, LeaveToServer};
use plinth_service::storage::StoreMismatch;
use plinth_store::ObjectKey;
use plinth_testkit::{S3Server, on_both_databases};
use tempfile::TempDir;

use crate::test_service::TestService;

/// Returns the identity in the store.
async fn identity(service: &Service) -> String {
    String::from_utf8(service.store().read_all(&ObjectKey::StoreId).await.unwrap().to_vec()).unwrap()
}

async fn write_identity(service: &Service, id: &str) {
    service.store().put(&ObjectKey::StoreId, Bytes::from(id.to_owned())).await.unwrap();
}

async fn the_first_start_writes_an_identity_that_later_starts_find(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    assert_eq!(service.check_store_identity(Create).await.unwrap(), Ok(()));
    let id = identity(service).await;
    assert!(id.len() > 20, "{id}");
    assert_eq!(test_service.beside(address).await.check_store_identity(Create).await.unwrap(), Ok(()));
    assert_eq!(identity(service).await, id);
}

async fn the_store_of_another_machine_or_database_is_noticed(address: &str) {
    let test_service = TestService::new(address).await;
    assert_eq!(test_service.service.check_store_identity(Create).await.unwrap(), Ok(()));
    let expected = identity(&test_service.service).await;
    let folder = TempDir::new().unwrap();
    let other = test_service.elsewhere(address, &folder).await;
    let compared = other.check_store_identity(Create).await.unwrap();
    if other.db().is_shared() {
        assert_eq!(compared, Err(StoreMismatch::Empty { expected: expected.clone() }));
    } else {
        // Only one machine can use SQLite.
        assert_eq!((compared, identity(&other).await), (Ok(()), expected.clone()));
    }
    write_identity(&other, "another").await;
    let compared = other.check_store_identity(Create).await.unwrap();
    assert_eq!(compared, Err(StoreMismatch::Foreign { expected: expected.clone() }));
    // The message of the program asks for this object.
    write_identity(&other, &format!("{expected}\n")).await;
    assert_eq!(other.check_store_identity(Create).await.unwrap(), Ok(()));
}

async fn a_restored_store_or_database_without_an_identity_gets_the_one_of_the_other(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    write_identity(service, "known").await;
    assert_eq!(service.check_store_identity(Create).await.unwrap(), Ok(()), "the database has none");
    test_service.model("chair").await;
    service.store().delete(&ObjectKey::StoreId).await.unwrap();
    assert_eq!(service.check_store_identity(Create).await.unwrap(), Ok(()), "a copy of the store has none");
    assert_eq!(identity(service).await, "known");
}

async fn a_worker_stores_no_first_identity(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let folder = TempDir::new().unwrap();
    let worker = test_service.elsewhere(address, &folder).await;
    assert_eq!(worker.check_store_identity(LeaveToServer).await.unwrap(), Ok(()));
    write_identity(&worker, "of an earlier installation").await;
    assert_eq!(worker.check_store_identity(LeaveToServer).await.unwrap(), Ok(()));
    assert_eq!(service.check_store_identity(LeaveToServer).await.unwrap(), Ok(()));
    assert_eq!((service.store_id().await.unwrap(), service.expected_store_id().await.unwrap()), (None, None));
    assert_eq!(service.check_store_identity(Create).await.unwrap(), Ok(()));
    let expected = identity(service).await;
    assert_eq!(service.expected_store_id().await.unwrap().as_deref(), Some(expected.as_str()));
    assert_eq!(worker.check_store_identity(LeaveToServer).await.unwrap(), Err(StoreMismatch::Foreign { expected }));
}

async fn a_used_database_without_an_identity_is_not_used_with_an_empty_store(address: &str) {
    let test_service = TestService::new(address).await;
    test_service.model("chair").await;
    let folder = TempDir::new().unwrap();
    let other = test_service.elsewhere(address, &folder).await;
    if !other.db().is_shared() {
        // Only one machine can use SQLite.
        assert_eq!(other.check_store_identity(Create).await.unwrap(), Ok(()));
        return;
    }
    for first in [Create, LeaveToServer] {
        assert_eq!(other.check_store_identity(first).await.unwrap(), Err(StoreMismatch::NoFiles));
    }
    assert_eq!((other.store_id().await.unwrap(), other.expected_store_id().await.unwrap()), (None, None));
    let service = &test_service.service;
    assert_eq!(service.check_store_identity(Create).await.unwrap(), Ok(()), "this store has the model");
    assert_eq!(service.store_id().await.unwrap(), service.expected_store_id().await.unwrap());
}

async fn a_database_whose_models_were_deleted_may_have_an_empty_store(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let uploaded = test_service.upload("chair", None).await.unwrap().result;
    service.cancel_render(caller, uploaded.render_id.as_str()).await.unwrap();
    service.delete_model(caller, uploaded.model_id.as_str()).await.unwrap();
    let folder = TempDir::new().unwrap();
    let emptied = test_service.elsewhere(address, &folder).await;
    assert_eq!(emptied.check_store_identity(Create).await.unwrap(), Ok(()));
    assert_eq!(emptied.store_id().await.unwrap(), emptied.expected_store_id().await.unwrap());
}

async fn an_operator_can_choose_an_empty_store_by_writing_an_identity(address: &str) {
    let test_service = TestService::new(address).await;
    test_service.model("chair").await;
    let folder = TempDir::new().unwrap();
    let emptied = test_service.elsewhere(address, &folder).await;
    write_identity(&emptied, "a new text\n").await;
    assert_eq!(emptied.check_store_identity(Create).await.unwrap(), Ok(()));
    assert_eq!(emptied.expected_store_id().await.unwrap().as_deref(), Some("a new text"));
}

async fn processes_that_start_together_agree_on_one_identity(address: &str) {
    let test_service = TestService::new(address).await;
    let services = [test_service.beside(address).await, test_service.beside(address).await];
    let [first, second] = &services;
    let (one, other) = tokio::join!(first.check_store_identity(Create), second.check_store_identity(Create));
    assert_eq!((one.unwrap(), other.unwrap()), (Ok(()), Ok(())));
}

async fn processes_that_start_together_agree_on_one_identity_in_s3(address: &str) {
    let test_service = TestService::new(address).await;
    let s3 = S3Server::start().await;
    let services = [test_service.with_s3(&s3), test_service.with_s3(&s3)];
    let [first, second] = &services;
    let (one, other) = tokio::join!(first.check_store_identity(Create), second.check_store_identity(Create));
    assert_eq!((one.unwrap(), other.unwrap()), (Ok(()), Ok(())));
    assert_eq!(first.check_store_identity(Create).await.unwrap(), Ok(()));
}

async fn a_store_that_does_not_respond_is_no_mismatch(address: &str) {
    let test_service = TestService::new(address).await;
    std::fs::remove_dir_all(test_service.folder.path().join("objects")).unwrap();
    assert!(test_service.service.check_store_identity(Create).await.is_err());
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        the_first_start_writes_an_identity_that_later_starts_find
        the_store_of_another_machine_or_database_is_noticed
        a_restored_store_or_database_without_an_identity_gets_the_one_of_the_other
        a_worker_stores_no_first_identity
        a_used_database_without_an_identity_is_not_used_with_an_empty_store
        a_database_whose_models_were_deleted_may_have_an_empty_store
        an_operator_can_choose_an_empty_store_by_writing_an_identity
        processes_that_start_together_agree_on_one_identity
        processes_that_start_together_agree_on_one_identity_in_s3
        a_store_that_does_not_respond_is_no_mismatch
    }
}
