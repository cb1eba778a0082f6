//! A row of the ledger, for the page of credits and for the administrators' page of an account.

use plinth_spec::wire::LedgerEntry;

use crate::format::{DisplayTime, ledger_type};

/// An entry of the ledger.
pub(in crate::pages) struct EntryRow {
    pub(in crate::pages) created: DisplayTime,
    pub(in crate::pages) kind: &'static str,
    pub(in crate::pages) description: String,
    /// Render that was charged or refunded.
    pub(in crate::pages) render: Option<String>,
    pub(in crate::pages) credits: String,
}

impl EntryRow {
    /// Returns the row without a link to its render.
    pub(in crate::pages) fn without_link(self) -> Self {
        Self { render: None, ..self }
    }

    pub(in crate::pages) fn of(entry: &LedgerEntry) -> Self {
        Self {
            created: DisplayTime::of(entry.created_at.0),
            kind: ledger_type(entry.kind),
            description: entry.description.clone(),
            render: entry.render_id.as_ref().map(ToString::to_string),
            credits: format!("{:+}", entry.credits).replace('-', "−"),
        }
    }
}
