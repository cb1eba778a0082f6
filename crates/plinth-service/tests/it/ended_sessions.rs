//! Tests that a request changes nothing if its session or key ends while its body arrives.

use std::time::Duration;

use plinth_db::{accounts, purchases};
use plinth_service::access::{Caller, ClientAddress, NewAccount, hash_password};
use plinth_service::admin::{Actor, Grant};
use plinth_service::{Result, Service};
use plinth_spec::id::{AccountId, TokenId};
use plinth_spec::role::Role;
use plinth_spec::wire::{UpdateLook, UpdateModel};
use plinth_spec::{ErrorCode, PurchaseStatus, limits};
use plinth_testkit::on_both_databases;
use serde_json::json;

use crate::credits;
use crate::test_service::{self, EMAIL, TestService, code, new_key};

const GUEST: &str = "grace@example.org";
const ROOT: &str = "root@example.org";

/// Signs in to an account. Returns the secret of the session and its caller.
async fn session(service: &Service, account: &AccountId) -> (String, Caller) {
    let link = service.create_sign_in(account, 60).await.unwrap();
    let secret = service.sign_in(&link, "").await.unwrap();
    let caller = service.session(&secret).await.unwrap().unwrap().caller;
    (secret, caller)
}

/// IDs and secrets that the requests of [`attempts`] use.
struct Prepared {
    team: String,
    model: String,
    queued: String,
    failed: String,
    look: String,
    key: TokenId,
    /// A session of the account that has not ended.
    open_session: String,
    invitation: String,
    secret: String,
}

/// Creates the rows that the requests of [`attempts`] change, in the workspace and in a team of `caller`.
async fn prepare(test_service: &TestService, caller: &Caller) -> Prepared {
    let service = &test_service.service;
    let guest = test_service::account(service, GUEST).await;
    let team = service.create_team(caller, "Team").await.unwrap();
    service.set_member(&team, GUEST, Role::Editor).await.unwrap();
    let of_guest = session(service, &guest).await.1;
    let other = service.create_team(&of_guest, "Other").await.unwrap();
    let link = service.invite(&of_guest, other.as_str(), Role::Editor, "", "").await.unwrap().link;
    service.invite(caller, team.as_str(), Role::Viewer, "", "").await.unwrap();
    let invitation = service.team(caller, team.as_str()).await.unwrap().invitations.remove(0).id.to_string();
    let model = test_service.model("chair").await;
    let render = test_service.render(&model, json!({"quality": "share", "length": 1}), None).await.unwrap();
    service.cancel_render(caller, render.id.as_str()).await.unwrap();
    test_service.wait_ms(6000);
    let queued = test_service.render(&model, json!({"quality": "share", "length": 1}), None).await.unwrap();
    let look = service.save_look(caller, "mine", &json!({}), false).await.unwrap().id;
    let key = service.create_key(new_key(&caller.account_id)).await.unwrap().id;
    let (_secret, open) = session(service, &caller.account_id).await;
    let sessions = service.list_sessions(&open, "").await.unwrap();
    Prepared {
        team: team.to_string(),
        model,
        queued: queued.id.to_string(),
        failed: render.id.to_string(),
        look,
        key,
        open_session: sessions[0].id.clone(),
        invitation,
        secret: link,
    }
}

/// Makes one request of each kind that changes data, as `caller`, and returns the results.
async fn attempts(service: &Service, caller: &Caller, on: &Prepared) -> Vec<(&'static str, Result<()>)> {
    let (team, model) = (on.team.as_str(), on.model.as_str());
    let edit: UpdateModel = serde_json::from_value(json!({"title": "stolen"})).unwrap();
    let renamed: UpdateLook = serde_json::from_value(json!({"name": "stolen"})).unwrap();
    let guest = service.find_account(GUEST).await.unwrap().id;
    vec![
        ("create key", service.create_own_key(caller, new_key(&caller.account_id)).await.map(drop)),
        ("revoke key", service.revoke_own_key(caller, &on.key).await),
        ("create team", service.create_team(caller, "Mine").await.map(drop)),
        ("rename team", service.rename_team(caller, team, "Stolen").await),
        ("set role", service.set_team_role(caller, team, guest.as_str(), Role::Viewer).await),
        ("remove", service.remove_from_team(caller, team, guest.as_str()).await),
        ("invite", service.invite(caller, team, Role::Admin, "", "").await.map(drop)),
        ("offer", service.offer_team(caller, team, guest.as_str(), "").await.map(drop)),
        ("revoke invitation", service.revoke_invitation(caller, team, &on.invitation).await),
        ("accept", service.accept_invitation(caller, &on.secret).await.map(drop)),
        ("leave", service.leave_team(caller, team).await),
        ("end session", service.end_session(caller, &on.open_session).await),
        ("save look", service.save_look(caller, "other", &json!({}), false).await.map(drop)),
        ("rename look", service.change_look(caller, &on.look, renamed).await),
        ("start look", service.choose_start_look(caller, Some(&on.look)).await),
        ("delete look", service.delete_look(caller, &on.look).await.map(drop)),
        ("edit", service.update_model(caller, model, edit).await.map(drop)),
        ("archive", service.archive_model(caller, model).await.map(drop)),
        ("delete model", service.delete_model(caller, model).await.map(drop)),
        ("cancel", service.cancel_render(caller, &on.queued).await.map(drop)),
        ("delete render", service.delete_render(caller, &on.failed).await.map(drop)),
        ("buy", service.buy_credits(caller, "small", "http://localhost/credits").await.map(drop)),
        ("delete team", service.delete_team(caller, team).await),
    ]
}

fn assert_rejected(attempts: Vec<(&'static str, Result<()>)>) {
    for (what, attempt) in attempts {
        assert_eq!(attempt.map_err(|error| error.code), Err(ErrorCode::Unauthorized), "{what}");
    }
}

async fn a_session_that_was_not_used_for_days_changes_nothing(address: &str) {
    let test_service = TestService::new(address).await;
    let (_secret, caller) = session(&test_service.service, &test_service.caller.account_id).await;
    test_service.wait_ms(limits::SESSION_IDLE_SECS * 1000 - 1);
    test_service.service.create_team(&caller, "Team").await.unwrap();
    test_service.wait_ms(1);
    let created = test_service.service.create_team(&caller, "Team").await;
    assert_rejected(vec![("create team", created.map(drop))]);
}

async fn a_session_or_key_that_has_ended_changes_nothing(address: &str) {
    let test_service = credits::shop(address).await;
    let service = &test_service.service;
    let owner = test_service.caller.account_id.clone();
    let (_secret, stolen) = session(service, &owner).await;
    let key = service.create_key(new_key(&owner)).await.unwrap();
    let stolen_key = service.authenticate(Some(&key.token)).await.unwrap();
    let prepared = Box::pin(prepare(&test_service, &test_service.caller)).await;

    service.sign_out_everywhere(&test_service.caller).await.unwrap();
    service.revoke_key(&key.id).await.unwrap();
    for caller in [&stolen, &stolen_key] {
        assert_rejected(attempts(service, caller, &prepared).await);
    }
    // With an active session, the requests succeed, except those that fail for other reasons.
    let (_secret, caller) = session(service, &owner).await;
    let open_session = service.list_sessions(&caller, "").await.unwrap()[0].id.clone();
    let prepared = Prepared { open_session: open_session.clone(), ..prepared };
    let (_secret, caller) = session(service, &owner).await;
    let failed: Vec<_> =
        attempts(service, &caller, &prepared).await.into_iter().filter(|(_, result)| result.is_err()).collect();
    let names: Vec<_> = failed.iter().map(|(name, _result)| *name).collect();
    assert_eq!(names, ["offer", "leave", "buy"], "the member was removed before, the owner cannot leave: {failed:?}");
    // If the payment page cannot be opened, the purchase is recorded as failed.
    let bought = purchases::list(&mut service.db().read().await.unwrap(), &owner, None, 10).await.unwrap();
    assert_eq!(bought.iter().map(|purchase| purchase.status).collect::<Vec<_>>(), [PurchaseStatus::Failed]);
}

async fn an_administrator_whose_session_has_ended_does_nothing(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, ada) = (&test_service.service, &test_service.caller.account_id);
    let new = NewAccount { email: ROOT.to_owned(), is_admin: true, password_hash: None };
    let root = service.create_account(new).await.unwrap();
    let (_secret, caller) = session(service, &root).await;
    let actor = Actor::of(&caller).unwrap();
    service.grant_credits(&actor, ada, Grant::paid(1)).await.unwrap();
    service.sign_out_everywhere(&caller).await.unwrap();
    let attempts = vec![
        ("grant", service.grant_credits(&actor, ada, Grant::paid(5)).await.map(drop)),
        ("make admin", service.set_admin(&actor, ada, true, "").await),
        ("suspend", service.suspend_account(&actor, ada, "").await),
        ("reactivate", service.reactivate_account(&actor, ada, "").await),
    ];
    assert_rejected(attempts);
    assert_eq!(test_service.account().await.paid, 101);
}

async fn a_suspended_account_gets_no_key(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, ada) = (&test_service.service, &test_service.caller.account_id);
    test_service::set_suspended(service, EMAIL, true).await;
    assert_eq!(code(service.create_key(new_key(ada)).await), ErrorCode::Forbidden);
    assert_eq!(service.keys(ada).await.unwrap().len(), 1);
}

/// A change of the password that began before a reset never replaces the password of the reset.
async fn a_new_password_is_not_replaced_by_an_earlier_request(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, ada) = (&test_service.service, &test_service.caller.account_id);
    let set = async |hash: &str| {
        let (id, hash) = (ada.clone(), hash.to_owned());
        let setting = service
            .db()
            .write(move |tx| Box::pin(async move { accounts::set_password_hash(tx, &id, Some(&hash)).await }));
        setting.await.unwrap();
    };
    let current = async || accounts::find(&mut service.db().read().await.unwrap(), ada).await.unwrap().unwrap();
    let (old, reset) = (hash_password("the old one").unwrap(), hash_password("the reset one").unwrap());
    for delay_ms in [10, 30, 60, 90] {
        set(&old).await;
        let (secret, caller) = session(service, ada).await;
        let client = ClientAddress { address: format!("192.0.2.{delay_ms}").parse().unwrap(), is_shared: false };
        let changing =
            service.change_password(&caller, &client, &secret, "the old one".to_owned(), "that of a thief".to_owned());
        let resetting = async {
            tokio::time::sleep(Duration::from_millis(delay_ms)).await;
            set(&reset).await;
        };
        let (_changed, ()) = tokio::join!(changing, resetting);
        assert_eq!(current().await.password_hash.as_ref(), Some(&reset), "after {delay_ms} ms");
        test_service.wait_ms(3_600_000);
    }
    // A session that has ended cannot change the password either.
    let (secret, caller) = session(service, ada).await;
    service.sign_out(&caller, &secret).await.unwrap();
    let client = ClientAddress { address: "192.0.2.1".parse().unwrap(), is_shared: false };
    let changed =
        service.change_password(&caller, &client, &secret, "the reset one".to_owned(), "that of a thief".to_owned());
    assert_eq!(code(changed.await), ErrorCode::Unauthorized);
    assert_eq!(current().await.password_hash, Some(reset));
}

/// A change that checked its session before a sign-out is committed before the sign-out returns.
async fn signing_out_waits_for_what_the_account_changes(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, ada) = (&test_service.service, &test_service.caller.account_id);
    for is_everywhere in [false, true] {
        let (secret, caller) = session(service, ada).await;
        let (locked, is_locked) = tokio::sync::oneshot::channel();
        let (end, is_ended) = tokio::sync::oneshot::channel::<()>();
        let (db, id) = (service.db().clone(), ada.clone());
        let changing = tokio::spawn(async move {
            let changing = db.write(move |tx| {
                Box::pin(async move {
                    accounts::lock(tx, &id).await?;
                    locked.send(()).unwrap();
                    is_ended.await.unwrap();
                    accounts::set_password_hash(tx, &id, Some("changed")).await
                })
            });
            changing.await
        });
        is_locked.await.unwrap();
        let leaving = async {
            if is_everywhere {
                service.sign_out_everywhere(&caller).await
            } else {
                service.sign_out(&caller, &secret).await
            }
        };
        let mut leaving = std::pin::pin!(leaving);
        tokio::time::timeout(Duration::from_millis(300), &mut leaving).await.unwrap_err();
        end.send(()).unwrap();
        leaving.await.unwrap();
        assert!(service.session(&secret).await.unwrap().is_none());
        changing.await.unwrap().unwrap();
    }
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        a_session_that_was_not_used_for_days_changes_nothing
        a_session_or_key_that_has_ended_changes_nothing
        an_administrator_whose_session_has_ended_does_nothing
        a_suspended_account_gets_no_key
        a_new_password_is_not_replaced_by_an_earlier_request
        signing_out_waits_for_what_the_account_changes
    }
}
