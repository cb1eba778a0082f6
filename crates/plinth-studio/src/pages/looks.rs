//! The pages that list, rename and delete looks, and choose the look with which the composer starts.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{Redirect, Response};
use plinth_service::BodyMemory;
use plinth_service::access::Caller;
use plinth_service::looks::Look;
use plinth_spec::limits;
use plinth_spec::wire::UpdateLook;
use serde::Deserialize;

use super::overview::allow_files;
use crate::error::{PageError, Result};
use crate::form::{EmptyForm, SessionForm};
use crate::frame::{Frame, page, page_with_memory};
use crate::session::CurrentUser;
use crate::studio::Studio;

#[derive(Template)]
#[template(path = "looks.html")]
struct LooksPage {
    frame: Frame,
    saved: Vec<LookCard>,
    built_in: Vec<LookCard>,
    name_chars: usize,
}

#[derive(Template)]
#[template(path = "look_delete.html")]
struct DeletePage {
    frame: Frame,
    id: String,
    name: String,
}

/// A look in a list.
pub(super) struct LookCard {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) description: String,
    /// URL of the look's picture; `None` if the look has no picture.
    pub(super) picture: Option<String>,
    /// Settings as JSON on one line.
    pub(super) settings: String,
    /// SHA-256 of the settings. An order sends the one that its page had, so that the page is shown again if the look has other
    /// settings by then.
    pub(super) settings_sha256: String,
    /// Whether the composer starts with this look.
    pub(super) is_start: bool,
    pub(super) is_built_in: bool,
}

/// Form fields for renaming a look.
#[derive(Deserialize)]
pub(crate) struct Rename {
    name: String,
}

/// Form fields for choosing the start look.
#[derive(Deserialize)]
pub(crate) struct Start {
    /// Identifier of a look; empty for the default settings.
    look: String,
}

/// Builds the cards of all looks that the caller can use, those of the workspace first. Also returns the reservation of their
/// memory, which the response must hold. May wait for it, so the caller must not hold another one.
pub(super) async fn cards(studio: &Studio, caller: &Caller) -> Result<(Vec<LookCard>, BodyMemory)> {
    let start = studio.service.start_look_id(caller).await?;
    let (looks, memory) = studio.service.looks(caller).await?;
    let (built_in, saved): (Vec<Look>, Vec<Look>) = looks.into_iter().partition(|look| look.is_built_in);
    let pictures = studio.service.look_pictures(caller, &saved).await?;
    let folder = format!("{}{}", studio.site.path, crate::assets::folder());
    let drawn = built_in.iter().map(|look| Some(format!("{folder}/{}.webp", look.id))).collect::<Vec<_>>();
    let cards =
        saved.into_iter().zip(pictures).chain(built_in.into_iter().zip(drawn)).map(|(look, picture)| LookCard {
            picture,
            settings: serde_json::to_string(&look.settings).unwrap_or_default(),
            settings_sha256: look.settings_sha256(),
            is_start: start.as_ref() == Some(&look.id),
            id: look.id,
            name: look.name,
            description: look.description,
            is_built_in: look.is_built_in,
        });
    Ok((cards.collect(), memory))
}

pub(crate) async fn list(State(studio): State<Studio>, user: CurrentUser) -> Result<Response> {
    let (cards, memory) = cards(&studio, user.caller()).await?;
    let (built_in, saved) = cards.into_iter().partition(|card| card.is_built_in);
    let frame = Frame::new(&studio, "Looks", Some(&user)).at("looks");
    let shown = LooksPage { frame, saved, built_in, name_chars: limits::LOOK_NAME_CHARS };
    let mut response = page_with_memory(&shown, memory);
    allow_files(&studio, &mut response).await?;
    Ok(response)
}

pub(crate) async fn choose_start(State(studio): State<Studio>, sent: SessionForm<Start>) -> Result<Redirect> {
    let look = Some(sent.form.look.as_str()).filter(|look| !look.is_empty());
    studio.service.choose_start_look(sent.user.editor()?, look).await?;
    Ok(to_list(&studio))
}

pub(crate) async fn rename(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    sent: SessionForm<Rename>,
) -> Result<Redirect> {
    let change = UpdateLook { name: Some(sent.form.name), ..UpdateLook::default() };
    studio.service.change_look(sent.user.editor()?, &id, change).await?;
    Ok(to_list(&studio))
}

pub(crate) async fn ask_to_delete(
    State(studio): State<Studio>,
    user: CurrentUser,
    Path(id): Path<String>,
) -> Result<Response> {
    let look = studio.service.look(user.editor()?, &id).await?;
    if look.is_built_in {
        return Err(PageError::new(StatusCode::BAD_REQUEST, "this look is part of Plinth and cannot be deleted"));
    }
    let frame = Frame::new(&studio, "Delete this look?", Some(&user)).at("looks");
    Ok(page(&DeletePage { frame, id: look.id, name: look.name }))
}

pub(crate) async fn delete(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    sent: SessionForm<EmptyForm>,
) -> Result<Redirect> {
    studio.service.delete_look(sent.user.editor()?, &id).await?;
    Ok(to_list(&studio))
}

fn to_list(studio: &Studio) -> Redirect {
    Redirect::to(&format!("{}/looks", studio.site.path))
}
