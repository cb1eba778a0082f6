//! Tests of what accounts and clients may do, and how often: links for new passwords, teams, invitations, keys, and
//! attempts to sign in.

use plinth_db::{mails, rate_windows};
use plinth_service::Service;
use plinth_service::access::{ClientAddress, NewKey};
use plinth_spec::role::Role;
use plinth_spec::wire::Scope;
use plinth_spec::{ErrorCode, limits};
use plinth_testkit::{TestDatabase, on_both_databases};

use crate::test_service::{EMAIL, START, TestService, caller, code};

const HOUR_MS: i64 = 3_600_000;
const GRACE: &str = "grace@example.org";

fn client(address: &str) -> ClientAddress {
    ClientAddress { address: address.parse().unwrap(), is_shared: false }
}

/// Claims all mails that wait to be sent, and returns how many of them are for an address.
async fn count_mails(service: &Service, address: &'static str) -> usize {
    let claimed = service.db().write(move |tx| {
        Box::pin(async move {
            let mut mails = Vec::new();
            while let Some(mail) = mails::claim(tx, i64::MAX - 1, i64::MAX).await? {
                mails.push(mail);
            }
            Ok::<_, plinth_db::DbError>(mails.iter().filter(|mail| mail.recipient == address).count())
        })
    });
    claimed.await.unwrap()
}

async fn links_for_new_passwords_are_limited_per_client_and_per_address(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let recover = async |from: ClientAddress, email: &str| service.recover_password(&from, email, String::new()).await;
    for n in 0..limits::PASSWORD_LINKS_PER_CLIENT {
        recover(client("192.0.2.1"), &format!("{n}@example.org")).await.unwrap();
    }
    assert_eq!(code(recover(client("192.0.2.1"), "another@example.org").await), ErrorCode::RateLimited);
    // The clients of an unknown reverse proxy share one address, which has a higher limit.
    let shared = ClientAddress { is_shared: true, ..client("192.0.2.2") };
    let factor = limits::PASSWORDS_PER_UNTRUSTED_PROXY / limits::PASSWORDS_PER_CLIENT;
    for n in 0..factor * limits::PASSWORD_LINKS_PER_CLIENT {
        recover(shared, &format!("{n}@example.com")).await.unwrap();
    }
    assert_eq!(code(recover(shared, "another@example.com").await), ErrorCode::RateLimited);
    // A request that exceeds the limit of an address sends no mail, and is not rejected, so that it tells nothing.
    for n in 0..=limits::PASSWORD_LINKS_PER_ADDRESS {
        recover(client(&format!("198.51.100.{n}")), "grace@example.org").await.unwrap();
    }
    assert_eq!(count_mails(service, "grace@example.org").await, limits::PASSWORD_LINKS_PER_ADDRESS as usize);
    test_service.wait_ms(HOUR_MS);
    recover(client("192.0.2.1"), "grace@example.org").await.unwrap();
    assert_eq!(count_mails(service, "grace@example.org").await, 1);
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
    test_service.wait_ms(HOUR_MS);
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

async fn a_key_belongs_to_the_account_that_creates_it(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let grace = caller(service, GRACE).await;
    let new = |chars: usize| NewKey {
        account_id: test_service.caller.account_id.clone(),
        workspace_id: None,
        name: "ä".repeat(chars),
        scopes: vec![Scope::Read],
        expires_in_secs: None,
        has_legacy_prefix: false,
    };
    let token = service.create_own_key(&grace, new(limits::KEY_NAME_CHARS)).await.unwrap().token;
    assert_eq!(service.authenticate(Some(&token)).await.unwrap().account_id, grace.account_id);
    assert_eq!(code(service.create_own_key(&grace, new(limits::KEY_NAME_CHARS + 1)).await), ErrorCode::BadRequest);
}

async fn expired_invitations_are_deleted(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let team = service.create_team(caller, "Team").await.unwrap();
    service.invite(caller, team.as_str(), Role::Viewer, "", "").await.unwrap();
    test_service.wait_ms(limits::INVITATION_SECS * 1000 - 1);
    // PostgreSQL also stored that the invitation was counted.
    service.clean_up().await.unwrap();
    assert_eq!(service.clean_up().await.unwrap().rows, 0);
    test_service.wait_ms(1);
    assert_eq!(service.clean_up().await.unwrap().rows, 1);
    assert_eq!(service.clean_up().await.unwrap().rows, 0);
}

/// Otherwise the client could fill the table of windows with one row per address that it tries.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_has_reached_its_limit_creates_no_more_windows() {
    let database = TestDatabase::postgres();
    let test_service = TestService::new(database.address()).await;
    let service = &test_service.service;
    // These passwords are too long to be hashed, so that the test is fast.
    let attempt = async |email: String| {
        code(service.sign_in_with_password(client("192.0.2.1"), &email, "x".repeat(2000), "").await)
    };
    for n in 0..limits::PASSWORDS_PER_CLIENT {
        assert_eq!(attempt(format!("{n}@example.org")).await, ErrorCode::Unauthorized);
    }
    for n in 0..5 {
        assert_eq!(attempt(format!("{n}@example.com")).await, ErrorCode::RateLimited);
    }
    let windows = service.db().write(|tx| Box::pin(rate_windows::delete_ended(tx, START + HOUR_MS)));
    // Each attempt was counted for its address, for the client and its address together, and for the client.
    assert_eq!(windows.await.unwrap(), u64::from(2 * limits::PASSWORDS_PER_CLIENT + 1));
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        links_for_new_passwords_are_limited_per_client_and_per_address
        the_number_of_teams_per_account_is_limited
        commands_change_only_teams_and_only_roles_of_members
        an_account_creates_a_limited_number_of_invitations_per_hour
        expired_invitations_are_deleted
        an_invitation_is_void_while_its_sender_may_not_invite
        a_key_belongs_to_the_account_that_creates_it
    }
}
