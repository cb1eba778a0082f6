//! Extracts submitted forms, and checks their CSRF token.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Form, FromRequest, FromRequestParts as _, RawForm, Request};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use bytes::Bytes;
use plinth_service::BodyMemory;
use plinth_service::access::SignedIn;
use plinth_spec::limits;
use plinth_spec::wire::count_json_values;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::{PageError, Result};
use crate::session::CurrentUser;
use crate::studio::Studio;

/// Time limit for receiving a form for which memory may be reserved.
const ARRIVAL: Duration = Duration::from_mins(1);

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
    /// The reservation of memory for a large form and the settings in it.
    memory: Mutex<Option<BodyMemory>>,
}

impl SessionFields {
    /// Releases the reservation of memory for the form. Called before a page is built that may have to wait for memory of its own,
    /// because requests that wait while they hold memory could block each other.
    pub(crate) fn release_memory(&self) {
        drop(self.memory.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Returns the first value of a field. Returns an empty string if the form does not have the field.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.fields.iter().find(|(key, _value)| key == name).map_or("", |(_key, value)| value)
    }

    /// Returns all values of a field.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.fields.iter().filter(move |(key, _value)| key == name).map(|(_key, value)| value.as_str())
    }
}

impl FromRequest<Studio> for SessionFields {
    type Rejection = PageError;

    async fn from_request(request: Request, studio: &Studio) -> Result<Self> {
        let (mut parts, body) = request.into_parts();
        let user = CurrentUser::from_request_parts(&mut parts, studio).await?;
        let stated = parts.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        let bytes: usize = stated.unwrap_or(limits::PAGE_FORM_BYTES).min(limits::PAGE_FORM_BYTES);
        let mut memory = studio.service.json_memory(user.caller(), bytes, limits::JSON_VALUES).await?;
        let reading = tokio::time::timeout(ARRIVAL, text(Request::from_parts(parts, body), studio)).await;
        let late = |_late| {
            let message = format!("the form was not received within {} s", ARRIVAL.as_secs());
            PageError::new(StatusCode::REQUEST_TIMEOUT, &message)
        };
        let fields: Vec<(String, String)> = parse(reading.map_err(late)??).await?;
        memory.shrink_to_values(bytes, checked_values(&fields)?);
        let mut sent = Self { user, fields, memory: Mutex::new(Some(memory)) };
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
    let message = "this form belongs to an earlier session; go back, reload the page of the form and submit it again";
    Err(PageError::new(StatusCode::FORBIDDEN, message))
}

/// Checks the field `form_token` of a form with files: the CSRF token, and that the session still has the workspace that
/// the page shows.
pub(crate) fn check_file_form(user: &CurrentUser, token: Option<&str>) -> Result<()> {
    user.check_workspace(check_token(user, token)?.as_deref())
}

/// Extracts a form without checking its session and CSRF token.
pub(crate) async fn form<T: DeserializeOwned, S: Send + Sync>(request: Request, state: &S) -> Result<T> {
    parse(text(request, state).await?).await
}

/// Reads the text of a form.
/// Errors: the form is too large, or has too many fields. Without this limit, parsed fields could take a hundred times as much
/// memory as their text.
async fn text<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes> {
    let text = RawForm::from_request(request, state).await;
    let RawForm(text) = text.map_err(|error| PageError::new(StatusCode::BAD_REQUEST, &error.body_text()))?;
    if text.split(|byte| *byte == b'&').count() > limits::PAGE_FORM_FIELDS {
        let message = format!("the form has more than {} fields", limits::PAGE_FORM_FIELDS);
        return Err(PageError::new(StatusCode::BAD_REQUEST, &message));
    }
    Ok(text)
}

/// Counts the values in the fields of a form, which may be JSON texts.
/// Errors: there are more than in a body of the API.
fn checked_values(fields: &[(String, String)]) -> Result<usize> {
    let count: usize = fields.iter().map(|(_key, value)| count_json_values(value.as_bytes())).sum();
    if count > limits::JSON_VALUES {
        let message = format!("the form has more than {} values", limits::JSON_VALUES);
        return Err(PageError::new(StatusCode::BAD_REQUEST, &message));
    }
    Ok(count)
}

/// Parses the text of a form.
async fn parse<T: DeserializeOwned>(text: Bytes) -> Result<T> {
    let unreadable = |problem: &str| PageError::new(StatusCode::BAD_REQUEST, problem);
    let request = Request::post("/").header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(Body::from(text));
    let form = Form::from_request(request.map_err(|error| unreadable(&error.to_string()))?, &()).await;
    let Form(form) = form.map_err(|error| unreadable(&error.body_text()))?;
    Ok(form)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn fields(text: String) -> Result<Vec<(String, String)>> {
        let request = Request::post("/").header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        form(request.body(Body::from(text)).unwrap(), &()).await
    }

    fn rejection(result: Result<impl Sized>) -> String {
        match result {
            Err(PageError::Message { status: StatusCode::BAD_REQUEST, message, .. }) => message,
            _ => String::new(),
        }
    }

    #[tokio::test]
    async fn a_form_has_a_maximum_number_of_fields() {
        let most = vec!["a"; limits::PAGE_FORM_FIELDS].join("&");
        assert_eq!(fields(most.clone()).await.unwrap().len(), limits::PAGE_FORM_FIELDS);
        assert_eq!(rejection(fields(format!("{most}&a")).await), "the form has more than 2000 fields");
    }

    #[test]
    fn the_values_of_a_form_have_a_maximum_number() {
        let list = |entries: usize| vec![("decals".to_owned(), format!("[{}]", vec!["1"; entries].join(",")))];
        // The counting adds one for the text, and one for the list.
        assert_eq!(checked_values(&list(limits::JSON_VALUES - 1)).unwrap(), limits::JSON_VALUES);
        assert_eq!(rejection(checked_values(&list(limits::JSON_VALUES))), "the form has more than 65536 values");
    }
}
