//! The page layout: title, navigation and user menu.

use askama::Template;
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use plinth_service::{BodyMemory, HeldBody, ServiceError};

use crate::assets;
use crate::form::form_token;
use crate::session::CurrentUser;
use crate::studio::Studio;

/// Template data of the page layout.
pub(crate) struct Frame {
    /// Path prefix of every page.
    pub(crate) path: String,
    /// Path of the folder with style sheets and scripts.
    pub(crate) assets: String,
    /// Scripts of this page, in addition to the scripts of the layout, which every page has.
    pub(crate) scripts: &'static [&'static str],
    /// Title of the page.
    pub(crate) title: String,
    /// Name of the navigation entry that is marked as current; empty for none.
    pub(crate) here: &'static str,
    /// The signed-in user; `None` if nobody is signed in.
    pub(crate) user: Option<UserMenu>,
}

/// Data of the signed-in user in the page header.
pub(crate) struct UserMenu {
    pub(crate) email: String,
    pub(crate) form_token: String,
    /// Name of the current workspace.
    pub(crate) workspace: String,
    /// Identifiers and names of the user's other workspaces.
    pub(crate) others: Vec<(String, String)>,
    /// Whether the user may change the workspace.
    pub(crate) can_edit: bool,
    /// Whether the user is an administrator of the installation.
    pub(crate) is_admin: bool,
}

impl Frame {
    pub(crate) fn new(studio: &Studio, title: &str, user: Option<&CurrentUser>) -> Self {
        Self {
            path: studio.site.path.clone(),
            assets: format!("{}{}", studio.site.path, assets::folder()),
            scripts: &[],
            title: title.to_owned(),
            here: "",
            user: user.map(UserMenu::of),
        }
    }

    /// Marks the navigation entry `here` as current.
    pub(crate) fn at(self, here: &'static str) -> Self {
        Self { here, ..self }
    }

    /// Adds scripts to this page.
    pub(crate) fn with_scripts(self, scripts: &'static [&'static str]) -> Self {
        Self { scripts, ..self }
    }
}

impl UserMenu {
    fn of(user: &CurrentUser) -> Self {
        let caller = &user.signed_in.caller;
        let (here, others): (Vec<_>, Vec<_>) = user
            .signed_in
            .workspaces
            .iter()
            .map(|m| (m.workspace.id.to_string(), m.workspace.name.clone()))
            .partition(|(id, _)| id == caller.workspace_id.as_str());
        Self {
            email: caller.email.clone(),
            form_token: form_token(&user.signed_in),
            workspace: here.into_iter().map(|(_, name)| name).collect(),
            others,
            can_edit: caller.role.can_edit(),
            is_admin: caller.is_admin,
        }
    }
}

/// Renders a template into a response that holds a reservation of memory until it is sent.
pub(crate) fn page_with_memory(template: &impl Template, memory: BodyMemory) -> Response {
    match template.render() {
        Ok(html) => {
            let length = HeaderValue::from(html.len());
            let body = Body::from_stream(HeldBody::new(html.into_bytes(), memory));
            ([(header::CONTENT_LENGTH, length)], Html(body)).into_response()
        }
        Err(error) => {
            ServiceError::internal(error).log();
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// Renders a template into a response.
pub(crate) fn page(template: &impl Template) -> Response {
    match template.render() {
        Ok(html) => Html(html).into_response(),
        Err(error) => {
            ServiceError::internal(error).log();
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
