//! The page of the user's own account: password and sessions.

use askama::Template;
use axum::Extension;
use axum::extract::{Path, Query, State};
use axum::response::{Redirect, Response};
use plinth_service::access::{ClientAddress, SessionView};
use serde::Deserialize;

use crate::error::Result;
use crate::form::{EmptyForm, SessionForm};
use crate::format::{DisplayTime, browser_name};
use crate::frame::{Frame, page};
use crate::session::CurrentUser;
use crate::studio::Studio;

/// Path of the page after a new password was set, which it confirms.
pub(super) const CHANGED: &str = "/account?changed=1";

#[derive(Template)]
#[template(path = "account.html")]
struct AccountPage {
    frame: Frame,
    email: String,
    has_password: bool,
    /// Whether the page confirms that the password was changed.
    is_changed: bool,
    sessions: Vec<SessionRow>,
}

/// A session in the list.
struct SessionRow {
    id: String,
    browser: String,
    is_current: bool,
    created: DisplayTime,
    seen: DisplayTime,
}

/// Query parameters of the page.
#[derive(Deserialize)]
pub(crate) struct AccountQuery {
    changed: Option<String>,
}

/// Form fields of a new password.
#[derive(Deserialize)]
pub(crate) struct PasswordForm {
    #[serde(default)]
    old: String,
    new: String,
}

pub(crate) async fn show(
    State(studio): State<Studio>,
    user: CurrentUser,
    Query(query): Query<AccountQuery>,
) -> Result<Response> {
    let sessions = studio.service.list_sessions(user.caller(), &user.secret).await?;
    Ok(page(&AccountPage {
        frame: Frame::new(&studio, "Account", Some(&user)),
        email: user.caller().email.clone(),
        has_password: studio.service.has_password(user.caller()).await?,
        is_changed: query.changed.is_some(),
        sessions: sessions.into_iter().map(session_row).collect(),
    }))
}

pub(crate) async fn change_password(
    State(studio): State<Studio>,
    Extension(client): Extension<ClientAddress>,
    sent: SessionForm<PasswordForm>,
) -> Result<Redirect> {
    let SessionForm { user, form } = sent;
    studio.service.change_password(user.caller(), &client, &user.secret, form.old, form.new).await?;
    Ok(Redirect::to(&format!("{}{CHANGED}", studio.site.path)))
}

pub(crate) async fn end_session(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    sent: SessionForm<EmptyForm>,
) -> Result<Redirect> {
    studio.service.end_session(sent.user.caller(), &id).await?;
    Ok(Redirect::to(&format!("{}/account", studio.site.path)))
}

fn session_row(session: SessionView) -> SessionRow {
    SessionRow {
        id: session.id,
        browser: browser_name(&session.browser),
        is_current: session.is_current,
        created: DisplayTime::of(session.created_at),
        seen: DisplayTime::of(session.seen_at),
    }
}
