//! Tests of sign-in links, passwords and sessions.

use plinth_db::accounts;
use plinth_db::sessions::{self, LinkPurpose};
use plinth_service::access::{Caller, ClientAddress, NewAccount};
use plinth_spec::role::Role;
use plinth_spec::wire::Scope;
use plinth_spec::{ErrorCode, limits};
use plinth_testkit::{TestDatabase, on_both_databases};
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;

use crate::teams::until_a_transaction_waits;
use crate::test_service::{self, EMAIL, START, TestService, client, code};

async fn a_sign_in_link_opens_one_session(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let link = service.create_sign_in(&test_service.caller.account_id, 60).await.unwrap();
    let session = service.sign_in(&link, "").await.unwrap();
    assert_eq!(code(service.sign_in(&link, "").await), ErrorCode::Unauthorized);
    let signed_in = service.session(&session).await.unwrap().unwrap();
    // The session has the same caller as the account's key, except that the caller has no key identifier.
    assert_eq!(
        Caller { token_id: test_service.caller.token_id.clone(), session_sha256: None, ..signed_in.caller.clone() },
        test_service.caller
    );
    assert_eq!(signed_in.caller.token_id, None);
    assert!(signed_in.made_form(&signed_in.form_token) && !signed_in.made_form(""));
    service.sign_out(&signed_in.caller, &session).await.unwrap();
    assert!(service.session(&session).await.unwrap().is_none());
    let late = service.create_sign_in(&test_service.caller.account_id, 60).await.unwrap();
    test_service.wait_ms(60_000);
    assert_eq!(code(service.sign_in(&late, "").await), ErrorCode::Unauthorized);
    for wrong in ["", "x", &link, &session, &"x".repeat(43)] {
        assert_eq!(code(service.sign_in(wrong, "").await), ErrorCode::Unauthorized);
        assert!(service.session(wrong).await.unwrap().is_none(), "the secret of a sign-in link is no session secret");
    }
}

async fn sessions_expire(address: &str) {
    let test_service = TestService::new(address).await;
    let (idle, used) = (test_service.session().await, test_service.session().await);
    let day_ms = 24 * 3_600_000;
    let (idle_ms, all_ms) = (3 * day_ms, 14 * day_ms);
    let lasts = async |secret: &str| test_service.service.session(secret).await.unwrap().is_some();
    test_service.wait_ms(idle_ms - 1);
    assert!(lasts(&used).await);
    test_service.wait_ms(1);
    assert!(lasts(&used).await && !lasts(&idle).await, "a session expires after three days without use");
    for _use in 0..(all_ms - idle_ms) / (idle_ms / 2) {
        assert!(lasts(&used).await);
        test_service.wait_ms(idle_ms / 2);
    }
    test_service.wait_ms(all_ms % (idle_ms / 2));
    assert!(!lasts(&used).await, "a session expires after its lifetime even if it is used");
    assert!(test_service.service.clean_up().await.unwrap().rows >= 2);
}

async fn sessions_that_are_not_used_for_days_are_not_listed(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let (unused, used) = (test_service.session().await, test_service.session().await);
    let listed = async || service.list_sessions(caller, &used).await.unwrap();
    let old = listed().await.into_iter().find(|one| !one.is_current).unwrap();
    let seen_at = async || listed().await.into_iter().find(|one| one.is_current).unwrap().seen_at;
    let idle_ms = limits::SESSION_IDLE_SECS * 1000;
    for (wait_ms, seen) in [(59_999, START), (1, START + 60_000), (idle_ms - 60_001, START + idle_ms - 1)] {
        test_service.wait_ms(wait_ms);
        assert!(service.session(&used).await.unwrap().is_some());
        assert_eq!(seen_at().await, seen, "stored at most once a minute");
    }
    assert_eq!(listed().await.len(), 2);
    test_service.wait_ms(1);
    assert_eq!(listed().await.len(), 1);
    assert!(service.session(&unused).await.unwrap().is_none());
    assert_eq!(code(service.end_session(caller, &old.id).await), ErrorCode::NotFound);
}

async fn suspending_and_signing_out_everywhere_end_all_sessions(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let gone = async |secret: &str| service.session(secret).await.unwrap().is_none();
    let (one, two) = (test_service.session().await, test_service.session().await);
    let other = test_service::caller(service, "grace@example.org").await;
    let link = service.create_sign_in(&other.account_id, 60).await.unwrap();
    let of_other = service.sign_in(&link, "").await.unwrap();
    service.sign_out_everywhere(&test_service.caller).await.unwrap();
    assert!(gone(&one).await && gone(&two).await && !gone(&of_other).await);
    let open = test_service.session().await;
    let link = service.create_sign_in(&test_service.caller.account_id, 60).await.unwrap();
    test_service::set_suspended(service, EMAIL, true).await;
    assert!(gone(&open).await);
    assert_eq!(code(service.sign_in(&link, "").await), ErrorCode::Unauthorized);
    assert_eq!(code(service.create_sign_in(&test_service.caller.account_id, 60).await), ErrorCode::Forbidden);
    test_service::set_suspended(service, EMAIL, false).await;
    assert!(gone(&open).await && !gone(&of_other).await);
}

async fn a_session_works_where_its_account_is_a_member(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let secret = test_service.session().await;
    let owner = test_service::caller(service, "grace@example.org").await;
    let team = service.create_workspace("Team", &owner.email).await.unwrap();
    let now = async || service.session(&secret).await.unwrap().unwrap();
    let choose = async |id: &str| service.choose_workspace(&secret, &now().await, id).await;
    assert_eq!(code(choose(team.id.as_str()).await), ErrorCode::NotFound);
    service.set_member(&team.id, EMAIL, Role::Viewer).await.unwrap();
    choose(team.id.as_str()).await.unwrap();
    let caller = now().await.caller;
    assert_eq!((&caller.workspace_id, &caller.payer_id, caller.role), (&team.id, &owner.account_id, Role::Viewer));
    assert_eq!(code(caller.require(Scope::Render)), ErrorCode::Forbidden);
    test_service::set_suspended(service, &owner.email, true).await;
    assert_eq!(
        now().await.caller.workspace_id,
        test_service.caller.workspace_id,
        "the owner of the selected workspace is suspended"
    );
    test_service::set_suspended(service, &owner.email, false).await;
    assert_eq!(now().await.caller.workspace_id, team.id);
    service.delete_workspace(&team.id).await.unwrap();
    assert_eq!((now().await.caller.bound, now().await.workspaces.len()), (None, 1));
    choose(test_service.caller.workspace_id.as_str()).await.unwrap();
}

async fn passwords_sign_in_and_are_counted(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let password_hash = Some(plinth_service::access::hash_password("a long one").unwrap());
    let new = NewAccount { email: "grace@example.org".to_owned(), is_admin: false, password_hash };
    service.create_account(new).await.unwrap();
    let attempt = async |email: &str, password: &str| {
        service.sign_in_with_password(client("192.0.2.1"), email, password.to_owned(), "").await
    };
    let secret = attempt("Grace@example.org", "a long one").await.unwrap();
    let signed_in = service.session(&secret).await.unwrap().unwrap().caller;
    assert_eq!(signed_in.email, "grace@example.org");
    assert!(service.has_password(&signed_in).await.unwrap());
    assert!(!service.has_password(&test_service.caller).await.unwrap());
    assert_eq!(code(attempt("grace@example.org", "another").await), ErrorCode::Unauthorized);
    assert_eq!(
        code(attempt(EMAIL, "").await),
        ErrorCode::Unauthorized,
        "an account without a password cannot sign in with one"
    );
    test_service::set_suspended(service, "grace@example.org", true).await;
    assert_eq!(code(attempt("grace@example.org", "another").await), ErrorCode::Unauthorized);
    assert_eq!(code(attempt("grace@example.org", "a long one").await), ErrorCode::Forbidden);
    test_service::set_suspended(service, "grace@example.org", false).await;
    for _ in 4..limits::PASSWORDS_PER_CLIENT_AND_ACCOUNT {
        assert_eq!(code(attempt("grace@example.org", "another").await), ErrorCode::Unauthorized);
    }
    let over = attempt("grace@example.org", "a long one").await.unwrap_err();
    assert_eq!((over.code, over.retry_after_secs), (ErrorCode::RateLimited, Some(600)));
    test_service.wait_ms(600_000);
    assert!(attempt("grace@example.org", "a long one").await.is_ok());
}

async fn passwords_have_8_characters_to_1024_bytes(address: &str) {
    use plinth_service::access::hash_password;

    for password in ["ä".repeat(limits::PASSWORD_MIN_CHARS - 1), "x".repeat(1025)] {
        assert_eq!(code(hash_password(&password)), ErrorCode::BadRequest);
    }
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    for (email, password) in
        [("grace@example.org", "ä".repeat(limits::PASSWORD_MIN_CHARS)), ("b@c.d", "x".repeat(1024))]
    {
        let password_hash = Some(hash_password(&password).unwrap());
        service.create_account(NewAccount { email: email.to_owned(), is_admin: false, password_hash }).await.unwrap();
        service.sign_in_with_password(client("192.0.2.1"), email, password, "").await.unwrap();
    }
}

async fn wrong_passwords_of_some_clients_do_not_lock_out_others(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let password_hash = Some(plinth_service::access::hash_password("a long one").unwrap());
    for email in ["grace@example.org", "alan@example.org"] {
        let new = NewAccount { email: email.to_owned(), is_admin: false, password_hash: password_hash.clone() };
        service.create_account(new).await.unwrap();
    }
    // These passwords are too long to be hashed, so that the test is fast.
    let wrong = async |client: ClientAddress, email: &str| {
        code(service.sign_in_with_password(client, email, "x".repeat(2000), "").await)
    };
    let right = async |client: ClientAddress, email: &str| {
        service.sign_in_with_password(client, email, "a long one".to_owned(), "").await
    };
    // Ten clients try 600 wrong passwords. After that, each client has reached its limit.
    for n in 0..10 {
        let attacker = client(&format!("192.0.2.{n}"));
        for at in 0..limits::PASSWORDS_PER_CLIENT {
            assert_eq!(wrong(attacker, &format!("{at}@example.org")).await, ErrorCode::Unauthorized);
        }
        assert_eq!(wrong(attacker, "another@example.org").await, ErrorCode::RateLimited);
        assert_eq!(code(right(attacker, "grace@example.org").await), ErrorCode::RateLimited);
    }
    right(client("198.51.100.1"), "grace@example.org").await.unwrap();
    // All addresses of one IPv6 network count as one client.
    for at in 0..limits::PASSWORDS_PER_CLIENT {
        assert_eq!(wrong(client(&format!("2001:db8::{at}")), &format!("{at}@b.org")).await, ErrorCode::Unauthorized);
    }
    assert_eq!(wrong(client("2001:db8::ffff"), "a@b.org").await, ErrorCode::RateLimited);
    // Many clients that try one account exhaust the limit of this account only. Sign-in links still work for it.
    for n in 0..limits::PASSWORDS_PER_ACCOUNT / limits::PASSWORDS_PER_CLIENT_AND_ACCOUNT {
        for _ in 0..limits::PASSWORDS_PER_CLIENT_AND_ACCOUNT {
            assert_eq!(wrong(client(&format!("203.0.113.{n}")), "alan@example.org").await, ErrorCode::Unauthorized);
        }
        assert_eq!(wrong(client(&format!("203.0.113.{n}")), "alan@example.org").await, ErrorCode::RateLimited);
    }
    assert_eq!(code(right(client("198.51.100.1"), "alan@example.org").await), ErrorCode::RateLimited);
    right(client("203.0.113.1"), "grace@example.org").await.unwrap();
    // The clients of an unknown reverse proxy share one address, which has a higher limit.
    let shared = ClientAddress { is_shared: true, ..client("127.0.0.1") };
    for at in 0..limits::PASSWORDS_PER_UNTRUSTED_PROXY {
        assert_eq!(wrong(shared, &format!("{at}@c.org")).await, ErrorCode::Unauthorized);
    }
    assert_eq!(code(right(shared, "grace@example.org").await), ErrorCode::RateLimited);
    test_service.wait_ms(600_000);
    right(client("192.0.2.1"), "alan@example.org").await.unwrap();
    test_service.wait_ms(1);
    right(client("192.0.2.2"), "alan@example.org").await.unwrap();
}

/// PostgreSQL only: SQLite has no row locks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_link_ends_while_its_account_signs_out_everywhere() {
    let database = TestDatabase::postgres();
    let test_service = TestService::new(database.address()).await;
    let (service, account) = (&test_service.service, test_service.caller.account_id.clone());
    let secret = "a".repeat(43);
    let (id, sha256) = (account.clone(), hex::encode(Sha256::digest(&secret)));
    let inserting = service.db().write(move |tx| {
        let ends_at = START + 60_000;
        Box::pin(async move { sessions::insert_link(tx, &sha256, &id, LinkPurpose::SetPassword, ends_at).await })
    });
    inserting.await.unwrap();
    let (locked, is_locked) = oneshot::channel();
    let (end, is_ended) = oneshot::channel::<()>();
    let db = service.db().clone();
    let signing_out = tokio::spawn(async move {
        let deleting = db.write(move |tx| {
            Box::pin(async move {
                accounts::lock(tx, &account).await?;
                locked.send(()).unwrap();
                is_ended.await.unwrap();
                sessions::delete_all(tx, &account).await
            })
        });
        deleting.await
    });
    is_locked.await.unwrap();
    let client = client("192.0.2.1");
    let setting = service.set_password_by_link(&client, &secret, "a long password".to_owned(), "");
    let (set, ()) = tokio::join!(setting, async {
        until_a_transaction_waits(&database).await;
        end.send(()).unwrap();
    });
    signing_out.await.unwrap().unwrap();
    assert_eq!(code(set), ErrorCode::Unauthorized);
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        a_sign_in_link_opens_one_session
        sessions_expire
        sessions_that_are_not_used_for_days_are_not_listed
        suspending_and_signing_out_everywhere_end_all_sessions
        a_session_works_where_its_account_is_a_member
        passwords_sign_in_and_are_counted
        passwords_have_8_characters_to_1024_bytes
        wrong_passwords_of_some_clients_do_not_lock_out_others
    }
}
