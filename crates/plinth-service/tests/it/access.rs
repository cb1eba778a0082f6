//! Who is let in.

use plinth_service::access::{Caller, NewAccount, NewKey};
use plinth_spec::role::Role;
use plinth_spec::wire::Scope;
use plinth_spec::{ErrorCode, limits};
use plinth_testkit::on_both_databases;

use crate::house::{self, EMAIL, House, code};

async fn a_new_account_has_the_signup_bonus_and_its_own_workspace(address: &str) {
    let house = House::new(address).await;
    let account = house.account().await;
    assert_eq!((account.credits, account.paid, account.free, account.total), (100, 100, 0, 100));
    assert_eq!((account.email.as_str(), account.workspace), (EMAIL, None));
    assert_eq!(account.scopes, [Scope::Read, Scope::Render]);
    let again = house.service.create_account(NewAccount {
        email: " ADA@example.org ".to_owned(),
        is_admin: false,
        password_hash: None,
    });
    assert_eq!(code(again.await), ErrorCode::BadRequest, "addresses are compared without case");
    house.assert_balanced().await;
}

async fn tokens_are_refused_with_the_reason(address: &str) {
    let house = House::new(address).await;
    let service = &house.service;
    let new = |expires_in_secs, has_legacy_prefix| NewKey {
        account_id: house.caller.account_id.clone(),
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
    house.wait_ms(10_000);
    assert_eq!(code(service.authenticate(Some(&short.token)).await), ErrorCode::TokenExpired);

    service.revoke_key(&legacy.id, Some(&house.caller.account_id)).await.unwrap();
    assert_eq!(code(service.authenticate(Some(&legacy.token)).await), ErrorCode::Unauthorized);
    assert_eq!(code(service.revoke_key(&legacy.id, None).await), ErrorCode::NotFound);

    let other = service.create_key(new(None, false)).await.unwrap();
    service.set_suspended(EMAIL, true).await.unwrap();
    assert_eq!(code(service.authenticate(Some(&other.token)).await), ErrorCode::Forbidden);
    service.set_suspended(EMAIL, false).await.unwrap();
    assert!(service.authenticate(Some(&other.token)).await.is_ok());
}

async fn a_member_works_in_the_workspace_and_its_owner_pays(address: &str) {
    let house = House::new(address).await;
    let service = &house.service;
    let guest = house::account(service, "grace@example.org").await;
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
    let model = house::upload(service, &caller, "team.glb", &glb, settings).await.unwrap().result;
    assert_eq!(house.account().await.paid, 94, "the owner pays");
    assert_eq!(service.find_account("grace@example.org").await.unwrap().balance.paid, 100);
    assert_eq!(code(service.model(&house.caller, model.model_id.as_str()).await), ErrorCode::ModelNotFound);
    let own = service.purchases(&caller, None, None).await.unwrap();
    assert_eq!(own.data.len(), 1, "only what the workspace spent, not the owner's bonus");

    service.set_member(&team.id, "grace@example.org", Role::Viewer).await.unwrap();
    let viewer = service.authenticate(Some(&token)).await.unwrap();
    assert_eq!(code(viewer.require(Scope::Render)), ErrorCode::Forbidden);
    service.remove_member(&team.id, "grace@example.org").await.unwrap();
    assert_eq!(code(service.authenticate(Some(&token)).await), ErrorCode::Forbidden, "at once");
    service.set_member(&team.id, "grace@example.org", Role::Editor).await.unwrap();
    service.delete_workspace(&team.id).await.unwrap();
    assert_eq!(code(service.authenticate(Some(&token)).await), ErrorCode::Forbidden);
    house.assert_balanced().await;
}

async fn requests_are_counted_exactly_per_token_and_window(address: &str) {
    let house = House::with(address, |options| options.requests_per_minute = 30).await;
    let (service, caller) = (&house.service, &house.caller);
    let counting = (0..40).map(|_n| {
        let (service, caller) = (service.clone(), caller.clone());
        tokio::spawn(async move { service.count_request(&caller, plinth_service::Meter::Requests).await.unwrap() })
    });
    let mut passed = 0;
    for allowance in counting.collect::<Vec<_>>() {
        passed += usize::from(allowance.await.unwrap().check().is_ok());
    }
    assert_eq!(passed, 30);
    house.wait_ms(58_500);
    let over = service.count_request(caller, plinth_service::Meter::Requests).await.unwrap();
    let error = over.check().unwrap_err();
    assert_eq!((error.code, error.retry_after_secs), (ErrorCode::RateLimited, Some(2)), "rounded up");
    assert_eq!(service.count_request(caller, plinth_service::Meter::Ingests).await.unwrap().remaining, 19);
    house.wait_ms(1_500);
    let fresh = service.count_request(caller, plinth_service::Meter::Requests).await.unwrap();
    assert_eq!((fresh.remaining, fresh.reset_secs, fresh.is_exceeded), (29, 60, false));
}

async fn a_sign_in_link_opens_one_session(address: &str) {
    let house = House::new(address).await;
    let service = &house.service;
    let link = service.create_sign_in(&house.caller.account_id, 60).await.unwrap();
    let session = service.sign_in(&link).await.unwrap();
    assert_eq!(code(service.sign_in(&link).await), ErrorCode::Unauthorized);
    let signed_in = service.session(&session).await.unwrap().unwrap();
    // The same as the account's key lets in, but for the key.
    assert_eq!(Caller { token_id: house.caller.token_id.clone(), ..signed_in.caller.clone() }, house.caller);
    assert_eq!(signed_in.caller.token_id, None);
    assert!(signed_in.made_form(&signed_in.form_token) && !signed_in.made_form(""));
    service.sign_out(&session).await.unwrap();
    assert!(service.session(&session).await.unwrap().is_none());
    let late = service.create_sign_in(&house.caller.account_id, 60).await.unwrap();
    house.wait_ms(60_000);
    assert_eq!(code(service.sign_in(&late).await), ErrorCode::Unauthorized);
    for wrong in ["", "x", &link, &session, &"x".repeat(43)] {
        assert_eq!(code(service.sign_in(wrong).await), ErrorCode::Unauthorized);
        assert!(service.session(wrong).await.unwrap().is_none(), "a link is no session");
    }
}

/// A new session of the house's account.
async fn session(house: &House) -> String {
    let link = house.service.create_sign_in(&house.caller.account_id, 60).await.unwrap();
    house.service.sign_in(&link).await.unwrap()
}

async fn sessions_end_by_themselves(address: &str) {
    let house = House::new(address).await;
    let (idle, used) = (session(&house).await, session(&house).await);
    let (idle_ms, all_ms) = (limits::SESSION_IDLE_SECS * 1000, limits::SESSION_SECS * 1000);
    let lasts = async |secret: &str| house.service.session(secret).await.unwrap().is_some();
    house.wait_ms(idle_ms - 1);
    assert!(lasts(&used).await);
    house.wait_ms(1);
    assert!(lasts(&used).await && !lasts(&idle).await, "one of them was not used for three days");
    for _use in 0..(all_ms - idle_ms) / (idle_ms / 2) {
        assert!(lasts(&used).await);
        house.wait_ms(idle_ms / 2);
    }
    house.wait_ms(all_ms % (idle_ms / 2));
    assert!(!lasts(&used).await, "nobody stays signed in for ever");
    assert!(house.service.sweep().await.unwrap().rows >= 2);
}

async fn suspending_and_signing_out_everywhere_end_all_sessions(address: &str) {
    let house = House::new(address).await;
    let service = &house.service;
    let gone = async |secret: &str| service.session(secret).await.unwrap().is_none();
    let (one, two) = (session(&house).await, session(&house).await);
    let other = house::caller(service, "grace@example.org").await;
    let link = service.create_sign_in(&other.account_id, 60).await.unwrap();
    let of_other = service.sign_in(&link).await.unwrap();
    service.sign_out_everywhere(&house.caller).await.unwrap();
    assert!(gone(&one).await && gone(&two).await && !gone(&of_other).await);
    let open = session(&house).await;
    let link = service.create_sign_in(&house.caller.account_id, 60).await.unwrap();
    service.set_suspended(EMAIL, true).await.unwrap();
    assert!(gone(&open).await);
    assert_eq!(code(service.sign_in(&link).await), ErrorCode::Unauthorized);
    assert_eq!(code(service.create_sign_in(&house.caller.account_id, 60).await), ErrorCode::Forbidden);
    service.set_suspended(EMAIL, false).await.unwrap();
    assert!(gone(&open).await && !gone(&of_other).await);
}

async fn a_session_works_where_its_account_is_a_member(address: &str) {
    let house = House::new(address).await;
    let service = &house.service;
    let secret = session(&house).await;
    let owner = house::caller(service, "grace@example.org").await;
    let team = service.create_workspace("Team", &owner.email).await.unwrap();
    let now = async || service.session(&secret).await.unwrap().unwrap();
    let choose = async |id: &str| service.choose_workspace(&secret, &now().await, id).await;
    assert_eq!(code(choose(team.id.as_str()).await), ErrorCode::NotFound);
    service.set_member(&team.id, EMAIL, Role::Viewer).await.unwrap();
    choose(team.id.as_str()).await.unwrap();
    let caller = now().await.caller;
    assert_eq!((&caller.workspace_id, &caller.payer_id, caller.role), (&team.id, &owner.account_id, Role::Viewer));
    assert_eq!(code(caller.require(Scope::Render)), ErrorCode::Forbidden);
    service.set_suspended(&owner.email, true).await.unwrap();
    assert_eq!(now().await.caller.workspace_id, house.caller.workspace_id, "who pays is shut out");
    service.set_suspended(&owner.email, false).await.unwrap();
    assert_eq!(now().await.caller.workspace_id, team.id);
    service.delete_workspace(&team.id).await.unwrap();
    assert_eq!((now().await.caller.bound, now().await.workspaces.len()), (None, 1));
    choose(house.caller.workspace_id.as_str()).await.unwrap();
}

async fn passwords_sign_in_and_are_counted(address: &str) {
    let house = House::new(address).await;
    let service = &house.service;
    let password_hash = Some(plinth_service::access::hash_password("a long one").unwrap());
    let new = NewAccount { email: "grace@example.org".to_owned(), is_admin: false, password_hash };
    service.create_account(new).await.unwrap();
    let attempt = async |email: &str, password: &str| service.sign_in_with_password(email, password.to_owned()).await;
    let secret = attempt("Grace@example.org", "a long one").await.unwrap();
    assert_eq!(service.session(&secret).await.unwrap().unwrap().caller.email, "grace@example.org");
    assert_eq!(code(attempt("grace@example.org", "another").await), ErrorCode::Unauthorized);
    assert_eq!(code(attempt(EMAIL, "").await), ErrorCode::Unauthorized, "an account without a password");
    service.set_suspended("grace@example.org", true).await.unwrap();
    assert_eq!(code(attempt("grace@example.org", "another").await), ErrorCode::Unauthorized);
    assert_eq!(code(attempt("grace@example.org", "a long one").await), ErrorCode::Forbidden);
    service.set_suspended("grace@example.org", false).await.unwrap();
    for _ in 4..limits::PASSWORDS_PER_ADDRESS {
        assert_eq!(code(attempt("grace@example.org", "another").await), ErrorCode::Unauthorized);
    }
    let over = attempt("grace@example.org", "a long one").await.unwrap_err();
    assert_eq!((over.code, over.retry_after_secs), (ErrorCode::RateLimited, Some(600)));
    house.wait_ms(600_000);
    assert!(attempt("grace@example.org", "a long one").await.is_ok());
}

async fn an_account_has_so_many_keys_in_force(address: &str) {
    let house = House::new(address).await;
    let account = house::account(&house.service, "grace@example.org").await;
    let new = |expires_in_secs| NewKey {
        account_id: account.clone(),
        workspace_id: None,
        name: "test".to_owned(),
        scopes: vec![Scope::Read],
        expires_in_secs,
        has_legacy_prefix: false,
    };
    let first = house.service.create_key(new(None)).await.unwrap();
    for _n in 1..limits::KEYS {
        house.service.create_key(new(Some(60))).await.unwrap();
    }
    let refused = house.service.create_key(new(None)).await.unwrap_err();
    assert_eq!((refused.code, refused.status), (ErrorCode::LimitReached, 429));
    house.service.revoke_key(&first.id, Some(&account)).await.unwrap();
    house.service.create_key(new(None)).await.unwrap();
    assert!(house.service.create_key(new(None)).await.is_err());
    house.wait_ms(60_000);
    house.service.create_key(new(None)).await.unwrap();
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        an_account_has_so_many_keys_in_force
        a_new_account_has_the_signup_bonus_and_its_own_workspace
        tokens_are_refused_with_the_reason
        a_member_works_in_the_workspace_and_its_owner_pays
        requests_are_counted_exactly_per_token_and_window
        a_sign_in_link_opens_one_session
        sessions_end_by_themselves
        suspending_and_signing_out_everywhere_end_all_sessions
        a_session_works_where_its_account_is_a_member
        passwords_sign_in_and_are_counted
    }
}
