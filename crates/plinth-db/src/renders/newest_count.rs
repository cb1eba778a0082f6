//! Totals of lists of renders whose number is not stored: those of a model, and those in a state that changed since a time. Reads only
//! the newest renders, so that the time is limited.

use plinth_spec::page::Total;
use plinth_spec::state::RenderStatus;

use super::lists::RenderFilter;
use crate::sql::params;
use crate::{Conn, Result};

/// Maximum number of renders that are read for one total.
pub(super) const MOST_READ: i64 = 10_000;

// Builds the statement that reads the newest renders with a condition. `$1` is the time since which renders must have changed, `$2`
// the number of renders to read. The condition fits an index, which also contains the order.
macro_rules! newest {
    ($condition:literal) => {
        concat!(
            "SELECT count(*) AS seen, count(CASE WHEN $1 IS NULL OR updated_at >= $1 THEN 1 END) AS n FROM (\
             SELECT updated_at FROM renders WHERE deleted_at IS NULL AND ",
            $condition,
            " ORDER BY created_at DESC, id DESC LIMIT $2) newest"
        )
    };
}

/// Counts the renders that match a filter. If more than `most` renders match without the time, the total is an estimate: the number of
/// those among the newest `most + 1` that match with it.
pub(super) async fn count_newest(conn: &mut Conn, filter: &RenderFilter, most: i64) -> Result<Total> {
    let (workspace, since, limit) = (&filter.workspace_id, filter.updated_since, most.saturating_add(1));
    let status = filter.status.map(RenderStatus::as_str);
    let counted = match (&filter.model_id, status) {
        (Some(model), Some(status)) => {
            let sql = newest!("workspace_id = $3 AND model_id = $4 AND status = $5");
            conn.fetch_one(sql, params![since, limit, workspace, model, status]).await?
        }
        (Some(model), None) => {
            let sql = newest!("workspace_id = $3 AND model_id = $4");
            conn.fetch_one(sql, params![since, limit, workspace, model]).await?
        }
        (None, Some(status)) => {
            let sql = newest!("workspace_id = $3 AND status = $4");
            conn.fetch_one(sql, params![since, limit, workspace, status]).await?
        }
        (None, None) => conn.fetch_one(newest!("workspace_id = $3"), params![since, limit, workspace]).await?,
    };
    let rows = counted.count("n")?;
    Ok(if counted.int("seen")? > most { Total::estimate(rows) } else { Total::exact(rows) })
}

#[cfg(test)]
mod tests {
    use plinth_spec::id::{ModelId, WorkspaceId};
    use plinth_testkit::TestDatabase;

    use super::*;
    use crate::test_rows::{ACCOUNT, MODEL, RENDERS_OF_MODEL, WORKSPACE, execute};
    use crate::{Db, DbOptions};

    #[tokio::test(flavor = "multi_thread")]
    async fn a_total_is_an_estimate_if_not_all_renders_were_read() {
        let model = RenderFilter {
            workspace_id: WorkspaceId::parse("wwwwwwwwwwww").unwrap(),
            model_id: ModelId::parse("mmmmmmmmmmmm"),
            status: None,
            updated_since: None,
        };
        let failed = RenderFilter { status: Some(RenderStatus::Failed), ..model.clone() };
        let changed = RenderFilter { updated_since: Some(35 * 60_000), ..model.clone() };
        let failed_and_changed =
            RenderFilter { model_id: None, updated_since: changed.updated_since, ..failed.clone() };
        for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
            let db = Db::open(database.address(), DbOptions::default()).await.unwrap();
            execute(&db, &[ACCOUNT, WORKSPACE, MODEL, RENDERS_OF_MODEL]).await;
            let conn = &mut db.read().await.unwrap();
            for (filter, most, total) in [
                (&model, 42, Total::exact(42)),
                (&model, 41, Total::estimate(42)),
                (&model, 9, Total::estimate(10)),
                (&failed, 10, Total::exact(10)),
                (&failed, 5, Total::estimate(6)),
                (&changed, 42, Total::exact(8)),
                (&changed, 3, Total::estimate(4)),
                (&failed_and_changed, 10, Total::exact(2)),
                (&failed_and_changed, 4, Total::estimate(2)),
            ] {
                assert_eq!(count_newest(conn, filter, most).await.unwrap(), total, "{most} of {filter:?}");
            }
        }
    }
}
