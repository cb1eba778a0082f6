//! Endpoints of looks: named render settings.

use axum::extract::State;
use axum::response::Response;
use plinth_spec::wire::{CreateLook, Data, LookDeleted, LookRow, Page, UpdateLook};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::by_id::by_id;
use super::{created, ok, with_memory};

use crate::access::{Editor, Reader};
use crate::error::Result;
use crate::extract::{JsonBody, Path};
use crate::state::Api;

/// Returns the endpoints of this file.
pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new().routes(routes!(list_looks, create_look)).routes(routes!(get_look, update_look, delete_look))
}

/// Lists the looks of the workspace and those that come with Plinth
#[utoipa::path(get, path = "/looks", tag = "looks", responses(
    (status = 200, description = "The looks of the workspace, newest first, then those that come with Plinth.",
        body = Page<LookRow>),
))]
pub(crate) async fn list_looks(State(api): State<Api>, Reader(caller): Reader) -> Result<Response> {
    let (page, memory) = api.service.list_looks(&caller).await?;
    with_memory(&page, memory)
}

/// Saves render settings as a look
#[utoipa::path(post, path = "/looks", tag = "looks", request_body = CreateLook, responses(
    (status = 201, description = "The look is saved.", body = Data<LookRow>),
))]
pub(crate) async fn create_look(
    State(api): State<Api>,
    Editor(caller): Editor,
    JsonBody(new, _memory): JsonBody<CreateLook>,
) -> Result<Response> {
    Ok(created(api.service.create_look(&caller, new).await?))
}

by_id! {
    tag "looks", parameter "id";
    /// Returns a look
    get "/looks/{id}" get_look = Reader.get_look -> LookRow, "The look.";
    /// Changes a look
    patch "/looks/{id}" update_look(change: UpdateLook) = Editor.update_look -> LookRow, "The look after the change.";
    /// Deletes a look
    delete "/looks/{id}" delete_look = Editor.delete_look -> LookDeleted, "The look is deleted.";
}
