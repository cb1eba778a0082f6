//! Tests of teams and of invitations to them.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use plinth_db::accounts::Account;
use plinth_db::{DbError, accounts, workspaces};
use plinth_service::Service;
use plinth_service::access::{Caller, NewAccount};
use plinth_spec::funding::Balance;
use plinth_spec::id::{AccountId, WorkspaceId};
use plinth_spec::role::Role;
use plinth_spec::{ErrorCode, limits};
use plinth_testkit::{TestDatabase, glb_with_triangle, on_both_databases, postgres};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use crate::model_storage::{CHEAP, team_with};
use crate::test_service::{EMAIL, START, TestService, account, caller, client, code, upload};
use crate::writers;

const GRACE: &str = "grace@example.org";
const ALAN: &str = "alan@example.org";
const PASSWORD: &str = "a long password";

/// Returns the addresses and roles of a team's members.
async fn roles(service: &Service, owner: &Caller, team: &WorkspaceId) -> BTreeSet<(String, &'static str)> {
    let members = service.team(owner, team.as_str()).await.unwrap().members;
    members.into_iter().map(|member| (member.email, member.role.as_str())).collect()
}

fn set<const N: usize>(roles: [(&str, &'static str); N]) -> BTreeSet<(String, &'static str)> {
    BTreeSet::from(roles.map(|(email, role)| (email.to_owned(), role)))
}

async fn the_number_of_teams_per_account_is_limited(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let mut teams = Vec::new();
    for n in 0..limits::TEAMS {
        teams.push(service.create_team(caller, &format!("Team {n}")).await.unwrap());
    }
    assert_eq!(code(service.create_team(caller, "Another").await), ErrorCode::LimitReached);
    service.delete_team(caller, teams[0].as_str()).await.unwrap();
    service.create_team(caller, "Another").await.unwrap();
}

async fn commands_change_only_teams_and_only_roles_of_members(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let grace = caller(service, GRACE).await;
    let longest = "ä".repeat(limits::TEAM_NAME_CHARS);
    for name in ["", " ", "a\nb", &format!("{longest}a")] {
        assert_eq!(code(service.create_team(&grace, name).await), ErrorCode::BadRequest, "{name:?}");
    }
    let team = service.create_team(&grace, &longest).await.unwrap();
    for (email, role) in [(EMAIL, Role::Owner), (GRACE, Role::Editor)] {
        assert_eq!(code(service.set_member(&team, email, role).await), ErrorCode::BadRequest, "{email}");
    }
    let personal = service.set_member(&grace.workspace_id, EMAIL, Role::Editor).await;
    assert_eq!(code(personal), ErrorCode::NotFound);
    service.delete_workspace(&team).await.unwrap();
    assert_eq!(code(service.set_member(&team, EMAIL, Role::Editor).await), ErrorCode::NotFound);
}

async fn an_account_creates_a_limited_number_of_invitations_per_hour(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let team = service.create_team(caller, "Team").await.unwrap();
    let invite = async || service.invite(caller, team.as_str(), Role::Viewer, "", "").await;
    for _n in 0..limits::INVITATIONS_PER_HOUR {
        invite().await.unwrap();
    }
    let rejected = invite().await.unwrap_err();
    assert_eq!((rejected.code, rejected.retry_after_secs), (ErrorCode::RateLimited, Some(3600)));
    test_service.wait_ms(3_600_000);
    for _n in limits::INVITATIONS_PER_HOUR as usize..limits::INVITATIONS {
        invite().await.unwrap();
    }
    assert_eq!(code(invite().await), ErrorCode::LimitReached, "so many invitations of a team are open");
    let open = service.team(caller, team.as_str()).await.unwrap().invitations.remove(0).id;
    service.revoke_invitation(caller, team.as_str(), open.as_str()).await.unwrap();
    invite().await.unwrap();
}

async fn an_invitation_is_void_while_its_sender_may_not_invite(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, owner) = (&test_service.service, &test_service.caller);
    let (grace, alan) = (caller(service, GRACE).await, caller(service, "alan@example.org").await);
    let team = service.create_team(owner, "Team").await.unwrap();
    service.set_member(&team, GRACE, Role::Admin).await.unwrap();
    let link = service.invite(&grace, team.as_str(), Role::Viewer, "", "").await.unwrap().link;
    let void = async || {
        let error = service.accept_invitation(&alan, &link).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::NotFound);
        assert!(error.message.contains("ask for a new one"), "{error}");
    };
    service.set_member(&team, GRACE, Role::Editor).await.unwrap();
    void().await;
    service.remove_from_team(owner, team.as_str(), grace.account_id.as_str()).await.unwrap();
    void().await;
    service.set_member(&team, GRACE, Role::Admin).await.unwrap();
    service.accept_invitation(&alan, &link).await.unwrap();
}

async fn expired_invitations_are_deleted(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let team = service.create_team(caller, "Team").await.unwrap();
    service.invite(caller, team.as_str(), Role::Viewer, "", "").await.unwrap();
    test_service.wait_ms(limits::INVITATION_SECS * 1000 - 1);
    // On PostgreSQL, this cleanup deletes the counter of the rate limit for invitations.
    service.clean_up().await.unwrap();
    assert_eq!(service.clean_up().await.unwrap().rows, 0);
    test_service.wait_ms(1);
    assert_eq!(service.clean_up().await.unwrap().rows, 1);
    assert_eq!(service.clean_up().await.unwrap().rows, 0);
}

/// Otherwise a member could be removed between the check of its rights and the commit of its order.
async fn changes_of_a_team_wait_for_what_its_members_do(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, owner) = (&test_service.service, &test_service.caller);
    let team = service.create_team(owner, "Team").await.unwrap();
    let (grace, alan) = (caller(service, GRACE).await, caller(service, ALAN).await);
    let [edith, leaving, removed] = ["edith@example.org", "bob@example.org", "carol@example.org"];
    let (of_edith, bob) = (account(service, edith).await, caller(service, leaving).await);
    for email in [removed, "dave@example.org"] {
        account(service, email).await;
    }
    let members = [(GRACE, Role::Admin), (ALAN, Role::Editor), (edith, Role::Editor), (leaving, Role::Viewer)];
    for (email, role) in members.into_iter().chain([(removed, Role::Editor)]) {
        service.set_member(&team, email, role).await.unwrap();
    }
    let link = service.invite(owner, team.as_str(), Role::Viewer, "", "").await.unwrap().link;
    let before = roles(service, owner, &team).await;
    let browser = client("192.0.2.1");
    // An order of a member holds this lock.
    let (release, held) = writers::lock(service.db(), &owner.payer_id).await;
    let mut changes = Box::pin(async {
        tokio::join!(
            service.remove_from_team(&grace, team.as_str(), alan.account_id.as_str()),
            service.set_team_role(&grace, team.as_str(), of_edith.as_str(), Role::Viewer),
            service.leave_team(&bob, team.as_str()),
            service.rename_team(&grace, team.as_str(), "Studio"),
            service.remove_member(&team, removed),
            service.set_member(&team, "dave@example.org", Role::Editor),
            service.invite(&grace, team.as_str(), Role::Viewer, "", ""),
            service.sign_up(&browser, &link, "eve@example.org", PASSWORD.to_owned(), ""),
        )
    });
    timeout(Duration::from_millis(300), &mut changes).await.unwrap_err();
    let shown = service.team(owner, team.as_str()).await.unwrap();
    assert_eq!((shown.workspace.name.as_str(), shown.invitations.len()), ("Team", 1));
    assert_eq!(roles(service, owner, &team).await, before);
    drop(release);
    held.await.unwrap().unwrap();
    let (by_admin, role, left, renamed, by_command, added, invited, joined) = changes.await;
    for change in [by_admin, role, left, renamed, by_command, added, invited.map(drop), joined.map(drop)] {
        change.unwrap();
    }
    let after = [
        (EMAIL, "owner"),
        (GRACE, "admin"),
        (edith, "viewer"),
        ("dave@example.org", "editor"),
        ("eve@example.org", "viewer"),
    ];
    assert_eq!(roles(service, owner, &team).await, set(after));
}

/// Waits until a transaction of the database waits for a lock.
pub(crate) async fn until_a_transaction_waits(database: &TestDatabase) {
    let query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    let waiting = async {
        loop {
            let mut psql = Command::new(postgres().join("psql"));
            let done = psql.args(["-X", "-A", "-t", "-d", database.address(), "-c", query]).output().unwrap();
            if String::from_utf8_lossy(&done.stdout).trim() == "1" {
                return;
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(10), waiting).await.unwrap();
}

/// An administrator who removes a member does not remove the new owner. PostgreSQL only: SQLite has no row locks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_who_becomes_the_owner_meanwhile_is_not_removed() {
    let database = TestDatabase::postgres();
    let test_service = TestService::new(database.address()).await;
    let (service, owner) = (&test_service.service, &test_service.caller);
    let team = service.create_team(owner, "Team").await.unwrap();
    let (grace, alan) = (caller(service, GRACE).await, caller(service, ALAN).await);
    service.set_member(&team, GRACE, Role::Admin).await.unwrap();
    service.set_member(&team, ALAN, Role::Editor).await.unwrap();
    let (locked, is_locked) = oneshot::channel();
    let (end, is_ended) = oneshot::channel::<()>();
    let (db, id, from, to) = (service.db().clone(), team.clone(), owner.account_id.clone(), alan.account_id.clone());
    let handing_over = tokio::spawn(async move {
        let changing = db.write(move |tx| {
            Box::pin(async move {
                accounts::lock(tx, &from).await?;
                locked.send(()).unwrap();
                is_ended.await.unwrap();
                workspaces::set_owner(tx, &id, &from, &to).await
            })
        });
        changing.await
    });
    is_locked.await.unwrap();
    let removing = service.remove_from_team(&grace, team.as_str(), alan.account_id.as_str());
    let (removed, ()) = tokio::join!(removing, async {
        until_a_transaction_waits(&database).await;
        end.send(()).unwrap();
    });
    assert!(handing_over.await.unwrap().unwrap());
    let error = removed.unwrap_err();
    assert!(error.code == ErrorCode::Forbidden && error.message.contains("handed over to another owner"), "{error}");
    let expected = [(EMAIL, "admin"), (GRACE, "admin"), (ALAN, "owner")];
    assert_eq!(roles(service, owner, &team).await, set(expected));
}

/// Runs a statement with `psql`, for example to write a value that the service cannot read.
pub(crate) fn run_sql(database: &TestDatabase, sql: &str) {
    let mut psql = Command::new(postgres().join("psql"));
    let done = psql.args(["-X", "-d", database.address(), "-c", sql]).output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// PostgreSQL only: `psql` makes the row of a queued render unreadable.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_team_is_deleted_even_if_its_queued_renders_cannot_be_cancelled() {
    let database = TestDatabase::postgres();
    let test_service = TestService::new(database.address()).await;
    let service = &test_service.service;
    let grace = caller(service, GRACE).await;
    let (team, editor) = team_with(&test_service, &grace).await;
    upload(service, &editor, "x.glb", &glb_with_triangle("a"), CHEAP).await.unwrap();
    run_sql(&database, "UPDATE renders SET pool = 'unknown'");
    service.delete_workspace(&team).await.unwrap();
    assert_eq!(code(service.delete_workspace(&team).await), ErrorCode::NotFound);
}

/// Otherwise the invited person would read that the invitation was used. PostgreSQL only: `psql` makes the roles of all
/// members unreadable.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invitation_does_not_hide_an_error_of_the_database() {
    let database = TestDatabase::postgres();
    let test_service = TestService::new(database.address()).await;
    let (service, owner) = (&test_service.service, &test_service.caller);
    let team = service.create_team(owner, "Team").await.unwrap();
    let grace = caller(service, GRACE).await;
    let invite = async || service.invite(owner, team.as_str(), Role::Editor, "", "").await.unwrap().link;
    let (ended, open) = (invite().await, invite().await);
    service.accept_invitation(&grace, &ended).await.unwrap();
    run_sql(&database, "UPDATE members SET role = 'unknown'");
    assert_eq!(code(service.accept_invitation(&grace, &ended).await), ErrorCode::Internal);
    assert_eq!(code(service.invitation(&open).await), ErrorCode::Internal);
}

async fn a_removed_member_does_not_come_back_by_an_open_invitation(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, owner) = (&test_service.service, &test_service.caller);
    let team = service.create_team(owner, "Team").await.unwrap();
    let grace = caller(service, GRACE).await;
    let id = grace.account_id.as_str();
    for way in ["removed", "left", "command"] {
        let invite = async |email: &str| service.invite(owner, team.as_str(), Role::Editor, email, "").await;
        let of_grace = invite(" Grace@example.org").await.unwrap().link;
        service.set_member(&team, GRACE, Role::Editor).await.unwrap();
        assert_eq!(code(invite(" Grace@example.org").await), ErrorCode::BadRequest, "a member needs no invitation");
        let offer = service.offer_team(owner, team.as_str(), id, "").await.unwrap().link;
        let of_anybody = invite("").await.unwrap().link;
        match way {
            "removed" => service.remove_from_team(owner, team.as_str(), id).await.unwrap(),
            "left" => service.leave_team(&grace, team.as_str()).await.unwrap(),
            _command => service.remove_member(&team, GRACE).await.unwrap(),
        }
        for link in [&offer, &of_grace] {
            assert_eq!(code(service.accept_invitation(&grace, link).await), ErrorCode::NotFound, "{way}");
        }
        assert!(service.invitation(&of_anybody).await.is_ok(), "{way}");
    }
    assert_eq!(roles(service, owner, &team).await, set([(EMAIL, "owner")]));
}

/// A browser repeats a request whose response was lost.
async fn an_invitation_is_accepted_again_by_who_accepted_it(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, owner) = (&test_service.service, &test_service.caller);
    let team = service.create_team(owner, "Team").await.unwrap();
    let (grace, alan) = (caller(service, GRACE).await, caller(service, ALAN).await);
    let invite = async || service.invite(owner, team.as_str(), Role::Editor, "", "").await.unwrap().link;
    let offer = async || service.offer_team(owner, team.as_str(), grace.account_id.as_str(), "").await.unwrap().link;
    let (link, another) = (invite().await, invite().await);
    for _again in 0..2 {
        assert_eq!(service.accept_invitation(&grace, &link).await.unwrap(), team);
    }
    let error = service.accept_invitation(&alan, &link).await.unwrap_err();
    assert!(error.code == ErrorCode::NotFound && error.message.contains("ask for a new one"), "not a member: {error}");
    let (replaced, newest) = (offer().await, offer().await);
    assert_eq!(code(service.accept_invitation(&grace, &replaced).await), ErrorCode::NotFound, "not the owner");
    for _again in 0..2 {
        assert_eq!(service.accept_invitation(&grace, &newest).await.unwrap(), team);
    }
    // The former owner is an administrator now, so that the invitation of an editor can still be accepted.
    let sign_up = async |email: &str| {
        service
            .sign_up(&client("192.0.2.1"), &another, email, PASSWORD.to_owned(), "")
            .await
            .map(|(_secret, team)| team)
    };
    assert_eq!(sign_up("new@example.org").await.unwrap(), team);
    let error = sign_up(" New@example.org").await.unwrap_err();
    assert!(error.code == ErrorCode::BadRequest && error.message.contains("sign in with it"), "{error}");
    assert_eq!(code(sign_up(ALAN).await), ErrorCode::NotFound, "not a member");
    service.remove_member(&team, "new@example.org").await.unwrap();
    assert_eq!(code(sign_up("new@example.org").await), ErrorCode::NotFound, "no longer a member");
}

/// Otherwise, users could invite new accounts to get credits.
async fn an_account_that_an_invitation_creates_has_no_signup_bonus(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, owner) = (&test_service.service, &test_service.caller);
    let team = service.create_team(owner, "Team").await.unwrap();
    let link = service.invite(owner, team.as_str(), Role::Editor, "", "").await.unwrap().link;
    let browser = client("192.0.2.1");
    service.sign_up(&browser, &link, GRACE, PASSWORD.to_owned(), "").await.unwrap();
    let secret = service.sign_in_with_password(browser, GRACE, PASSWORD.to_owned(), "").await.unwrap();
    let grace = service.session(&secret).await.unwrap().unwrap().caller;
    assert_eq!(service.account(&grace).await.unwrap().total, 0);
    assert_eq!(service.purchases(&grace, None, None).await.unwrap().data, [], "no entry either");
}

async fn an_offer_is_only_for_its_member(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, owner) = (&test_service.service, &test_service.caller);
    let team = service.create_team(owner, "Team").await.unwrap();
    let (grace, alan) = (caller(service, GRACE).await, caller(service, ALAN).await);
    for email in [GRACE, ALAN] {
        service.set_member(&team, email, Role::Admin).await.unwrap();
    }
    let offer = service.offer_team(owner, team.as_str(), grace.account_id.as_str(), "").await.unwrap().link;
    assert_eq!(code(service.accept_invitation(&alan, &offer).await), ErrorCode::Forbidden);
    let before = set([(EMAIL, "owner"), (GRACE, "admin"), (ALAN, "admin")]);
    assert_eq!(roles(service, owner, &team).await, before);
    assert_eq!(service.accept_invitation(&grace, &offer).await.unwrap(), team);
}

async fn an_address_that_another_request_takes_first_exists_already(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, owner) = (&test_service.service, &test_service.caller);
    let team = service.create_team(owner, "Team").await.unwrap();
    let link = service.invite(owner, team.as_str(), Role::Viewer, "", "").await.unwrap().link;
    let (inserted, is_inserted) = oneshot::channel();
    let (end, is_ended) = oneshot::channel::<()>();
    let db = service.db().clone();
    let taking = tokio::spawn(async move {
        let inserting = db.write(|tx| {
            Box::pin(async move {
                let new = Account {
                    id: AccountId::parse("k3Jd92LmQx7a").unwrap(),
                    email: GRACE.to_owned(),
                    password_hash: None,
                    is_admin: false,
                    suspended_at: None,
                    balance: Balance::default(),
                    created_at: START,
                };
                accounts::insert(tx, &new).await?;
                inserted.send(()).unwrap();
                is_ended.await.unwrap();
                Ok::<_, DbError>(())
            })
        });
        inserting.await
    });
    is_inserted.await.unwrap();
    let new = NewAccount { email: GRACE.to_owned(), is_admin: false, password_hash: None };
    let browser = client("192.0.2.1");
    let mut both = Box::pin(async {
        tokio::join!(service.create_account(new), service.sign_up(&browser, &link, GRACE, PASSWORD.to_owned(), ""))
    });
    timeout(Duration::from_millis(300), &mut both).await.unwrap_err();
    end.send(()).unwrap();
    taking.await.unwrap().unwrap();
    let (created, signed_up) = both.await;
    for error in [created.unwrap_err(), signed_up.unwrap_err()] {
        assert!(error.code == ErrorCode::BadRequest && error.message.contains("exists already"), "{error}");
    }
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        the_number_of_teams_per_account_is_limited
        commands_change_only_teams_and_only_roles_of_members
        an_account_creates_a_limited_number_of_invitations_per_hour
        an_invitation_is_void_while_its_sender_may_not_invite
        expired_invitations_are_deleted
        changes_of_a_team_wait_for_what_its_members_do
        a_removed_member_does_not_come_back_by_an_open_invitation
        an_invitation_is_accepted_again_by_who_accepted_it
        an_account_that_an_invitation_creates_has_no_signup_bonus
        an_offer_is_only_for_its_member
        an_address_that_another_request_takes_first_exists_already
    }
}
