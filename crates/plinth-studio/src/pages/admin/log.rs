//! The page of the log of actions by administrators.

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use plinth_service::admin::LogEntry;
use plinth_spec::limits;
use serde::Deserialize;

use super::{labels, neighbour_offsets};
use crate::error::Result;
use crate::format::DisplayTime;
use crate::frame::{Frame, page};
use crate::session::CurrentUser;
use crate::studio::Studio;

/// Number of entries per page.
const ENTRIES: u32 = 50;

#[derive(Template)]
#[template(path = "admin_log.html")]
struct LogPage {
    frame: Frame,
    here: &'static str,
    log: Vec<LogLine>,
    total: u64,
    newer: Option<u64>,
    older: Option<u64>,
}

/// An entry of the log.
pub(super) struct LogLine {
    pub(super) created: DisplayTime,
    pub(super) who: String,
    pub(super) action: &'static str,
    /// Identifier and address of the account concerned.
    pub(super) account: Option<(String, String)>,
    pub(super) subject: String,
    pub(super) reason: String,
}

impl LogLine {
    pub(super) fn of(entry: LogEntry) -> Self {
        Self {
            created: DisplayTime::of(entry.created_at),
            who: entry.admin.unwrap_or_else(|| "plinth admin".to_owned()),
            action: labels::action(entry.action),
            account: entry.account_id.map(|id| id.to_string()).zip(entry.account),
            subject: entry.subject,
            reason: entry.reason,
        }
    }
}

/// Query parameters of the page.
#[derive(Deserialize)]
pub(crate) struct PageQuery {
    #[serde(default)]
    offset: u64,
}

pub(crate) async fn show(
    State(studio): State<Studio>,
    user: CurrentUser,
    Query(query): Query<PageQuery>,
) -> Result<Response> {
    let offset = query.offset.min(limits::OFFSET_MAX);
    let mut log = studio.service.admin_log(ENTRIES + 1, offset).await?;
    let (newer, older) = neighbour_offsets(&mut log.entries, offset, ENTRIES);
    Ok(page(&LogPage {
        frame: Frame::new(&studio, "Log", Some(&user)).at("admin"),
        here: "log",
        log: log.entries.into_iter().map(LogLine::of).collect(),
        total: log.total,
        newer,
        older,
    }))
}
