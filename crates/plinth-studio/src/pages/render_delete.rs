//! Deletes ended renders, after a page that asks for confirmation.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use plinth_spec::wire::Render;
use plinth_spec::{ErrorCode, limits};

use super::render::{kind, model_name, read_settings};
use crate::destination::Destination;
use crate::error::{PageError, Result};
use crate::form::SessionFields;
use crate::format::DisplayTime;
use crate::frame::{Frame, page};
use crate::session::CurrentUser;
use crate::studio::Studio;

/// Maximum number of renders that one form deletes.
const RENDERS: usize = limits::BATCH_ITEMS;
/// The page to which the deletion of a render leads from the render's own page.
const LIST: &str = "/renders";

#[derive(Template)]
#[template(path = "render_delete.html")]
struct ConfirmPage {
    frame: Frame,
    renders: Vec<ChosenRender>,
    /// Identifiers of the chosen renders that do not exist any more.
    missing: Vec<String>,
    /// The page to which the deletion leads.
    list: Destination,
}

/// A render that the user has chosen for deletion.
struct ChosenRender {
    id: String,
    name: String,
    kind: String,
    created: DisplayTime,
}

impl ChosenRender {
    fn of(render: &Render, name: Option<String>) -> Result<Self> {
        let kind = kind(render, &read_settings(render)?);
        let created = DisplayTime::of(render.created_at.0);
        Ok(Self { id: render.id.to_string(), name: model_name(name), kind, created })
    }
}

/// Asks whether to delete one render.
pub(crate) async fn ask(State(studio): State<Studio>, user: CurrentUser, Path(id): Path<String>) -> Result<Response> {
    let render = studio.service.render(user.editor()?, &id).await?;
    confirm(&studio, &user, (vec![render], Vec::new()), Destination::parse(LIST)).await
}

/// Deletes the chosen renders. Before, shows a page that asks for confirmation.
pub(crate) async fn delete(State(studio): State<Studio>, sent: SessionFields) -> Result<Response> {
    let caller = sent.user.editor()?;
    let ids: Vec<&str> = sent.all("render").collect();
    if ids.is_empty() || ids.len() > RENDERS {
        let message = format!("choose 1 to {RENDERS} renders first");
        return Err(PageError::new(StatusCode::BAD_REQUEST, &message));
    }
    let list = Destination::parse(sent.text("list"));
    if sent.text("sure") != "yes" {
        let (mut renders, mut missing) = (Vec::new(), Vec::new());
        for id in ids {
            match studio.service.render(caller, id).await {
                Ok(render) => renders.push(render),
                Err(error) if error.code == ErrorCode::RenderNotFound => missing.push(id.to_owned()),
                Err(error) => return Err(error.into()),
            }
        }
        return confirm(&studio, &sent.user, (renders, missing), list).await;
    }
    for id in ids {
        match studio.service.delete_render(caller, id).await {
            Ok(_deleted) => {}
            // The second request of a double click finds the renders deleted already.
            Err(error) if error.code == ErrorCode::RenderNotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(list.redirect(&studio).into_response())
}

async fn confirm(
    studio: &Studio,
    user: &CurrentUser,
    (renders, missing): (Vec<Render>, Vec<String>),
    list: Destination,
) -> Result<Response> {
    let models: Vec<_> = renders.iter().map(|render| render.model_id.clone()).collect();
    let names = studio.service.model_names(user.caller(), &models).await?;
    let chosen = renders.iter().zip(names).map(|(render, name)| ChosenRender::of(render, name));
    let renders = chosen.collect::<Result<Vec<_>>>()?;
    let (status, title) = if renders.is_empty() {
        (StatusCode::NOT_FOUND, "None of the chosen renders is left")
    } else {
        (StatusCode::OK, "Delete renders?")
    };
    let frame = Frame::new(studio, title, Some(user)).at("renders");
    Ok((status, page(&ConfirmPage { frame, renders, missing, list })).into_response())
}
