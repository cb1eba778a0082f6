//! Forms that visitors send.

use axum::extract::{Form, FromRequest, FromRequestParts as _, Request};
use axum::http::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::refusal::{Refusal, Result};
use crate::visitor::Visitor;

/// A form with the token of the session that its page was made for.
pub(crate) struct Sent<T> {
    pub(crate) visitor: Visitor,
    pub(crate) form: T,
}

/// A form with nothing but the token.
#[derive(Debug, Deserialize)]
pub(crate) struct Nothing {}

#[derive(Deserialize)]
struct Tokened<T> {
    form_token: Option<String>,
    #[serde(flatten)]
    form: T,
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Sent<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Self> {
        let (mut parts, body) = request.into_parts();
        let visitor = Visitor::from_request_parts(&mut parts, state).await?;
        let Tokened { form_token, form } = form(Request::from_parts(parts, body), state).await?;
        if !form_token.is_some_and(|token| visitor.signed_in.made_form(&token)) {
            let words = "this form is not of your present session; open its page again and send it from there";
            return Err(Refusal::new(StatusCode::FORBIDDEN, words));
        }
        Ok(Self { visitor, form })
    }
}

/// A form of whoever sends it.
pub(crate) async fn form<T: DeserializeOwned, S: Send + Sync>(request: Request, state: &S) -> Result<T> {
    let form = Form::from_request(request, state).await;
    let Form(form) = form.map_err(|error| Refusal::new(StatusCode::BAD_REQUEST, &error.body_text()))?;
    Ok(form)
}
