//! API keys.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{Redirect, Response};
use plinth_service::access::{Key, NewKey};
use plinth_spec::id::{TokenId, WorkspaceId};
use plinth_spec::limits;
use plinth_spec::wire::Scope;
use serde::Deserialize;

use crate::frame::{Frame, page};
use crate::refusal::{Refusal, Result};
use crate::sent::{Nothing, Sent};
use crate::studio::Studio;
use crate::visitor::Visitor;
use crate::words::{Moment, scopes};

/// How long a key may be good: days and words. The first is offered.
const LIFETIMES: [(&str, &str); 4] =
    [("", "for ever"), ("30", "for 30 days"), ("90", "for 90 days"), ("365", "for a year")];

#[derive(Template)]
#[template(path = "keys.html")]
struct KeysPage {
    frame: Frame,
    keys: Vec<Shown>,
    /// Where the account may have keys: identifier, name, whether it is where the visitor is.
    workspaces: Vec<(String, String, bool)>,
    lifetimes: [(&'static str, &'static str); 4],
    name_chars: usize,
}

#[derive(Template)]
#[template(path = "key_made.html")]
struct MadePage {
    frame: Frame,
    name: String,
    token: String,
    api: String,
}

#[derive(Template)]
#[template(path = "key_revoke.html")]
struct RevokePage {
    frame: Frame,
    key: Shown,
}

/// A key in the list.
struct Shown {
    id: String,
    name: String,
    /// Its beginning and its end.
    token: String,
    scopes: String,
    workspace: String,
    created: Moment,
    expires: Option<Moment>,
    used: Option<Moment>,
    revoked: Option<Moment>,
    is_good: bool,
}

/// A key to make, as it was sent.
#[derive(Deserialize)]
pub(crate) struct Wanted {
    name: String,
    may: String,
    workspace: String,
    days: String,
}

pub(crate) async fn list(State(studio): State<Studio>, visitor: Visitor) -> Result<Response> {
    let keys = studio.service.keys(&visitor.caller().account_id).await?;
    let here = &visitor.caller().workspace_id;
    let editable = visitor.signed_in.workspaces.iter().filter(|m| m.role.can_edit());
    Ok(page(&KeysPage {
        frame: Frame::new(&studio, "API keys", Some(&visitor)).at("keys"),
        keys: keys.iter().map(|key| shown(key, &visitor)).collect(),
        workspaces: editable
            .map(|m| (m.workspace.id.to_string(), m.workspace.name.clone(), m.workspace.id == *here))
            .collect(),
        lifetimes: LIFETIMES,
        name_chars: limits::KEY_NAME_CHARS,
    }))
}

/// Makes a key. Its token stands in this answer and nowhere else.
pub(crate) async fn create(State(studio): State<Studio>, sent: Sent<Wanted>) -> Result<Response> {
    let Sent { visitor, form } = sent;
    let name = form.name.trim().to_owned();
    let new = wanted(&visitor, name.clone(), &form)?;
    let made = studio.service.create_key(new).await?;
    Ok(page(&MadePage {
        frame: Frame::new(&studio, "Your new key", Some(&visitor)),
        name,
        token: made.token,
        api: format!("{}/v1", studio.site.url),
    }))
}

fn wanted(visitor: &Visitor, name: String, form: &Wanted) -> Result<NewKey> {
    let wrong = |words| Refusal::new(StatusCode::BAD_REQUEST, words);
    if name.is_empty() {
        return Err(wrong("give the key a name"));
    }
    let scopes = match form.may.as_str() {
        "render" => Scope::ALL.to_vec(),
        "read" => vec![Scope::Read],
        _ => return Err(wrong("choose what the key may do")),
    };
    let is_known = |id: &WorkspaceId| visitor.signed_in.workspaces.iter().any(|m| m.workspace.id == *id);
    let workspace = WorkspaceId::parse(&form.workspace).filter(is_known);
    let workspace = workspace.ok_or_else(|| Refusal::new(StatusCode::NOT_FOUND, "there is no such workspace"))?;
    let days: Option<i64> = match LIFETIMES.iter().find(|(days, _)| *days == form.days) {
        Some((days, _)) => days.parse().ok(),
        None => return Err(wrong("choose how long the key is good")),
    };
    Ok(NewKey {
        account_id: visitor.caller().account_id.clone(),
        workspace_id: Some(workspace),
        name,
        scopes,
        expires_in_secs: days.map(|days| days * 24 * 3600),
        has_legacy_prefix: false,
    })
}

/// Asks before a key is made void.
pub(crate) async fn ask_to_revoke(
    State(studio): State<Studio>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response> {
    let keys = studio.service.keys(&visitor.caller().account_id).await?;
    let key = keys.iter().find(|key| key.token.id.as_str() == id && key.token.revoked_at.is_none());
    let key = shown(key.ok_or_else(no_such_key)?, &visitor);
    Ok(page(&RevokePage { frame: Frame::new(&studio, "Revoke a key", Some(&visitor)), key }))
}

pub(crate) async fn revoke(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    sent: Sent<Nothing>,
) -> Result<Redirect> {
    let id = TokenId::parse(&id).ok_or_else(no_such_key)?;
    studio.service.revoke_key(&id, Some(&sent.visitor.caller().account_id)).await?;
    Ok(Redirect::to(&format!("{}/keys", studio.site.path)))
}

fn no_such_key() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "there is no such key in force")
}

fn shown(key: &Key, visitor: &Visitor) -> Shown {
    let token = &key.token;
    let beginning = if token.prefix.is_empty() { String::new() } else { format!("{}_sk_", token.prefix) };
    let workspace = visitor.signed_in.workspaces.iter().find(|m| m.workspace.id == token.workspace_id);
    Shown {
        id: token.id.to_string(),
        name: if token.name.is_empty() { "without a name".to_owned() } else { token.name.clone() },
        token: format!("{beginning}…{}", token.last4),
        scopes: scopes(&token.scopes),
        workspace: workspace.map_or_else(|| "no longer yours".to_owned(), |m| m.workspace.name.clone()),
        created: Moment::of(token.created_at),
        expires: token.expires_at.map(Moment::of),
        used: token.last_used_at.map(Moment::of),
        revoked: token.revoked_at.map(Moment::of),
        is_good: key.is_good,
    }
}
