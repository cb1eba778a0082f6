//! The pages that list, create and revoke API keys.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{Redirect, Response};
use plinth_service::access::{Key, NewKey};
use plinth_spec::id::{TokenId, WorkspaceId};
use plinth_spec::limits;
use plinth_spec::wire::Scope;
use serde::Deserialize;

use crate::error::{PageError, Result};
use crate::form::{EmptyForm, SessionForm};
use crate::format::{DisplayTime, scopes};
use crate::frame::{Frame, page};
use crate::session::CurrentUser;
use crate::studio::Studio;

/// Selectable lifetimes of a key: number of days and label. The first lifetime is the default. A key without a number
/// of days does not expire.
const LIFETIMES: [(&str, &str); 4] =
    [("", "for ever"), ("30", "for 30 days"), ("90", "for 90 days"), ("365", "for a year")];

#[derive(Template)]
#[template(path = "keys.html")]
struct KeysPage {
    frame: Frame,
    /// Tables of keys; none of them is empty.
    tables: Vec<KeyTable>,
    /// Workspaces in which the user may create keys: identifier, name, and whether the workspace is the current one.
    workspaces: Vec<(String, String, bool)>,
    lifetimes: [(&'static str, &'static str); 4],
    name_chars: usize,
}

#[derive(Template)]
#[template(path = "key_created.html")]
struct KeyCreatedPage {
    frame: Frame,
    name: String,
    token: String,
    api: String,
}

#[derive(Template)]
#[template(path = "key_revoke.html")]
struct RevokePage {
    frame: Frame,
    key: KeyRow,
}

/// A table of keys.
struct KeyTable {
    name: &'static str,
    /// Whether the table is hidden until the user opens it.
    is_folded: bool,
    keys: Vec<KeyRow>,
}

/// A key in a table.
struct KeyRow {
    id: String,
    name: String,
    /// First and last characters of the token.
    token: String,
    scopes: String,
    workspace: String,
    created: DisplayTime,
    expires: Option<DisplayTime>,
    used: Option<DisplayTime>,
    revoked: Option<DisplayTime>,
    is_valid: bool,
}

/// Form fields of a new key.
#[derive(Deserialize)]
pub(crate) struct CreateKeyForm {
    name: String,
    may: String,
    workspace: String,
    days: String,
}

pub(crate) async fn list(State(studio): State<Studio>, user: CurrentUser) -> Result<Response> {
    let keys = studio.service.keys(&user.caller().account_id).await?;
    let here = &user.caller().workspace_id;
    let editable = user.signed_in.workspaces.iter().filter(|m| m.role.can_edit());
    Ok(page(&KeysPage {
        frame: Frame::new(&studio, "API keys", Some(&user)).at("keys"),
        tables: key_tables(&keys, &user),
        workspaces: editable
            .map(|m| (m.workspace.id.to_string(), m.workspace.name.clone(), m.workspace.id == *here))
            .collect(),
        lifetimes: LIFETIMES,
        name_chars: limits::KEY_NAME_CHARS,
    }))
}

/// Creates a key. Only the response to this request shows the token of the key.
pub(crate) async fn create(State(studio): State<Studio>, sent: SessionForm<CreateKeyForm>) -> Result<Response> {
    let SessionForm { user, form } = sent;
    let name = form.name.trim().to_owned();
    let new = new_key(&user, name.clone(), &form)?;
    let created = studio.service.create_own_key(user.caller(), new).await?;
    Ok(page(&KeyCreatedPage {
        frame: Frame::new(&studio, "Your new key", Some(&user)),
        name,
        token: created.token,
        api: format!("{}/v1", studio.site.url),
    }))
}

fn new_key(user: &CurrentUser, name: String, form: &CreateKeyForm) -> Result<NewKey> {
    let wrong = |message| PageError::new(StatusCode::BAD_REQUEST, message);
    if name.is_empty() {
        return Err(wrong("give the key a name"));
    }
    let scopes = match form.may.as_str() {
        "render" => Scope::ALL.to_vec(),
        "read" => vec![Scope::Read],
        _ => return Err(wrong("choose what the key may do")),
    };
    let is_known = |id: &WorkspaceId| user.signed_in.workspaces.iter().any(|m| m.workspace.id == *id);
    let workspace = WorkspaceId::parse(&form.workspace).filter(is_known);
    let workspace = workspace.ok_or_else(|| PageError::new(StatusCode::NOT_FOUND, "there is no such workspace"))?;
    let days: Option<i64> = match LIFETIMES.iter().find(|(days, _)| *days == form.days) {
        Some((days, _)) => days.parse().ok(),
        None => return Err(wrong("choose a lifetime for the key")),
    };
    Ok(NewKey {
        account_id: user.caller().account_id.clone(),
        workspace_id: Some(workspace),
        name,
        scopes,
        expires_in_secs: days.map(|days| days * 24 * 3600),
        has_legacy_prefix: false,
    })
}

/// Shows a page that asks for confirmation before a key is revoked.
pub(crate) async fn ask_to_revoke(
    State(studio): State<Studio>,
    user: CurrentUser,
    Path(id): Path<String>,
) -> Result<Response> {
    let keys = studio.service.keys(&user.caller().account_id).await?;
    let key = keys.iter().find(|key| key.token.id.as_str() == id && key.token.revoked_at.is_none());
    let key = key_row(key.ok_or_else(no_such_key)?, &user);
    Ok(page(&RevokePage { frame: Frame::new(&studio, "Revoke a key", Some(&user)), key }))
}

pub(crate) async fn revoke(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    sent: SessionForm<EmptyForm>,
) -> Result<Redirect> {
    let id = TokenId::parse(&id).ok_or_else(no_such_key)?;
    studio.service.revoke_own_key(sent.user.caller(), &id).await?;
    Ok(Redirect::to(&format!("{}/keys", studio.site.path)))
}

fn no_such_key() -> PageError {
    PageError::new(StatusCode::NOT_FOUND, "there is no active key with this identifier")
}

/// Returns the tables of the valid keys, and of the keys that were revoked or have expired. Leaves out empty tables.
fn key_tables(keys: &[Key], user: &CurrentUser) -> Vec<KeyTable> {
    let tables = [("Your keys", true), ("Revoked and expired keys", false)].map(|(name, is_valid)| KeyTable {
        name,
        is_folded: !is_valid,
        keys: keys.iter().filter(|key| key.is_valid == is_valid).map(|key| key_row(key, user)).collect(),
    });
    tables.into_iter().filter(|table| !table.keys.is_empty()).collect()
}

fn key_row(key: &Key, user: &CurrentUser) -> KeyRow {
    let token = &key.token;
    let beginning = if token.prefix.is_empty() { String::new() } else { format!("{}_sk_", token.prefix) };
    let workspace = user.signed_in.workspaces.iter().find(|m| m.workspace.id == token.workspace_id);
    KeyRow {
        id: token.id.to_string(),
        name: if token.name.is_empty() { "without a name".to_owned() } else { token.name.clone() },
        token: format!("{beginning}…{}", token.last4),
        scopes: scopes(&token.scopes),
        workspace: workspace.map_or_else(|| "no longer yours".to_owned(), |m| m.workspace.name.clone()),
        created: DisplayTime::of(token.created_at),
        expires: token.expires_at.map(DisplayTime::of),
        used: token.last_used_at.map(DisplayTime::of),
        revoked: token.revoked_at.map(DisplayTime::of),
        is_valid: key.is_valid,
    }
}
