//! The page of one account, for administrators.

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use plinth_service::admin::{AccountRender, AccountView, Grant, WorkspaceSummary};
use plinth_spec::limits;
use serde::Deserialize;

use super::super::ledger_entry::EntryRow;
use super::log::LogLine;
use crate::error::Result;
use crate::format::{DisplayTime, role_name, size, status};
use crate::frame::{Frame, page};
use crate::session::CurrentUser;
use crate::studio::Studio;

#[derive(Template)]
#[template(path = "admin_account.html")]
struct AccountPage {
    frame: Frame,
    here: &'static str,
    id: String,
    email: String,
    /// Confirmation of the previous action; `None` if there was none.
    done: Option<&'static str>,
    is_own: bool,
    is_admin: bool,
    suspended: Option<DisplayTime>,
    created: DisplayTime,
    paid: u64,
    free: u64,
    stored: String,
    keys: u64,
    sessions: usize,
    reason_chars: usize,
    /// Identifier of the ledger entry that the form for granting credits will create. It prevents that a form which is
    /// sent twice grants the credits twice.
    entry: String,
    workspaces: Vec<WorkspaceLine>,
    renders: Vec<RenderLine>,
    entries: Vec<EntryRow>,
    log: Vec<LogLine>,
}

/// A workspace of the account.
struct WorkspaceLine {
    name: String,
    id: String,
    role: &'static str,
    renders: u64,
    stored: String,
}

/// A render of the account.
struct RenderLine {
    id: String,
    workspace: String,
    status: &'static str,
    status_name: &'static str,
    credits: u64,
    failure: Option<&'static str>,
    message: String,
    created: DisplayTime,
}

/// Query parameters of the page.
#[derive(Deserialize)]
pub(crate) struct DoneQuery {
    #[serde(default)]
    done: String,
}

pub(crate) async fn show(
    State(studio): State<Studio>,
    user: CurrentUser,
    Path(id): Path<String>,
    Query(query): Query<DoneQuery>,
) -> Result<Response> {
    let view = studio.service.account_view(&id).await?;
    let frame = Frame::new(&studio, &view.account.email, Some(&user)).at("admin");
    let is_own = view.account.id == user.caller().account_id;
    Ok(page(&account_page(frame, view, is_own, done_text(&query.done))))
}

fn done_text(done: &str) -> Option<&'static str> {
    match done {
        "granted" => Some("The credits were booked."),
        "suspended" => Some("The account was suspended. Its browsers were signed out."),
        "reactivated" => Some("The suspension was ended."),
        "admin" => Some("The account is an administrator now."),
        "no-admin" => Some("The account is no longer an administrator."),
        _ => None,
    }
}

fn account_page(frame: Frame, view: AccountView, is_own: bool, done: Option<&'static str>) -> AccountPage {
    let account = view.account;
    AccountPage {
        frame,
        here: "accounts",
        id: account.id.to_string(),
        email: account.email,
        done,
        is_own,
        is_admin: account.is_admin,
        suspended: account.suspended_at.map(DisplayTime::of),
        created: DisplayTime::of(account.created_at),
        paid: account.balance.paid,
        free: account.balance.free,
        stored: size(view.stored_bytes),
        keys: view.keys,
        sessions: view.sessions,
        reason_chars: limits::ADMIN_REASON_CHARS,
        entry: Grant::new_entry().to_string(),
        workspaces: view.workspaces.iter().map(workspace_line).collect(),
        renders: view.renders.into_iter().map(render_line).collect(),
        // The entries have no links to renders, which only members of the workspace can open.
        entries: view.ledger.iter().map(EntryRow::of).map(EntryRow::without_link).collect(),
        log: view.log.into_iter().map(LogLine::of).collect(),
    }
}

fn workspace_line(summary: &WorkspaceSummary) -> WorkspaceLine {
    WorkspaceLine {
        name: summary.workspace.name.clone(),
        id: summary.workspace.id.to_string(),
        role: role_name(summary.role),
        renders: summary.renders,
        stored: size(summary.stored_bytes),
    }
}

fn render_line(render: AccountRender) -> RenderLine {
    RenderLine {
        id: render.id.to_string(),
        workspace: render.workspace,
        status: status(render.status),
        status_name: render.status.as_str(),
        credits: render.credits,
        failure: render.failure.map(plinth_spec::FailureCode::as_str),
        message: render.message.unwrap_or_default(),
        created: DisplayTime::of(render.created_at),
    }
}
