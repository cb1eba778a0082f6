//! Extracts submitted forms, and checks their CSRF token.

use axum::extract::{Form, FromRequest, FromRequestParts as _, Request};
use axum::http::StatusCode;
use plinth_service::access::SignedIn;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::{PageError, Result};
use crate::session::CurrentUser;

/// A form submitted by a signed-in user. Its CSRF token has been checked against the user's session.
pub(crate) struct SessionForm<T> {
    pub(crate) user: CurrentUser,
    pub(crate) form: T,
}

/// A form whose only field is the CSRF token.
#[derive(Debug, Deserialize)]
pub(crate) struct EmptyForm {}

#[derive(Deserialize)]
struct WithFormToken<T> {
    form_token: Option<String>,
    #[serde(flatten)]
    form: T,
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for SessionForm<T> {
    type Rejection = PageError;

    async fn from_request(request: Request, state: &S) -> Result<Self> {
        let (mut parts, body) = request.into_parts();
        let mut user = CurrentUser::from_request_parts(&mut parts, state).await?;
        let WithFormToken { form_token, form } = form(Request::from_parts(parts, body), state).await?;
        user.page_workspace = check_token(&user, form_token.as_deref())?;
        Ok(Self { user, form })
    }
}

/// A form with arbitrary fields, submitted by a signed-in user. A field may have several values. The CSRF token has
/// been checked against the user's session.
pub(crate) struct SessionFields {
    pub(crate) user: CurrentUser,
    fields: Vec<(String, String)>,
}

impl SessionFields {
    /// Returns the first value of a field. Returns an empty string if the form does not have the field.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.fields.iter().find(|(key, _value)| key == name).map_or("", |(_key, value)| value)
    }

    /// Returns all values of a field.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.fields.iter().filter(move |(key, _value)| key == name).map(|(_key, value)| value.as_str())
    }
}

impl<S: Send + Sync> FromRequest<S> for SessionFields {
    type Rejection = PageError;

    async fn from_request(request: Request, state: &S) -> Result<Self> {
        let (mut parts, body) = request.into_parts();
        let user = CurrentUser::from_request_parts(&mut parts, state).await?;
        let fields: Vec<(String, String)> = form(Request::from_parts(parts, body), state).await?;
        let mut sent = Self { user, fields };
        sent.user.page_workspace = check_token(&sent.user, Some(sent.text("form_token")))?;
        Ok(sent)
    }
}

/// Returns the hidden field `form_token` of all forms of a page: the CSRF token of the session, and the workspace that the
/// page shows. The workspace is part of this field, so that no form and no script can omit it.
pub(crate) fn form_token(user: &SignedIn) -> String {
    format!("{}.{}", user.form_token, user.caller.workspace_id)
}

/// Checks a form's CSRF token. Returns the identifier of the workspace that the page of the form shows; `None` if an
/// earlier version of the program, which did not write the workspace, created the page.
pub(crate) fn check_token(user: &CurrentUser, token: Option<&str>) -> Result<Option<String>> {
    let token = token.unwrap_or_default();
    let (secret, workspace) =
        token.split_once('.').map_or((token, None), |(secret, workspace)| (secret, Some(workspace.to_owned())));
    if user.signed_in.made_form(secret) {
        return Ok(workspace);
    }
    let message = "this form belongs to an earlier session; reload its page and submit it again";
    Err(PageError::new(StatusCode::FORBIDDEN, message))
}

/// Checks the field `form_token` of a form with files: the CSRF token, and that the session still has the workspace that
/// the page shows.
pub(crate) fn check_file_form(user: &CurrentUser, token: Option<&str>) -> Result<()> {
    user.check_workspace(check_token(user, token)?.as_deref())
}

/// Extracts a form without checking its session and CSRF token.
pub(crate) async fn form<T: DeserializeOwned, S: Send + Sync>(request: Request, state: &S) -> Result<T> {
    let form = Form::from_request(request, state).await;
    let Form(form) = form.map_err(|error| PageError::new(StatusCode::BAD_REQUEST, &error.body_text()))?;
    Ok(form)
}
