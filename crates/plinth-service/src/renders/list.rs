//! Finds and lists renders.

use plinth_db::ledger;
use plinth_db::renders::{self, RenderFilter};
use plinth_spec::id::{ModelId, RenderId};
use plinth_spec::limits;
use plinth_spec::page::{OffsetPage, PageMeta, PageRequest, Position, Start, Total, cursor_from_position};
use plinth_spec::state::RenderStatus;
use plinth_spec::wire::{Page, Render, Timestamp};

use super::view::view;
use crate::access::Caller;
use crate::body_memory::BodyMemory;
use crate::error::{Result, ServiceError};
use crate::service::Service;

/// Unparsed query parameters of a list of renders.
#[derive(Clone, Debug, Default)]
pub struct RenderQuery {
    /// If set, the list contains only renders of this model.
    pub model: Option<String>,
    /// If set, the list contains only renders in this state.
    pub status: Option<String>,
    /// If set, the list contains only renders that were changed at or after this time.
    pub updated_since: Option<String>,
    /// Maximum number of rows.
    pub limit: Option<String>,
    /// Number of rows to skip.
    pub offset: Option<String>,
    /// Cursor at which the page starts.
    pub cursor: Option<String>,
}

impl Service {
    /// Finds a render of the caller's workspace.
    pub async fn render(&self, caller: &Caller, id: &str) -> Result<Render> {
        view(&self.render_row(caller, id).await?)
    }

    /// Returns the number of credits that were refunded for a render of the caller's workspace; `None` without a refund.
    pub async fn render_refund(&self, caller: &Caller, id: &str) -> Result<Option<u64>> {
        let render = self.render_row(caller, id).await?;
        Ok(ledger::find_refund(&mut self.db.read().await?, &render.id).await?)
    }

    pub(crate) async fn render_row(&self, caller: &Caller, id: &str) -> Result<renders::Render> {
        let id = RenderId::parse(id).ok_or_else(ServiceError::render_not_found)?;
        let found = renders::find(&mut self.db.read().await?, &caller.workspace_id, &id).await?;
        found.ok_or_else(ServiceError::render_not_found)
    }

    /// Returns one page of the workspace's renders, newest first, and the reservation of memory for this page. The caller
    /// keeps the reservation until the page is sent.
    /// Errors: `rate_limited` if the page is large and its memory is not available within 30 s.
    pub async fn list_renders(&self, caller: &Caller, query: &RenderQuery) -> Result<(Page<Render>, BodyMemory)> {
        let status = query.status.as_deref().map(status).transpose()?;
        let model = query.model.as_deref();
        let filter = RenderFilter {
            workspace_id: caller.workspace_id.clone(),
            model_id: model.and_then(ModelId::parse),
            status,
            updated_since: query.updated_since.as_deref().map(instant).transpose()?,
        };
        let message = format!("renders {:?} {:?} {:?}", model, status, filter.updated_since);
        let page =
            PageRequest::parse(query.limit.as_deref(), query.offset.as_deref(), query.cursor.as_deref(), &message)?;
        let mut conn = self.db.read().await?;
        // A malformed model identifier matches no renders.
        let nothing = model.is_some() && filter.model_id.is_none();
        let small = limits::JSON_SMALL_BYTES as u64;
        let listed =
            if nothing { Ok(Vec::new()) } else { renders::list_if_small(&mut conn, &filter, &page, small).await? };
        let (mut rows, memory) = match listed {
            Ok(rows) => (rows, BodyMemory::none()),
            Err(characters) => {
                // Returns the connection to the pool, because other requests need it while this request waits for memory.
                drop(conn);
                let memory = self.body_memory(caller, usize::try_from(characters).unwrap_or(usize::MAX)).await?;
                conn = self.db.read().await?;
                (renders::list(&mut conn, &filter, &page).await?, memory)
            }
        };
        let meta = match page.start {
            Start::Offset(offset) => {
                let shown = OffsetPage { offset, limit: page.limit, rows: rows.len() as u64 };
                shown.meta(match shown.total_if_last() {
                    Some(total) => total,
                    None if nothing => Total::exact(0),
                    None => renders::count(&mut conn, &filter).await?,
                })
            }
            Start::After(_) => {
                let goes_on = rows.len() > page.limit as usize;
                rows.truncate(page.limit as usize);
                let last = rows.last().filter(|_row| goes_on);
                let position = last.map(|r| Position { created_at_ms: r.created_at, id: r.id.to_string() });
                PageMeta::Cursor {
                    limit: page.limit,
                    next_cursor: position.map(|position| cursor_from_position(&position, &message)),
                }
            }
        };
        let data = rows.into_iter().map(|row| view(&row)).collect::<Result<_>>()?;
        Ok((Page { data, meta }, memory))
    }
}

fn status(name: &str) -> Result<RenderStatus> {
    RenderStatus::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = RenderStatus::ALL.iter().map(|s| s.as_str()).collect();
        ServiceError::bad_request(format!("status must be one of {}", known.join(", ")))
    })
}

/// Parses the query parameter `updatedSince`. Returns Unix time in milliseconds. A space before the offset is read as
/// `+`: clients that do not encode the `+` of `+00:00` send a space.
pub(crate) fn instant(text: &str) -> Result<i64> {
    let with_plus =
        || text.rsplit_once(' ').and_then(|(time, offset)| Timestamp::parse(&format!("{time}+{offset}")).ok());
    match Timestamp::parse(text).or_else(|error| with_plus().ok_or(error)) {
        Ok(at) => Ok(at.0),
        Err(error) => Err(ServiceError::bad_request(format!("updatedSince: {error}"))),
    }
}
