//! Tests of accounts, API keys and the limits on requests.

use std::time::Duration;

use plinth_db::{DbError, TimeLimits, sessions, tokens};
use plinth_service::Meter;
use plinth_service::access::{NewAccount, NewKey, NewKeyMade};
use plinth_spec::role::Role;
use plinth_spec::wire::Scope;
use plinth_spec::{ErrorCode, limits};
use plinth_testkit::{TestDatabase, on_both_databases};
use tokio::sync::oneshot;

use crate::test_service::{self, EMAIL, START, TestService, code, new_key};

async fn a_new_account_has_the_signup_bonus_and_its_own_workspace(address: &str) {
    let test_service = TestService::new(address).await;
    let account = test_service.account().await;
    assert_eq!((account.credits, account.paid, account.free, account.total), (100, 100, 0, 100));
    assert_eq!((account.email.as_str(), account.workspace), (EMAIL, None));
    assert_eq!(account.scopes, [Scope::Read, Scope::Render]);
    let again = test_service.service.create_account(NewAccount {
        email: " ADA@example.org ".to_owned(),
        is_admin: false,
        password_hash: None,
    });
    assert_eq!(code(again.await), ErrorCode::BadRequest, "e-mail addresses are compared without regard to case");
    test_service.assert_balanced().await;
}

async fn an_address_identifies_one_account_in_every_spelling(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let new = |email: &str| NewAccount { email: email.to_owned(), is_admin: false, password_hash: None };
    let grace = service.create_account(new(" Grace@Example.org ")).await.unwrap();
    let found = service.find_account("GRACE@example.org").await.unwrap();
    assert_eq!((found.id, found.email.as_str()), (grace, "grace@example.org"));
    assert_eq!(code(service.create_account(new("grace@EXAMPLE.org")).await), ErrorCode::BadRequest);
    let longest = format!("{}@b.c", "a".repeat(limits::EMAIL_BYTES - 4));
    service.create_account(new(&longest)).await.unwrap();
    for email in ["", "grace", "@b.c", "a@b", "a b@c.d", "a\u{7f}b@c.d", "a\n@c.d", &format!("a{longest}")] {
        assert_eq!(code(service.create_account(new(email)).await), ErrorCode::BadRequest, "{email:?}");
    }
}

async fn the_first_account_of_an_installation_is_created_once(address: &str) {
    let other = TestDatabase::sqlite();
    let test_service = TestService::new(other.address()).await;
    // The database at `address` has no account yet.
    let service = test_service.beside(address).await;
    let new = |email: &str| NewAccount { email: email.to_owned(), is_admin: true, password_hash: None };
    let first = service.create_first_account(new(" Root@Example.org ")).await.unwrap();
    assert_eq!(first, Some(service.find_account("root@example.org").await.unwrap().id));
    assert_eq!(service.create_first_account(new("grace@example.org")).await.unwrap(), None);
}

async fn the_time_of_the_last_use_of_a_key_is_stored_at_most_once_a_minute(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let account = &test_service.caller.account_id;
    let token = test_service::key(service, account, None, vec![Scope::Read]).await;
    let last_use = async || {
        let caller = service.authenticate(Some(&token)).await.unwrap();
        let keys = service.keys(account).await.unwrap();
        let used = keys.into_iter().map(|key| key.token).find(|token| Some(&token.id) == caller.token_id.as_ref());
        used.unwrap().last_used_at.unwrap()
    };
    assert_eq!(last_use().await, START);
    test_service.wait_ms(59_999);
    assert_eq!(last_use().await, START);
    test_service.wait_ms(1);
    assert_eq!(last_use().await, START + 60_000);
}

/// PostgreSQL only: SQLite has no row locks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_succeeds_even_if_the_time_of_the_last_use_cannot_be_stored() {
    let database = TestDatabase::postgres();
    let test_service = TestService::new(database.address()).await;
    let service = &test_service.service;
    let token = test_service::key(service, &test_service.caller.account_id, None, vec![Scope::Read]).await;
    let secret = test_service.session().await;
    let key = service.authenticate(Some(&token)).await.unwrap().token_id.unwrap();
    let sha256 = service.session(&secret).await.unwrap().unwrap().caller.session_sha256.unwrap();
    let time_limits = TimeLimits { lock: Duration::from_millis(200), ..TimeLimits::default() };
    let limited = test_service.limited(database.address(), time_limits).await;
    test_service.wait_ms(60_000);
    let (locked, is_locked) = oneshot::channel();
    let (end, is_ended) = oneshot::channel::<()>();
    let db = service.db().clone();
    let locking = tokio::spawn(async move {
        let locking = db.write(|tx| {
            Box::pin(async move {
                tokens::touch(tx, &key, START).await?;
                sessions::touch(tx, &sha256, START).await?;
                locked.send(()).unwrap();
                is_ended.await.unwrap();
                Ok::<_, DbError>(())
            })
        });
        locking.await
    });
    is_locked.await.unwrap();
    limited.authenticate(Some(&token)).await.unwrap();
    assert!(limited.session(&secret).await.unwrap().is_some());
    end.send(()).unwrap();
    locking.await.unwrap().unwrap();
}

async fn rejected_tokens_name_the_reason(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let new = |expires_in_secs, has_legacy_prefix| NewKey {
        account_id: test_service.caller.account_id.clone(),
        workspace_id: None,
        name: String::new(),
        scopes: vec![Scope::Read],
        expires_in_secs,
        has_legacy_prefix,
    };
    for missing in [None, Some(""), Some("plinth_sk_nonsense")] {
        assert_eq!(code(service.authenticate(missing).await), ErrorCode::Unauthorized);
    }
    let legacy = service.create_key(new(None, true)).await.unwrap();
    assert!(legacy.token.starts_with("turntable_sk_"));
    let caller = service.authenticate(Some(&legacy.token)).await.unwrap();
    assert_eq!(code(caller.require(Scope::Render)), ErrorCode::InsufficientScope);
    assert!(caller.require(Scope::Read).is_ok());

    let short = service.create_key(new(Some(10), false)).await.unwrap();
    assert!(service.authenticate(Some(&short.token)).await.is_ok());
    test_service.wait_ms(10_000);
    assert_eq!(code(service.authenticate(Some(&short.token)).await), ErrorCode::TokenExpired);

    service.revoke_own_key(&test_service.caller, &legacy.id).await.unwrap();
    assert_eq!(code(service.authenticate(Some(&legacy.token)).await), ErrorCode::Unauthorized);
    assert_eq!(code(service.revoke_key(&legacy.id).await), ErrorCode::NotFound);

    let other = service.create_key(new(None, false)).await.unwrap();
    test_service::set_suspended(service, EMAIL, true).await;
    assert_eq!(code(service.authenticate(Some(&other.token)).await), ErrorCode::Forbidden);
    test_service::set_suspended(service, EMAIL, false).await;
    assert!(service.authenticate(Some(&other.token)).await.is_ok());
}

async fn a_member_works_in_the_workspace_and_its_owner_pays(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let guest = test_service::account(service, "grace@example.org").await;
    let team = service.create_workspace("Team", EMAIL).await.unwrap();
    let bind = |_unused: ()| NewKey {
        account_id: guest.clone(),
        workspace_id: Some(team.id.clone()),
        name: String::new(),
        scopes: vec![Scope::Read, Scope::Render],
        expires_in_secs: None,
        has_legacy_prefix: false,
    };
    assert_eq!(code(service.create_key(bind(())).await), ErrorCode::Forbidden, "not a member");
    service.set_member(&team.id, "grace@example.org", Role::Viewer).await.unwrap();
    assert_eq!(code(service.create_key(bind(())).await), ErrorCode::Forbidden, "a viewer");
    service.set_member(&team.id, "grace@example.org", Role::Editor).await.unwrap();
    let token = service.create_key(bind(())).await.unwrap().token;
    let caller = service.authenticate(Some(&token)).await.unwrap();
    let account = service.account(&caller).await.unwrap();
    assert_eq!(account.workspace.unwrap().name, "Team");

    let glb = plinth_testkit::glb_with_triangle("team");
    let settings = Some(r#"{"quality": "share"}"#);
    let model = test_service::upload(service, &caller, "team.glb", &glb, settings).await.unwrap().result;
    assert_eq!(test_service.account().await.paid, 94, "the owner pays");
    assert_eq!(service.find_account("grace@example.org").await.unwrap().balance.paid, 100);
    assert_eq!(code(service.model(&test_service.caller, model.model_id.as_str()).await), ErrorCode::ModelNotFound);
    let own = service.purchases(&caller, None, None).await.unwrap();
    assert_eq!(own.data.len(), 1, "the list has what the workspace spent, but not the signup bonus of its owner");

    test_service::set_suspended(service, EMAIL, true).await;
    let error = service.authenticate(Some(&token)).await.unwrap_err();
    assert_eq!((error.code, error.message.contains("owner")), (ErrorCode::Forbidden, true), "{error}");
    service.remove_member(&team.id, "grace@example.org").await.unwrap();
    let error = service.authenticate(Some(&token)).await.unwrap_err();
    assert_eq!((error.code, error.message.contains("member")), (ErrorCode::Forbidden, true), "{error}");
    service.set_member(&team.id, "grace@example.org", Role::Editor).await.unwrap();
    test_service::set_suspended(service, EMAIL, false).await;

    service.set_member(&team.id, "grace@example.org", Role::Viewer).await.unwrap();
    let viewer = service.authenticate(Some(&token)).await.unwrap();
    assert_eq!(code(viewer.require(Scope::Render)), ErrorCode::Forbidden);
    service.remove_member(&team.id, "grace@example.org").await.unwrap();
    assert_eq!(code(service.authenticate(Some(&token)).await), ErrorCode::Forbidden, "at once");
    service.set_member(&team.id, "grace@example.org", Role::Editor).await.unwrap();
    service.delete_workspace(&team.id).await.unwrap();
    assert_eq!(code(service.authenticate(Some(&token)).await), ErrorCode::Forbidden);
    test_service.assert_balanced().await;
}

async fn requests_are_counted_exactly_per_token_and_window(address: &str) {
    let test_service = TestService::with(address, |options| options.requests_per_minute = 30).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let counting = (0..40).map(|_n| {
        let (service, caller) = (service.clone(), caller.clone());
        tokio::spawn(async move { service.count_request(&caller, Meter::Requests).await.unwrap() })
    });
    let mut passed = 0;
    for allowance in counting.collect::<Vec<_>>() {
        passed += usize::from(allowance.await.unwrap().check().is_ok());
    }
    assert_eq!(passed, 30);
    test_service.wait_ms(58_500);
    let over = service.count_request(caller, Meter::Requests).await.unwrap();
    let error = over.check().unwrap_err();
    assert_eq!((error.code, error.retry_after_secs), (ErrorCode::RateLimited, Some(2)), "rounded up");
    assert_eq!(service.count_request(caller, Meter::Ingests).await.unwrap().remaining, 19);
    test_service.wait_ms(1_500);
    let fresh = service.count_request(caller, Meter::Requests).await.unwrap();
    assert_eq!((fresh.remaining, fresh.reset_secs, fresh.is_exceeded), (29, 60, false));
}

async fn a_limit_ends_when_the_clock_is_set_back(address: &str) {
    let test_service = TestService::with(address, |options| options.requests_per_minute = 2).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    for step_ms in [0, -3_600_000] {
        test_service.wait_ms(step_ms);
        for is_exceeded in [false, false, true, true] {
            let allowance = service.count_request(caller, Meter::Requests).await.unwrap();
            assert_eq!(allowance.is_exceeded, is_exceeded, "{step_ms}");
        }
    }
}

async fn the_requests_of_all_keys_of_an_account_are_limited(address: &str) {
    let test_service = TestService::with(address, |options| options.requests_per_minute = 3).await;
    let service = &test_service.service;
    let mut passed = 0;
    for _key in 0..limits::ACCOUNT_FACTOR + 2 {
        let scopes = vec![Scope::Read];
        let key = test_service::key(service, &test_service.caller.account_id, None, scopes).await;
        let caller = service.authenticate(Some(&key)).await.unwrap();
        for _request in 0..4 {
            let allowance = service.count_request(&caller, Meter::Requests).await.unwrap();
            passed += u32::from(allowance.check().is_ok());
        }
    }
    assert_eq!(passed, 3 * limits::ACCOUNT_FACTOR);
    let guest = test_service::caller(service, "grace@example.org").await;
    service.count_request(&guest, Meter::Requests).await.unwrap().check().unwrap();
}

async fn a_key_is_valid_until_it_expires(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let account = test_service::account(service, "grace@example.org").await;
    let new = NewKey { expires_in_secs: Some(60), ..new_key(&account) };
    let token = service.create_key(new).await.unwrap().token;
    for (wait_ms, is_valid) in [(59_999, true), (1, false)] {
        test_service.wait_ms(wait_ms);
        assert_eq!(service.keys(&account).await.unwrap()[0].is_valid, is_valid);
        assert_eq!(service.authenticate(Some(&token)).await.is_ok(), is_valid);
    }
}

async fn a_key_belongs_to_the_account_that_creates_it(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let grace = test_service::caller(service, "grace@example.org").await;
    let new = |chars: usize| NewKey { name: "ä".repeat(chars), ..new_key(&test_service.caller.account_id) };
    let NewKeyMade { id, token } = service.create_own_key(&grace, new(limits::KEY_NAME_CHARS)).await.unwrap();
    let owner = &test_service.caller;
    service.create_own_key(owner, new(0)).await.unwrap();
    assert_eq!(code(service.revoke_own_key(owner, &id).await), ErrorCode::NotFound, "a key of somebody else");
    assert_eq!(service.authenticate(Some(&token)).await.unwrap().account_id, grace.account_id);
    assert_eq!(code(service.create_own_key(&grace, new(limits::KEY_NAME_CHARS + 1)).await), ErrorCode::BadRequest);
    for name in ["a\0b", "a\nb"] {
        let new = NewKey { name: name.to_owned(), ..new_key(&grace.account_id) };
        assert_eq!(code(service.create_own_key(&grace, new).await), ErrorCode::BadRequest, "{name:?}");
    }
}

async fn the_number_of_active_keys_per_account_is_limited(address: &str) {
    let test_service = TestService::new(address).await;
    let account = test_service::account(&test_service.service, "grace@example.org").await;
    let new = |expires_in_secs| NewKey { expires_in_secs, ..new_key(&account) };
    let first = test_service.service.create_key(new(None)).await.unwrap();
    for _n in 1..limits::KEYS {
        test_service.service.create_key(new(Some(60))).await.unwrap();
    }
    let rejected = test_service.service.create_key(new(None)).await.unwrap_err();
    assert_eq!((rejected.code, rejected.status), (ErrorCode::LimitReached, 429));
    test_service.service.revoke_key(&first.id).await.unwrap();
    test_service.service.create_key(new(None)).await.unwrap();
    assert!(test_service.service.create_key(new(None)).await.is_err());
    test_service.wait_ms(60_000);
    test_service.service.create_key(new(None)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_of_one_account_do_not_use_up_the_connections() {
    let database = TestDatabase::postgres();
    let test_service = TestService::new(database.address()).await;
    let service = &test_service.service;
    let guest = test_service::caller(service, "guest@example.org").await;
    let key = format!("requests:{}", test_service.caller.token_id.as_ref().unwrap());
    let (locked, is_locked) = oneshot::channel();
    // Another process takes three seconds to count a request of the same account.
    let slow = service.db().clone();
    let slow = tokio::spawn(async move {
        let counting = slow.write(|tx| {
            Box::pin(async move {
                plinth_db::rate_windows::count(tx, &[(key, 300)], 1, 60_000, Some(1)).await?;
                locked.send(()).unwrap();
                tokio::time::sleep(Duration::from_secs(3)).await;
                Ok::<_, DbError>(())
            })
        });
        counting.await.unwrap();
    });
    is_locked.await.unwrap();
    let many = (0..100).map(|_request| {
        let (service, caller) = (service.clone(), test_service.caller.clone());
        tokio::spawn(async move { service.count_request(&caller, Meter::Requests).await.unwrap() })
    });
    let many: Vec<_> = many.collect();
    for _request in 0..20 {
        let request = async {
            service.count_request(&guest, Meter::Requests).await.unwrap();
            service.account(&guest).await.unwrap();
        };
        tokio::time::timeout(Duration::from_secs(1), request).await.expect("another account is served");
    }
    assert!(!slow.is_finished(), "the test was too slow to show anything");
    slow.await.unwrap();
    let mut remaining = Vec::new();
    for counted in many {
        let allowance = counted.await.unwrap();
        assert!(!allowance.is_exceeded);
        remaining.push(allowance.remaining);
    }
    remaining.sort_unstable();
    assert_eq!(remaining, (200..300).collect::<Vec<_>>(), "requests that are counted together are counted one by one");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_that_is_known_to_be_exceeded_needs_no_database() {
    let database = TestDatabase::postgres();
    let test_service = TestService::with(database.address(), |options| options.requests_per_minute = 2).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let other = test_service.beside(database.address()).await;
    for is_exceeded in [false, false, true] {
        assert_eq!(service.count_request(caller, Meter::Requests).await.unwrap().is_exceeded, is_exceeded);
    }
    assert!(other.count_request(caller, Meter::Requests).await.unwrap().is_exceeded, "processes share the counters");
    service.db().close().await;
    let known = service.count_request(caller, Meter::Requests).await.unwrap();
    assert!(known.is_exceeded && known.remaining == 0 && known.reset_secs > 0, "{known:?}");
    test_service.wait_ms(60_000);
    assert!(service.count_request(caller, Meter::Requests).await.is_err(), "a new window is in the database");
    assert!(!other.count_request(caller, Meter::Requests).await.unwrap().is_exceeded);
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        the_number_of_active_keys_per_account_is_limited
        a_new_account_has_the_signup_bonus_and_its_own_workspace
        an_address_identifies_one_account_in_every_spelling
        the_first_account_of_an_installation_is_created_once
        the_time_of_the_last_use_of_a_key_is_stored_at_most_once_a_minute
        rejected_tokens_name_the_reason
        a_member_works_in_the_workspace_and_its_owner_pays
        requests_are_counted_exactly_per_token_and_window
        a_limit_ends_when_the_clock_is_set_back
        the_requests_of_all_keys_of_an_account_are_limited
        a_key_is_valid_until_it_expires
        a_key_belongs_to_the_account_that_creates_it
    }
}
