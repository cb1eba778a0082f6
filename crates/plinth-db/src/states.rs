//! Translates the state machines of `plinth-spec` into SQL fragments.
//!
//! State names are written as literals instead of bound parameters, because a database uses a partial index only if the
//! statement names the same states as the index. The literals come from `plinth-spec` and never from user input.

use std::sync::LazyLock;

use plinth_spec::state::{HlsEvent, HlsStatus, RenderEvent, RenderStatus};

use crate::sql::Sql;

/// A statement that is built at run time, on its first use.
pub(crate) struct BuiltSql {
    sqlite: String,
    postgres: String,
}

impl BuiltSql {
    /// Creates a statement with the same SQL for both databases.
    pub(crate) fn same(text: String) -> Self {
        Self { sqlite: text.clone(), postgres: text }
    }

    pub(crate) fn followed_by(self, clause: &str) -> Self {
        let with = |text: String| format!("{text} {clause}");
        Self { sqlite: with(self.sqlite), postgres: with(self.postgres) }
    }

    /// Builds the SQL of each database by calling `text` with its locking clause. The clause is `lock` for PostgreSQL,
    /// and empty for SQLite, which has only one writer.
    pub(crate) fn locking(lock: &str, text: impl Fn(&str) -> String) -> Self {
        Self { sqlite: text(""), postgres: text(lock) }
    }
}

impl From<&'static LazyLock<BuiltSql>> for Sql {
    fn from(made: &'static LazyLock<BuiltSql>) -> Self {
        Self::from(&**made)
    }
}

impl From<&'static BuiltSql> for Sql {
    fn from(made: &'static BuiltSql) -> Self {
        Self { sqlite: &made.sqlite, postgres: &made.postgres }
    }
}

/// Returns the SQL condition that is true for renders whose state allows this event.
pub(crate) fn may(event: RenderEvent) -> String {
    is_one_of("status", event.moves().map(|(from, _to)| from.as_str()))
}

/// Returns the SQL expression of the render's state after this event. If the event is not allowed, the state stays the
/// same.
pub(crate) fn after(event: RenderEvent) -> String {
    moved("status", event.moves().map(|(from, to)| (from.as_str(), to.as_str())))
}

/// Returns the SQL condition that is true for renders which are done and whose packaging state allows this event.
pub(crate) fn may_package(event: HlsEvent) -> String {
    let is_done = is_one_of("status", [RenderStatus::Done.as_str()]);
    format!("{is_done} AND {}", is_one_of("hls_status", event.moves().map(|(from, _to): (HlsStatus, _)| from.as_str())))
}

/// Returns the SQL expression of the packaging state after this event. If the event is not allowed, the state stays the
/// same.
pub(crate) fn after_packaging(event: HlsEvent) -> String {
    moved("hls_status", event.moves().map(|(from, to)| (from.as_str(), to.as_str())))
}

/// Returns the SQL condition that is true for renders in a state for which `is_wanted` returns true.
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

    /// If this test fails, a statement names other states than its partial index. Add a migration that drops this index
    /// and creates it with the new states.
    #[test]
    fn partial_indexes_and_statements_name_the_same_states() {
        let indexes =
            [include_str!("../migrations/0009_queue.sql"), include_str!("../migrations/0201_worker_pools.sql")];
        for condition in [may(RenderEvent::Claim), may_package(HlsEvent::Claim)] {
            let condition = format!("WHERE {condition} AND deleted_at IS NULL");
            assert!(indexes.iter().all(|file| file.contains(&condition)), "{condition}");
        }
    }

    #[test]
    fn fragments_contain_every_transition() {
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
