//! Endpoints of models.

use axum::Json;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use plinth_service::Meter;
use plinth_service::models::{Incoming, ModelQuery, Upload, Uploaded};
use plinth_spec::wire::{
    Archived, CheckHash, CreateUploadUrl, Data, FinalizeUpload, HashMatch, IngestModel, ModelDeleted, ModelDetail,
    ModelEdited, ModelRow, Page, SignedUrl, StagedUpload, UpdateModel, UploadResult,
};
use plinth_spec::{ErrorCode, limits};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::by_id::by_id;
use super::{created, ok, with_memory};

use crate::access::{Editor, Reader};
use crate::error::{ApiError, Result};
use crate::extract::{Form, JsonBody, Path, Query, content_length, file_sizes, whole_number};
use crate::file::respond;
use crate::state::Api;

/// Returns the endpoints of this file.
pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(list_models, upload_model))
        .routes(routes!(ingest_model))
        .routes(routes!(create_upload_url))
        .routes(routes!(finalize_upload))
        .routes(routes!(check_hash))
        .routes(routes!(get_model, update_model, delete_model))
        .routes(routes!(archive_model))
        .routes(routes!(unarchive_model))
        .routes(routes!(get_model_file))
        .routes(routes!(get_model_file_url))
}

/// Form fields with which a model is uploaded.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "describes the form")]
pub(crate) struct UploadForm {
    /// The model: a `.glb`, or a `.zip` with one OBJ. At most 1 GB.
    #[schema(value_type = String, format = Binary, content_media_type = "application/octet-stream")]
    file: Vec<u8>,
    /// Render settings as JSON text. Without settings, the upload creates a free preview.
    render_settings: Option<String>,
}

fn uploaded(uploaded: Uploaded) -> Response {
    if uploaded.is_new { created(uploaded.result) } else { ok(uploaded.result) }
}

/// Uploads a model
#[utoipa::path(post, path = "/models", tag = "models",
    request_body(content = UploadForm, content_type = "multipart/form-data"), responses(
    (status = 201, description = "A model and a render were created.", body = Data<UploadResult>),
    (status = 200, description = "An active model has the same file; only a render was created.", body = Data<UploadResult>),
))]
pub(crate) async fn upload_model(State(api): State<Api>, Editor(caller): Editor, request: Request) -> Result<Response> {
    let length = content_length(request.headers());
    let mut form = Form::from(request, ErrorCode::UploadFailed, limits::MODEL_FILE_BYTES).await?;
    let mut file: Option<(Incoming, String)> = None;
    let mut settings = None;
    while let Some(mut part) = form.next().await? {
        match part.name().as_str() {
            "file" => {
                let name = part.file_name();
                // If the form contains several files, only the last one is used.
                drop(file.take());
                if let Some(length) = length {
                    api.service.check_upload_early(&caller, &name, file_sizes(length)).await?;
                }
                let mut incoming = api.service.incoming_model(&caller, length).await?;
                while let Some(piece) = part.chunk().await? {
                    incoming.write(&piece).await?;
                }
                file = Some((incoming, name));
            }
            "renderSettings" => settings = Some(part.render_settings(&api.service).await?),
            _ => part.skip().await?,
        }
    }
    let missing = || ApiError::new(ErrorCode::NoFile, "send a model in the field 'file'");
    // A field without a file name is not a file. Browsers send such a field, without content, if the user has not
    // chosen a file.
    let (file, name) = file.filter(|(_, name)| !name.is_empty()).ok_or_else(missing)?;
    let (settings, _memory) = match settings {
        Some(text) => Some(text.read(&api.service, &caller).await?).unzip(),
        None => (None, None),
    };
    Ok(uploaded(api.service.upload_model(&caller, Upload { file, name, settings }).await?))
}

/// Creates a model from the URL of a file
#[utoipa::path(post, path = "/models/ingest", tag = "models", request_body = IngestModel, responses(
    (status = 201, description = "A model and a render were created.", body = Data<UploadResult>),
    (status = 200, description = "An active model has the same file; only a render was created.", body = Data<UploadResult>),
))]
pub(crate) async fn ingest_model(
    State(api): State<Api>,
    Editor(caller): Editor,
    JsonBody(request, memory): JsonBody<IngestModel>,
) -> Result<Response> {
    api.service.count_request(&caller, Meter::Ingests).await?.check()?;
    let _memory = memory.shrunk_to_settings(request.render_settings.as_ref());
    Ok(uploaded(api.service.ingest_model(&caller, request).await?))
}

/// Query parameter for the lifetime of a link.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExpiresQuery {
    /// Lifetime of the link in seconds.
    #[param(value_type = Option<i64>)]
    expires: Option<String>,
}

/// Creates a link to upload a file directly to the store
#[utoipa::path(post, path = "/models/create-upload-url", tag = "models", params(ExpiresQuery),
    request_body = Option<CreateUploadUrl>, responses(
    (status = 201, description = "The upload link, and the ticket that finalizes the upload.", body = Data<StagedUpload>),
))]
pub(crate) async fn create_upload_url(
    State(api): State<Api>,
    Editor(caller): Editor,
    Query(query): Query<ExpiresQuery>,
    JsonBody(body, _memory): JsonBody<CreateUploadUrl>,
) -> Result<Response> {
    let expires = whole_number("expires", query.expires.as_deref())?.or(body.expires);
    Ok(created(api.service.create_upload_url(&caller, expires).await?))
}

/// Creates a model from a file that was uploaded through a link
#[utoipa::path(post, path = "/models/finalize", tag = "models", request_body = FinalizeUpload, responses(
    (status = 201, description = "A model and a render were created.", body = Data<UploadResult>),
    (status = 200, description = "An active model has the same file; only a render was created.", body = Data<UploadResult>),
))]
pub(crate) async fn finalize_upload(
    State(api): State<Api>,
    Editor(caller): Editor,
    JsonBody(request, memory): JsonBody<FinalizeUpload>,
) -> Result<Response> {
    let _memory = memory.shrunk_to_settings(request.render_settings.as_ref());
    Ok(uploaded(api.service.finalize_upload(&caller, request).await?))
}

/// Checks whether the workspace has a model with this file
#[utoipa::path(post, path = "/models/check-hash", tag = "models", request_body = CheckHash, responses(
    (status = 200, description = "Whether the workspace has such a model.", body = Data<HashMatch>),
))]
pub(crate) async fn check_hash(
    State(api): State<Api>,
    Reader(caller): Reader,
    JsonBody(request, _memory): JsonBody<CheckHash>,
) -> Result<Response> {
    Ok(ok(api.service.check_hash(&caller, &request).await?))
}

/// Query parameters that select models.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
pub(crate) struct ListQuery {
    /// Maximum number of rows on the page.
    #[param(value_type = Option<u32>)]
    limit: Option<String>,
    /// Number of rows to skip before the page; ignored if `cursor` is given.
    #[param(value_type = Option<u64>, minimum = 0, default = 0)]
    offset: Option<String>,
    /// Empty for the first page; for each following page, `nextCursor` of the previous response.
    cursor: Option<String>,
    /// Only models that were changed at or after this time.
    #[param(value_type = Option<String>, format = DateTime)]
    updated_since: Option<String>,
    /// Comma-separated tags. Only models that have at least one of these tags.
    tags: Option<String>,
    /// Only models whose title, product code, file name or tags contain this text. Case is ignored; on a server
    /// with SQLite, only that of ASCII letters.
    #[param(max_length = 500)]
    search: Option<String>,
    /// State of the models: `active`, `archived` or `any`.
    #[param(pattern = "^(active|archived|any)$", default = "active")]
    status: Option<String>,
}

/// Lists models, newest first
#[utoipa::path(get, path = "/models", tag = "models", params(ListQuery), responses(
    (status = 200, description = "One page.", body = Page<ModelRow>),
))]
pub(crate) async fn list_models(
    State(api): State<Api>,
    Reader(caller): Reader,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<ModelRow>>> {
    let ListQuery { limit, offset, cursor, updated_since, tags, search, status } = query;
    let query = ModelQuery { status, tags, search, updated_since, limit, offset, cursor };
    Ok(Json(api.service.list_models(&caller, &query).await?))
}

/// Returns a model with its renders
#[utoipa::path(get, path = "/models/{modelId}", tag = "models", params(("modelId" = String, Path)), responses(
    (status = 200, description = "The model.", body = Data<ModelDetail>),
))]
pub(crate) async fn get_model(
    State(api): State<Api>,
    Reader(caller): Reader,
    Path(id): Path<String>,
) -> Result<Response> {
    let (data, memory) = api.service.model_with_renders(&caller, &id).await?;
    with_memory(&Data { data }, memory)
}

by_id! {
    tag "models", parameter "modelId";
    /// Changes title, product code or tags
    patch "/models/{modelId}" update_model(edit: UpdateModel) = Editor.update_model -> ModelEdited,
        "The model's title, product code and tags after the change.";
    /// Deletes a model and its file; its renders remain
    delete "/models/{modelId}" delete_model = Editor.delete_model -> ModelDeleted, "The model is deleted.";
    /// Archives a model, so that the default list does not show it
    patch "/models/{modelId}/archive" archive_model = Editor.archive_model -> Archived, "The model is archived.";
    /// Makes an archived model active again
    patch "/models/{modelId}/unarchive" unarchive_model = Editor.unarchive_model -> Archived, "The model is active.";
}

/// Downloads a model
#[utoipa::path(get, path = "/models/{modelId}/file", tag = "models", params(("modelId" = String, Path)), responses(
    (status = 200, description = "The GLB.", content_type = "model/gltf-binary"),
))]
pub(crate) async fn get_model_file(
    State(api): State<Api>,
    Reader(caller): Reader,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response> {
    let delivery = api.service.model_file(&caller, &id).await?;
    respond(&api, &headers, delivery).await
}

/// Creates a link to download a model
#[utoipa::path(get, path = "/models/{modelId}/file-url", tag = "models",
    params(("modelId" = String, Path), ExpiresQuery), responses(
    (status = 200, description = "The link.", body = Data<SignedUrl>),
))]
pub(crate) async fn get_model_file_url(
    State(api): State<Api>,
    Reader(caller): Reader,
    Path(id): Path<String>,
    Query(query): Query<ExpiresQuery>,
) -> Result<Response> {
    let expires = whole_number("expires", query.expires.as_deref())?;
    Ok(ok(api.service.model_file_url(&caller, &id, expires).await?))
}
