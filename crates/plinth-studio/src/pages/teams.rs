//! The pages of teams: the list, and each team's members, invitations and actions of the owner.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};
use plinth_service::access::{NewInvitation, Team};
use plinth_spec::limits;
use plinth_spec::role::Role;
use serde::Deserialize;

use crate::error::{PageError, Result};
use crate::form::{EmptyForm, SessionForm};
use crate::format::{DisplayTime, role_name};
use crate::frame::{Frame, page};
use crate::session::CurrentUser;
use crate::studio::Studio;

#[derive(Template)]
#[template(path = "teams.html")]
struct TeamsPage {
    frame: Frame,
    /// Identifier and name of each team, and the user's role in it.
    teams: Vec<(String, String, &'static str)>,
    name_chars: usize,
}

#[derive(Template)]
#[template(path = "team.html")]
struct TeamPage {
    frame: Frame,
    id: String,
    name: String,
    role: &'static str,
    is_owner: bool,
    may_manage: bool,
    members: Vec<MemberRow>,
    invitations: Vec<InvitationRow>,
    /// Whether invitations are mailed.
    has_mail: bool,
    /// Roles that the user may assign to members: the name in the form, and the label.
    roles: Vec<(&'static str, &'static str)>,
    name_chars: usize,
}

/// A member in the list.
struct MemberRow {
    id: String,
    email: String,
    role: &'static str,
    role_label: &'static str,
    is_self: bool,
    is_owner: bool,
    may_change: bool,
    since: DisplayTime,
}

/// An invitation in the list.
struct InvitationRow {
    id: String,
    email: Option<String>,
    role: &'static str,
    created: DisplayTime,
    expires: DisplayTime,
}

#[derive(Template)]
#[template(path = "team_invited.html")]
struct InvitedPage {
    frame: Frame,
    id: String,
    email: String,
    is_offer: bool,
    invitation: NewInvitation,
}

#[derive(Template)]
#[template(path = "team_delete.html")]
struct DeletePage {
    frame: Frame,
    id: String,
    name: String,
}

#[derive(Template)]
#[template(path = "team_leave.html")]
struct LeavePage {
    frame: Frame,
    id: String,
    name: String,
}

#[derive(Deserialize)]
pub(crate) struct NameForm {
    name: String,
}

#[derive(Deserialize)]
pub(crate) struct InviteForm {
    email: String,
    role: String,
}

#[derive(Deserialize)]
pub(crate) struct RoleForm {
    role: String,
}

#[derive(Deserialize)]
pub(crate) struct HandOverForm {
    member: String,
}

pub(crate) async fn list(State(studio): State<Studio>, user: CurrentUser) -> Response {
    let teams = user.signed_in.workspaces.iter().filter(|m| !m.workspace.is_personal);
    let teams = teams.map(|m| (m.workspace.id.to_string(), m.workspace.name.clone(), role_name(m.role))).collect();
    page(&TeamsPage { frame: Frame::new(&studio, "Teams", Some(&user)), teams, name_chars: limits::TEAM_NAME_CHARS })
}

/// Creates a team, and makes it the current workspace of the session.
pub(crate) async fn create(State(studio): State<Studio>, sent: SessionForm<NameForm>) -> Result<Redirect> {
    let id = studio.service.create_team(sent.user.caller(), &sent.form.name).await?;
    enter(&studio, &sent.user.secret, id.as_str()).await?;
    Ok(to_team(&studio, id.as_str()))
}

/// Makes the team the current workspace of the session with this secret. The session's account must be a member of the
/// team.
pub(super) async fn enter(studio: &Studio, secret: &str, team: &str) -> Result<()> {
    let signed_in = studio.service.session(secret).await?.ok_or(PageError::SignedOut)?;
    Ok(studio.service.choose_workspace(secret, &signed_in, team).await?)
}

pub(crate) async fn show(State(studio): State<Studio>, user: CurrentUser, Path(id): Path<String>) -> Result<Response> {
    let Team { workspace, role, members, invitations } = studio.service.team(user.caller(), &id).await?;
    let members = members.into_iter().map(|member| MemberRow {
        is_self: member.account_id == user.caller().account_id,
        id: member.account_id.to_string(),
        email: member.email,
        role: member.role.as_str(),
        role_label: role_name(member.role),
        is_owner: member.role == Role::Owner,
        may_change: role.can_assign(member.role),
        since: DisplayTime::of(member.created_at),
    });
    let invitations = invitations.into_iter().map(|invitation| InvitationRow {
        id: invitation.id.to_string(),
        email: invitation.email,
        role: role_name(invitation.role),
        created: DisplayTime::of(invitation.created_at),
        expires: DisplayTime::of(invitation.expires_at),
    });
    let roles = [Role::Viewer, Role::Editor, Role::Admin].into_iter().filter(|other| role.can_assign(*other));
    Ok(page(&TeamPage {
        frame: Frame::new(&studio, &workspace.name, Some(&user)),
        id,
        name: workspace.name,
        role: role_name(role),
        is_owner: role == Role::Owner,
        may_manage: role.can_manage(),
        members: members.collect(),
        invitations: invitations.collect(),
        has_mail: studio.service.options().mail.is_some(),
        roles: roles.map(|role| (role.as_str(), role_name(role))).collect(),
        name_chars: limits::TEAM_NAME_CHARS,
    }))
}

pub(crate) async fn rename(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    sent: SessionForm<NameForm>,
) -> Result<Redirect> {
    studio.service.rename_team(sent.user.caller(), &id, &sent.form.name).await?;
    Ok(to_team(&studio, &id))
}

/// Creates an invitation to a team. Only the response to this request shows the link.
pub(crate) async fn invite(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    sent: SessionForm<InviteForm>,
) -> Result<Response> {
    let SessionForm { user, form } = sent;
    let role = role(&form.role)?;
    let invitation = studio.service.invite(user.caller(), &id, role, &form.email, &join_base(&studio)).await?;
    let frame = Frame::new(&studio, "The invitation", Some(&user));
    Ok(page(&InvitedPage { frame, id, email: form.email.trim().to_owned(), is_offer: false, invitation }))
}

/// Creates an invitation by which the owner offers the ownership of the team to a member.
pub(crate) async fn hand_over(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    sent: SessionForm<HandOverForm>,
) -> Result<Response> {
    let SessionForm { user, form } = sent;
    let invitation = studio.service.offer_team(user.caller(), &id, &form.member, &join_base(&studio)).await?;
    let members = studio.service.team(user.caller(), &id).await?.members;
    let email = members.into_iter().find(|m| m.account_id.as_str() == form.member).map(|m| m.email);
    let frame = Frame::new(&studio, "The offer", Some(&user));
    Ok(page(&InvitedPage { frame, id, email: email.unwrap_or_default(), is_offer: true, invitation }))
}

pub(crate) async fn revoke_invitation(
    State(studio): State<Studio>,
    Path((id, invitation)): Path<(String, String)>,
    sent: SessionForm<EmptyForm>,
) -> Result<Redirect> {
    studio.service.revoke_invitation(sent.user.caller(), &id, &invitation).await?;
    Ok(to_team(&studio, &id))
}

pub(crate) async fn set_role(
    State(studio): State<Studio>,
    Path((id, member)): Path<(String, String)>,
    sent: SessionForm<RoleForm>,
) -> Result<Redirect> {
    studio.service.set_team_role(sent.user.caller(), &id, &member, role(&sent.form.role)?).await?;
    Ok(to_team(&studio, &id))
}

pub(crate) async fn remove(
    State(studio): State<Studio>,
    Path((id, member)): Path<(String, String)>,
    sent: SessionForm<EmptyForm>,
) -> Result<Redirect> {
    studio.service.remove_from_team(sent.user.caller(), &id, &member).await?;
    Ok(to_team(&studio, &id))
}

/// Shows a page that asks for confirmation before a member leaves a team.
pub(crate) async fn ask_to_leave(
    State(studio): State<Studio>,
    user: CurrentUser,
    Path(id): Path<String>,
) -> Result<Response> {
    let team = studio.service.team(user.caller(), &id).await?;
    if team.role == Role::Owner {
        let message = "the owner cannot leave a team; hand it over or delete it first";
        return Ok(PageError::new(StatusCode::BAD_REQUEST, message).into_response());
    }
    let frame = Frame::new(&studio, "Leave this team?", Some(&user));
    Ok(page(&LeavePage { frame, id, name: team.workspace.name }))
}

pub(crate) async fn leave(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    sent: SessionForm<EmptyForm>,
) -> Result<Redirect> {
    studio.service.leave_team(sent.user.caller(), &id).await?;
    Ok(to_list(&studio))
}

/// Shows a page that asks for confirmation before a team is deleted.
pub(crate) async fn ask_to_delete(
    State(studio): State<Studio>,
    user: CurrentUser,
    Path(id): Path<String>,
) -> Result<Response> {
    let team = studio.service.team(user.caller(), &id).await?;
    if team.role != Role::Owner {
        return Ok(PageError::new(StatusCode::FORBIDDEN, "only the owner can delete a team").into_response());
    }
    let frame = Frame::new(&studio, "Delete this team?", Some(&user));
    Ok(page(&DeletePage { frame, id, name: team.workspace.name }))
}

pub(crate) async fn delete(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    sent: SessionForm<EmptyForm>,
) -> Result<Redirect> {
    studio.service.delete_team(sent.user.caller(), &id).await?;
    Ok(to_list(&studio))
}

fn role(name: &str) -> Result<Role> {
    Role::from_name(name).ok_or_else(|| PageError::new(StatusCode::BAD_REQUEST, "choose a role"))
}

/// Returns the first part of the URL of an invitation. The service appends the secret.
fn join_base(studio: &Studio) -> String {
    format!("{}/join/", studio.site.url)
}

fn to_team(studio: &Studio, id: &str) -> Redirect {
    Redirect::to(&format!("{}/teams/{id}", studio.site.path))
}

fn to_list(studio: &Studio) -> Redirect {
    Redirect::to(&format!("{}/teams", studio.site.path))
}
