//! Tests of teams and of invitations to them.

use plinth_spec::role::Role;
use plinth_spec::{ErrorCode, limits};
use plinth_testkit::on_both_databases;

use crate::test_service::{EMAIL, TestService, caller, code};

const GRACE: &str = "grace@example.org";

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

mod both {
    use super::on_both_databases;
    on_both_databases! {
        the_number_of_teams_per_account_is_limited
        commands_change_only_teams_and_only_roles_of_members
        an_account_creates_a_limited_number_of_invitations_per_hour
        an_invitation_is_void_while_its_sender_may_not_invite
        expired_invitations_are_deleted
    }
}
