//! Tests that an upload creates nothing if the caller loses its rights while the body arrives.

use std::time::Duration;

use plinth_service::Result;
use plinth_service::access::{Caller, NewKey};
use plinth_service::assets::{NewOverlay, NewTexture};
use plinth_service::models::{ModelQuery, Upload};
use plinth_spec::id::WorkspaceId;
use plinth_spec::role::Role;
use plinth_spec::wire::Scope;
use plinth_spec::{ErrorCode, limits};
use plinth_testkit::{glb_with_triangle, on_both_databases};

use crate::test_service::{self, EMAIL, TestService, code};

const GUEST: &str = "grace@example.org";
const SETTINGS: Option<&str> = Some(r#"{"quality": "share"}"#);

/// Uploads a model, and calls `change` after the first bytes have arrived and before the last ones.
async fn upload_while(
    test_service: &TestService,
    caller: &Caller,
    settings: Option<&str>,
    change: impl AsyncFnOnce(),
) -> Result<()> {
    let service = &test_service.service;
    let mut file = service.incoming_model(caller, None).await.unwrap();
    let glb = glb_with_triangle("a");
    let (first, rest) = glb.split_at(20);
    file.write(first).await.unwrap();
    change().await;
    file.write(rest).await.unwrap();
    let upload = Upload { file, name: "a.glb".to_owned(), settings: settings.map(str::to_owned) };
    service.upload_model(caller, upload).await.map(drop)
}

/// Asserts that the caller's workspace has no models and textures, and that no files are stored.
async fn assert_nothing_was_created(test_service: &TestService, caller: &Caller) {
    let service = &test_service.service;
    assert_eq!(service.list_models(caller, &ModelQuery::default()).await.unwrap().data.len(), 0);
    assert_eq!(service.list_textures(caller).await.unwrap().data.len(), 0);
    for folder in ["models", "textures", "overlays"] {
        let stored = std::fs::read_dir(test_service.folder.path().join("objects").join(folder));
        assert_eq!(stored.map_or(0, Iterator::count), 0, "the files of {folder} are deleted");
    }
    test_service.assert_balanced().await;
}

/// Creates a team with an editor. Returns the team, the caller of the editor's key for it, and the caller and secret of
/// the editor's browser session.
async fn editor(test_service: &TestService) -> (WorkspaceId, Caller, Caller, String) {
    let service = &test_service.service;
    let guest = test_service::account(service, GUEST).await;
    let team = service.create_workspace("Team", EMAIL).await.unwrap().id;
    service.set_member(&team, GUEST, Role::Editor).await.unwrap();
    let token = test_service::key(service, &guest, Some(&team), vec![Scope::Read, Scope::Render]).await;
    let key = service.authenticate(Some(&token)).await.unwrap();
    let link = service.create_sign_in(&guest, 60).await.unwrap();
    let secret = service.sign_in(&link, "").await.unwrap();
    let signed_in = service.session(&secret).await.unwrap().unwrap();
    service.choose_workspace(&secret, &signed_in, team.as_str()).await.unwrap();
    let session = service.session(&secret).await.unwrap().unwrap().caller;
    assert_eq!(session.workspace_id, team);
    (team, key, session, secret)
}

async fn a_key_that_ends_during_an_upload_creates_nothing(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, owner) = (&test_service.service, &test_service.caller);
    for settings in [None, SETTINGS] {
        let new = NewKey {
            account_id: owner.account_id.clone(),
            workspace_id: None,
            name: String::new(),
            scopes: vec![Scope::Read, Scope::Render],
            expires_in_secs: Some(60),
            has_legacy_prefix: false,
        };
        let revoked = service.create_key(new.clone()).await.unwrap();
        let expired = service.create_key(new).await.unwrap();
        let caller = service.authenticate(Some(&revoked.token)).await.unwrap();
        let revoke = async || service.revoke_key(&revoked.id).await.unwrap();
        let uploaded = upload_while(&test_service, &caller, settings, revoke).await;
        assert_eq!(code(uploaded), ErrorCode::Unauthorized);
        let caller = service.authenticate(Some(&expired.token)).await.unwrap();
        let uploaded = upload_while(&test_service, &caller, settings, async || test_service.wait_ms(60_000)).await;
        assert_eq!(code(uploaded), ErrorCode::TokenExpired);
    }
    assert_nothing_was_created(&test_service, owner).await;
    assert_eq!(test_service.account().await.paid, 100, "nothing was charged");
}

async fn a_member_who_is_removed_during_an_upload_creates_nothing(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let (team, key, session, _secret) = editor(&test_service).await;
    for caller in [&key, &session] {
        for settings in [None, SETTINGS] {
            let removed = async || service.remove_member(&team, GUEST).await.unwrap();
            assert_eq!(code(upload_while(&test_service, caller, settings, removed).await), ErrorCode::Forbidden);
            service.set_member(&team, GUEST, Role::Editor).await.unwrap();
            let viewer = async || service.set_member(&team, GUEST, Role::Viewer).await.unwrap();
            assert_eq!(code(upload_while(&test_service, caller, settings, viewer).await), ErrorCode::Forbidden);
            service.set_member(&team, GUEST, Role::Editor).await.unwrap();
        }
    }
    let owner_suspended = async || test_service::set_suspended(service, EMAIL, true).await;
    assert_eq!(code(upload_while(&test_service, &session, None, owner_suspended).await), ErrorCode::Forbidden);
    test_service::set_suspended(service, EMAIL, false).await;
    assert_nothing_was_created(&test_service, &key).await;
    assert_eq!(test_service.account().await.paid, 100, "nothing was charged");
    // The upload succeeds if the member keeps its rights.
    upload_while(&test_service, &session, SETTINGS, async || ()).await.unwrap();
    let deleted = async || service.delete_workspace(&team).await.unwrap();
    assert_eq!(code(upload_while(&test_service, &key, SETTINGS, deleted).await), ErrorCode::Forbidden, "a known file");
}

async fn a_session_that_ends_during_an_upload_creates_nothing(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let (_team, key, session, secret) = editor(&test_service).await;
    let signed_out = async || service.sign_out(&session, &secret).await.unwrap();
    assert_eq!(code(upload_while(&test_service, &session, SETTINGS, signed_out).await), ErrorCode::Unauthorized);
    let suspended = async || test_service::set_suspended(service, GUEST, true).await;
    assert_eq!(code(upload_while(&test_service, &key, None, suspended).await), ErrorCode::Forbidden);
    assert_nothing_was_created(&test_service, &key).await;
}

async fn assets_are_not_stored_for_callers_without_rights(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let (team, key, ..) = editor(&test_service).await;
    let png = async || {
        let room = service.room(&key, limits::IMAGE_BYTES, None).await.unwrap();
        let mut file = service.incoming_file(&room, limits::IMAGE_BYTES).unwrap();
        file.write(&plinth_testkit::png(1)).await.unwrap();
        Some(file)
    };
    let (texture, overlay) = (png().await, png().await);
    service.remove_member(&team, GUEST).await.unwrap();
    let texture = service.create_texture(&key, NewTexture { file: texture, name: None }).await;
    assert_eq!(code(texture), ErrorCode::Forbidden);
    let overlay = service.create_overlay(&key, NewOverlay { file: overlay, ..NewOverlay::default() }).await;
    assert_eq!(code(overlay), ErrorCode::Forbidden);
    assert_eq!(code(service.create_upload_url(&key, None).await), ErrorCode::Forbidden);
    assert_nothing_was_created(&test_service, &key).await;
}

async fn streams_of_events_are_limited_per_account(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let mut open = Vec::new();
    for _n in 0..limits::EVENT_STREAMS_AT_ONCE {
        open.push(service.event_stream(&test_service.caller).await.unwrap());
    }
    let error = service.event_stream(&test_service.caller).await.unwrap_err();
    assert_eq!((error.code, error.status, error.retry_after_secs), (ErrorCode::RateLimited, 429, Some(15)));
    let guest = test_service::caller(service, GUEST).await;
    let quick = tokio::time::timeout(Duration::from_secs(1), service.event_stream(&guest)).await;
    assert!(quick.unwrap().is_ok(), "another account does not wait");
    open.pop();
    service.event_stream(&test_service.caller).await.unwrap();
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        a_key_that_ends_during_an_upload_creates_nothing
        a_member_who_is_removed_during_an_upload_creates_nothing
        a_session_that_ends_during_an_upload_creates_nothing
        assets_are_not_stored_for_callers_without_rights
        streams_of_events_are_limited_per_account
    }
}
