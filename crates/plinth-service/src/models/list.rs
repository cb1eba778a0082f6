//! Finds and lists models.

use plinth_db::models::{self, Model, ModelFilter};
use plinth_db::renders;
use plinth_spec::id::ModelId;
use plinth_spec::page::{OffsetPage, PageMeta, PageRequest, Position, Start, Total, cursor_from_position};
use plinth_spec::state::ModelStates;
use plinth_spec::wire::{CheckHash, HashMatch, ModelDetail, ModelRow, Page, RenderSummary, Timestamp};
use plinth_spec::{ErrorCode, limits};

use crate::access::Caller;
use crate::body_memory::BodyMemory;
use crate::error::{Result, ServiceError};
use crate::hash::parse_sha256;
use crate::renders::{echoed_settings, instant};
use crate::service::Service;

/// Unparsed query parameters of a list of models.
#[derive(Clone, Debug, Default)]
pub struct ModelQuery {
    /// State of the models: `active`, `archived` or `any`.
    pub status: Option<String>,
    /// Tags, separated by commas. A model must have at least one of them.
    pub tags: Option<String>,
    /// Text that a model's title, product code, file name or one of its tags must contain. The search does not distinguish
    /// between upper and lower case.
    pub search: Option<String>,
    /// If set, the list contains only models that were changed at or after this time.
    pub updated_since: Option<String>,
    /// Maximum number of rows.
    pub limit: Option<String>,
    /// Number of rows to skip.
    pub offset: Option<String>,
    /// Cursor at which the page starts.
    pub cursor: Option<String>,
}

impl Service {
    /// Returns one page of the workspace's models, newest first.
    pub async fn list_models(&self, caller: &Caller, query: &ModelQuery) -> Result<Page<ModelRow>> {
        let wanted = query.status.as_deref().map_or(Some(ModelStates::DEFAULT), ModelStates::from_name);
        let one_of = || ServiceError::bad_request(format!("status must be one of {}", ModelStates::NAMES.join(", ")));
        let status = wanted.ok_or_else(one_of)?.status();
        let tags = query.tags.as_deref().unwrap_or_default();
        if tags.contains(char::is_control) {
            return Err(ServiceError::bad_request("tags must not contain control characters"));
        }
        let search = query.search.as_deref().unwrap_or_default().trim().to_owned();
        if search.contains(char::is_control) || search.chars().count() > limits::TITLE_CHARS {
            let message = format!("search must be a text of at most {} characters on one line", limits::TITLE_CHARS);
            return Err(ServiceError::bad_request(message));
        }
        let tags = tags.split(',');
        let filter = ModelFilter {
            workspace_id: caller.workspace_id.clone(),
            status,
            tags: tags.map(|tag| tag.trim().to_lowercase()).filter(|tag| !tag.is_empty()).collect(),
            updated_since: query.updated_since.as_deref().map(instant).transpose()?,
            search: (!search.is_empty()).then_some(search),
        };
        let message =
            format!("models {:?} {:?} {:?} {:?}", filter.status, filter.tags, filter.updated_since, filter.search);
        let page =
            PageRequest::parse(query.limit.as_deref(), query.offset.as_deref(), query.cursor.as_deref(), &message)?;
        let mut conn = self.db.read().await?;
        let mut rows = models::list(&mut conn, &filter, &page).await?;
        let meta = match page.start {
            Start::Offset(offset) => {
                let shown = OffsetPage { offset, limit: page.limit, rows: rows.len() as u64 };
                shown.meta(match shown.total_if_last() {
                    Some(total) => total,
                    None => Total::exact(models::count(&mut conn, &filter).await?),
                })
            }
            Start::After(_) => {
                let goes_on = rows.len() > page.limit as usize;
                rows.truncate(page.limit as usize);
                let last = rows.last().filter(|_row| goes_on);
                let position = last.map(|m| Position { created_at_ms: m.created_at, id: m.id.to_string() });
                PageMeta::Cursor {
                    limit: page.limit,
                    next_cursor: position.map(|position| cursor_from_position(&position, &message)),
                }
            }
        };
        Ok(Page { data: rows.into_iter().map(row).collect(), meta })
    }

    /// Returns a model with its details and its newest renders. The caller keeps the reservation of memory until the response is
    /// sent.
    /// Errors: `rate_limited` if the details are large and their memory is not available within 30 s.
    pub async fn model_with_renders(&self, caller: &Caller, id: &str) -> Result<(ModelDetail, BodyMemory)> {
        let (most, characters) = (limits::MODEL_RENDERS, limits::MODEL_RENDERS_CHARACTERS);
        let id = self.model_row(caller, id).await?.id;
        // The connection is not kept, because other requests need it while this request waits for memory.
        let mut conn = self.db.read().await?;
        let listed = renders::summaries_characters(&mut conn, &id, &caller.workspace_id, most).await?;
        let large = listed.min(characters) + models::contents_characters(&mut conn, &id).await?;
        drop(conn);
        let memory = self.body_memory(caller, usize::try_from(large).unwrap_or(usize::MAX)).await?;
        let model = self.model(caller, id.as_str()).await?;
        let mut conn = self.db.read().await?;
        let renders = renders::list_summaries(&mut conn, &id, &caller.workspace_id, most, characters).await?;
        let renders = renders.iter().map(summary).collect::<Result<_>>()?;
        Ok((ModelDetail { renders, ..model }, memory))
    }

    /// Returns a model with its details, but without its renders.
    pub async fn model(&self, caller: &Caller, id: &str) -> Result<ModelDetail> {
        let model = self.model_row(caller, id).await?;
        let mut conn = self.db.read().await?;
        let found = models::contents(&mut conn, &model.id).await?.ok_or_else(ServiceError::model_not_found)?;
        let names = |json: &Option<String>| {
            json.as_deref().map(serde_json::from_str::<Vec<String>>).transpose().map_err(ServiceError::internal)
        };
        Ok(ModelDetail {
            animations: serde_json::from_str(&found.animations).map_err(ServiceError::internal)?,
            mesh_names: names(&found.mesh_names)?,
            material_names: names(&found.material_names)?,
            renders: Vec::new(),
            row: row(model),
        })
    }

    /// Returns the display names of models, in the order of `ids`: the title of each model, or its file name if it has no
    /// title. The name of a deleted model is `None`.
    pub async fn model_names(&self, caller: &Caller, ids: &[ModelId]) -> Result<Vec<Option<String>>> {
        let mut conn = self.db.read().await?;
        let mut names = Vec::with_capacity(ids.len());
        for id in ids {
            let model = models::find(&mut conn, &caller.workspace_id, id).await?;
            names.push(model.map(|model| model.title.unwrap_or(model.original_name)));
        }
        Ok(names)
    }

    pub(crate) async fn model_row(&self, caller: &Caller, id: &str) -> Result<Model> {
        let id = ModelId::parse(id).ok_or_else(ServiceError::model_not_found)?;
        let found = models::find(&mut self.db.read().await?, &caller.workspace_id, &id).await?;
        found.ok_or_else(ServiceError::model_not_found)
    }

    /// Returns whether an active model of the workspace has a file with this hash.
    pub async fn check_hash(&self, caller: &Caller, request: &CheckHash) -> Result<HashMatch> {
        let missing =
            || ServiceError::new(ErrorCode::Sha256Required, "send a hash of 64 hex digits in the field 'sha256'");
        let sha256 = request.sha256.as_deref().and_then(parse_sha256).ok_or_else(missing)?;
        let mut conn = self.db.read().await?;
        let model_id = models::find_active_by_sha256(&mut conn, &caller.workspace_id, &sha256).await?;
        Ok(HashMatch { exists: model_id.is_some(), model_id })
    }
}

fn row(model: Model) -> ModelRow {
    ModelRow {
        id: model.id,
        original_name: model.original_name,
        title: model.title,
        sku: model.sku,
        tags: model.tags,
        file_size: model.file_size,
        sha256: model.sha256,
        animation_count: model.animation_count,
        status: model.status,
        created_at: Timestamp(model.created_at),
        updated_at: Timestamp(model.updated_at),
    }
}

fn summary(render: &renders::RenderSummary) -> Result<RenderSummary> {
    Ok(RenderSummary {
        id: render.id.clone(),
        status: render.status,
        render_settings: echoed_settings(&render.settings, render.pool)?,
        created_at: Timestamp(render.created_at),
        updated_at: Timestamp(render.updated_at),
    })
}
