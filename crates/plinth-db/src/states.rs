//! The state tables of `plinth-spec` as parts of statements.
//!
//! They are literals, not bound values: some indexes hold only rows in some states, and a database uses such an index only
//! where the statement itself names these states. What is made here are names of the tables, never anything that was sent.

use std::sync::LazyLock;

use plinth_spec::state::{HlsEvent, HlsStatus, RenderEvent, RenderStatus};

use crate::sql::Sql;

/// A statement that is made from the state tables when it is first used.
pub(crate) struct Made {
    sqlite: String,
    postgres: String,
}

impl Made {
    /// The same text for both databases.
    pub(crate) fn same(text: String) -> Self {
        Self { sqlite: text.clone(), postgres: text }
    }

    /// `text` of the clause with which PostgreSQL locks rows; SQLite has one writer and needs none.
    pub(crate) fn locking(lock: &str, text: impl Fn(&str) -> String) -> Self {
        Self { sqlite: text(""), postgres: text(lock) }
    }
}

impl From<&'static LazyLock<Made>> for Sql {
    fn from(made: &'static LazyLock<Made>) -> Self {
        Self { sqlite: &made.sqlite, postgres: &made.postgres }
    }
}

/// A condition: the render may leave its state by this event.
pub(crate) fn may(event: RenderEvent) -> String {
    is_one_of("status", event.moves().map(|(from, _to)| from.as_str()))
}

/// The state of a render after this event, which must be allowed.
pub(crate) fn after(event: RenderEvent) -> String {
    moved("status", event.moves().map(|(from, to)| (from.as_str(), to.as_str())))
}

/// A condition: the packaging may leave its state by this event. It can only be claimed when the render is done.
pub(crate) fn may_package(event: HlsEvent) -> String {
    let is_done = is_one_of("status", [RenderStatus::Done.as_str()]);
    format!("{is_done} AND {}", is_one_of("hls_status", event.moves().map(|(from, _to): (HlsStatus, _)| from.as_str())))
}

/// The state of the packaging after this event, or as it is where the event is not allowed.
pub(crate) fn after_packaging(event: HlsEvent) -> String {
    moved("hls_status", event.moves().map(|(from, to)| (from.as_str(), to.as_str())))
}

/// A condition: the render's state is one of those.
pub(crate) fn is_in(is_wanted: impl Fn(RenderStatus) -> bool) -> String {
    is_one_of("status", RenderStatus::ALL.iter().filter(|status| is_wanted(**status)).map(|status| status.as_str()))
}

fn is_one_of(column: &str, names: impl IntoIterator<Item = &'static str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("'{name}'")).collect();
    match names.as_slice() {
        [only] => format!("{column} = {only}"),
        several => format!("{column} IN ({})", several.join(", ")),
    }
}

fn moved(column: &str, moves: impl Iterator<Item = (&'static str, &'static str)>) -> String {
    let cases: Vec<String> = moves.map(|(from, to)| format!("WHEN '{from}' THEN '{to}'")).collect();
    format!("CASE {column} {} ELSE {column} END", cases.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where this fails, statements and the indexes that they need no longer name the same states: a migration has to make
    /// those indexes anew.
    #[test]
    fn indexes_hold_the_states_that_statements_name() {
        let indexes = include_str!("../migrations/0009_queue.sql");
        for condition in [may(RenderEvent::Claim), may_package(HlsEvent::Claim)] {
            assert!(indexes.contains(&format!("WHERE {condition} AND deleted_at IS NULL")), "{condition}");
        }
    }

    #[test]
    fn a_part_names_each_move_of_the_table() {
        assert_eq!(
            after(RenderEvent::Claim),
            "CASE status WHEN 'pending' THEN 'poster-processing' WHEN 'poster-done' THEN 'video-processing' \
             ELSE status END"
        );
        assert_eq!(
            after_packaging(HlsEvent::Skip),
            "CASE hls_status WHEN 'pending' THEN 'skipped' ELSE hls_status END"
        );
        assert_eq!(is_in(RenderStatus::has_failed), "status IN ('error', 'failed')");
    }
}
