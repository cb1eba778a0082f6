//! The actions of the forms on the page of an account, for administrators.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Redirect;
use plinth_service::admin::Grant;
use plinth_spec::funding::Pool;
use plinth_spec::id::{AccountId, EntryId};
use serde::Deserialize;

use super::{actor, required};
use crate::error::{PageError, Result};
use crate::form::SessionForm;
use crate::studio::Studio;

/// Form fields of a grant of credits.
#[derive(Deserialize)]
pub(crate) struct GrantForm {
    entry: String,
    credits: String,
    pool: String,
    reason: String,
}

/// Form fields of all other actions.
#[derive(Deserialize)]
pub(crate) struct ReasonForm {
    reason: String,
}

pub(crate) async fn grant(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    sent: SessionForm<GrantForm>,
) -> Result<Redirect> {
    let SessionForm { user, form } = sent;
    let wrong = |message| PageError::new(StatusCode::BAD_REQUEST, message);
    let credits = form.credits.trim().parse().map_err(|_text| wrong("the number of credits must be a whole number"))?;
    let grant = Grant {
        entry: EntryId::parse(&form.entry).ok_or_else(|| wrong("reload the page and send the form again"))?,
        pool: Pool::from_name(&form.pool).ok_or_else(|| wrong("choose a pool of credits"))?,
        credits,
        reason: required(form.reason)?,
    };
    studio.service.grant_credits(&actor(&user)?, &account_id(&id)?, grant).await?;
    Ok(back(&studio, &id, "granted"))
}

pub(crate) async fn suspend(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    sent: SessionForm<ReasonForm>,
) -> Result<Redirect> {
    let why = required(sent.form.reason)?;
    studio.service.suspend_account(&actor(&sent.user)?, &account_id(&id)?, &why).await?;
    Ok(back(&studio, &id, "suspended"))
}

pub(crate) async fn reactivate(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    sent: SessionForm<ReasonForm>,
) -> Result<Redirect> {
    let why = required(sent.form.reason)?;
    studio.service.reactivate_account(&actor(&sent.user)?, &account_id(&id)?, &why).await?;
    Ok(back(&studio, &id, "reactivated"))
}

pub(crate) async fn make_admin(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    sent: SessionForm<ReasonForm>,
) -> Result<Redirect> {
    let why = required(sent.form.reason)?;
    studio.service.set_admin(&actor(&sent.user)?, &account_id(&id)?, true, &why).await?;
    Ok(back(&studio, &id, "admin"))
}

pub(crate) async fn remove_admin(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    sent: SessionForm<ReasonForm>,
) -> Result<Redirect> {
    let why = required(sent.form.reason)?;
    let account = account_id(&id)?;
    studio.service.set_admin(&actor(&sent.user)?, &account, false, &why).await?;
    // Administrators who have removed their own role can no longer see the page of the account.
    if account == sent.user.caller().account_id {
        return Ok(Redirect::to(&format!("{}/", studio.site.path)));
    }
    Ok(back(&studio, &id, "no-admin"))
}

fn account_id(id: &str) -> Result<AccountId> {
    AccountId::parse(id).ok_or_else(|| PageError::new(StatusCode::NOT_FOUND, "there is no such account"))
}

fn back(studio: &Studio, id: &str, done: &str) -> Redirect {
    Redirect::to(&format!("{}/admin/accounts/{id}?done={done}", studio.site.path))
}
