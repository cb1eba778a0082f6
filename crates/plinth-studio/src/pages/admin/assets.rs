//! The page on which administrators publish overlays and environments to all workspaces, or withdraw them.

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{Redirect, Response};
use plinth_service::admin::{AssetKind, SystemAsset};
use plinth_spec::limits;
use serde::Deserialize;

use super::{actor, required};
use crate::error::{PageError, Result};
use crate::form::SessionForm;
use crate::format::{DisplayTime, size};
use crate::frame::{Frame, page};
use crate::session::CurrentUser;
use crate::studio::Studio;

#[derive(Template)]
#[template(path = "admin_assets.html")]
struct AssetsPage {
    frame: Frame,
    here: &'static str,
    done: Option<&'static str>,
    workspace: String,
    reason_chars: usize,
    published: Vec<AssetLine>,
    private: Vec<AssetLine>,
}

#[derive(Template)]
#[template(path = "admin_withdraw.html")]
struct WithdrawPage {
    frame: Frame,
    reason_chars: usize,
    asset: AssetLine,
}

/// An overlay or environment.
struct AssetLine {
    kind: &'static str,
    kind_name: &'static str,
    id: String,
    name: String,
    layer: &'static str,
    pixels: String,
    stored: String,
    created: DisplayTime,
}

/// Query parameters of the page.
#[derive(Deserialize)]
pub(crate) struct DoneQuery {
    #[serde(default)]
    done: String,
}

/// Query parameters of the page that asks for a reason before an asset is withdrawn.
#[derive(Deserialize)]
pub(crate) struct AssetQuery {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    id: String,
}

/// Form fields for publishing and withdrawing an asset.
#[derive(Deserialize)]
pub(crate) struct AssetForm {
    kind: String,
    id: String,
    reason: String,
}

pub(crate) async fn list(
    State(studio): State<Studio>,
    user: CurrentUser,
    Query(query): Query<DoneQuery>,
) -> Result<Response> {
    let published = studio.service.list_system_assets().await?;
    let private = studio.service.list_private_assets(user.caller()).await?;
    let frame = Frame::new(&studio, "Overlays and environments", Some(&user)).at("admin");
    Ok(page(&AssetsPage {
        here: "assets",
        done: match query.done.as_str() {
            "published" => Some("It is available to all workspaces now."),
            "withdrawn" => Some("It is available only to its own workspace now."),
            _ => None,
        },
        workspace: frame.user.as_ref().map(|user| user.workspace.clone()).unwrap_or_default(),
        frame,
        reason_chars: limits::ADMIN_REASON_CHARS,
        published: published.into_iter().map(line).collect(),
        private: private.into_iter().map(line).collect(),
    }))
}

fn line(asset: SystemAsset) -> AssetLine {
    AssetLine {
        kind: asset.kind.as_str(),
        kind_name: match asset.kind {
            AssetKind::Overlay => "Overlay",
            AssetKind::Environment => "Environment",
        },
        name: if asset.name.is_empty() { "without a name".to_owned() } else { asset.name },
        id: asset.id,
        layer: asset.layer.unwrap_or_default(),
        pixels: asset.size.map(|(width, height)| format!("{width} × {height}")).unwrap_or_default(),
        stored: size(asset.file_size),
        created: DisplayTime::of(asset.created_at),
    }
}

pub(crate) async fn publish(State(studio): State<Studio>, sent: SessionForm<AssetForm>) -> Result<Redirect> {
    change(&studio, sent, true).await
}

/// Shows a page that asks for a reason before an asset is withdrawn.
pub(crate) async fn ask_to_withdraw(
    State(studio): State<Studio>,
    user: CurrentUser,
    Query(query): Query<AssetQuery>,
) -> Result<Response> {
    let assets = studio.service.list_system_assets().await?;
    let asset = assets.into_iter().find(|asset| asset.kind.as_str() == query.kind && asset.id == query.id);
    let missing = || PageError::new(StatusCode::NOT_FOUND, "nothing that all workspaces can use has this identifier");
    Ok(page(&WithdrawPage {
        frame: Frame::new(&studio, "Withdraw", Some(&user)).at("admin"),
        reason_chars: limits::ADMIN_REASON_CHARS,
        asset: line(asset.ok_or_else(missing)?),
    }))
}

pub(crate) async fn withdraw(State(studio): State<Studio>, sent: SessionForm<AssetForm>) -> Result<Redirect> {
    change(&studio, sent, false).await
}

async fn change(studio: &Studio, sent: SessionForm<AssetForm>, is_system: bool) -> Result<Redirect> {
    let AssetForm { kind, id, reason } = sent.form;
    let kind = AssetKind::from_name(&kind)
        .ok_or_else(|| PageError::new(StatusCode::BAD_REQUEST, "choose an overlay or an environment"))?;
    let why = required(reason)?;
    studio.service.set_system_asset(&actor(&sent.user)?, kind, &id, is_system, &why).await?;
    let done = if is_system { "published" } else { "withdrawn" };
    Ok(Redirect::to(&format!("{}/admin/assets?done={done}", studio.site.path)))
}
