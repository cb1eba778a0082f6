//! What all pages have in common.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use plinth_service::ServiceError;

use crate::studio::Studio;
use crate::style;
use crate::visitor::Visitor;

/// What all pages have in common.
pub(crate) struct Frame {
    /// What stands before each path.
    pub(crate) path: String,
    /// Path of the style sheet.
    pub(crate) style: &'static str,
    /// What the page is called.
    pub(crate) title: String,
    /// Which of the pages in the head it is; empty: none of them.
    pub(crate) here: &'static str,
    /// Who looks at it.
    pub(crate) visitor: Option<Shown>,
}

/// A visitor as pages show them.
pub(crate) struct Shown {
    pub(crate) email: String,
    pub(crate) form_token: String,
    /// Where they work.
    pub(crate) workspace: String,
    /// Where else they may work: identifier and name.
    pub(crate) others: Vec<(String, String)>,
}

impl Frame {
    pub(crate) fn new(studio: &Studio, title: &str, visitor: Option<&Visitor>) -> Self {
        Self {
            path: studio.site.path.clone(),
            style: style::path(),
            title: title.to_owned(),
            here: "",
            visitor: visitor.map(Shown::of),
        }
    }

    /// The frame of a page that the head of all pages names.
    pub(crate) fn at(self, here: &'static str) -> Self {
        Self { here, ..self }
    }
}

impl Shown {
    fn of(visitor: &Visitor) -> Self {
        let caller = &visitor.signed_in.caller;
        let (here, others): (Vec<_>, Vec<_>) = visitor
            .signed_in
            .workspaces
            .iter()
            .map(|m| (m.workspace.id.to_string(), m.workspace.name.clone()))
            .partition(|(id, _)| id == caller.workspace_id.as_str());
        Self {
            email: caller.email.clone(),
            form_token: visitor.signed_in.form_token.clone(),
            workspace: here.into_iter().map(|(_, name)| name).collect(),
            others,
        }
    }
}

/// A page as an answer.
pub(crate) fn page(template: &impl Template) -> Response {
    match template.render() {
        Ok(html) => Html(html).into_response(),
        Err(error) => {
            ServiceError::internal(error).log();
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
