//! Totals of lists of renders whose number is not stored: those of a model, and those of a model or in a state that changed since a
//! time. Reads a limited number of renders.

use plinth_spec::id::{ModelId, WorkspaceId};
use plinth_spec::page::Total;
use plinth_spec::state::RenderStatus;

use super::lists::RenderFilter;
use crate::sql::params;
use crate::{Conn, Result};

/// Maximum number of renders whose time of change is read for one total. For most filters, no index contains it.
pub(super) const MOST_READ: i64 = 10_000;

// Builds the statement that reads the newest renders with a condition. `$1` is the time since which renders must have changed, `$2`
// the number of renders to read. The condition fits an index, which also contains the order.
macro_rules! newest {
    ($condition:literal) => {
        concat!(
            "SELECT count(*) AS seen, count(CASE WHEN updated_at >= $1 THEN 1 END) AS n FROM (\
             SELECT updated_at FROM renders WHERE deleted_at IS NULL AND ",
            $condition,
            " ORDER BY created_at DESC, id DESC LIMIT $2) newest"
        )
    };
}

/// Counts the renders of a model, or of a model in one state, by an index alone. If they are more than `most`, the total is an estimate:
/// `most + 1`.
pub(super) async fn count_of_model(
    conn: &mut Conn,
    workspace: &WorkspaceId,
    model: &ModelId,
    status: Option<RenderStatus>,
    most: i64,
) -> Result<Total> {
    let limit = most.saturating_add(1);
    let counted = if let Some(status) = status.map(RenderStatus::as_str) {
        let sql = "SELECT count(*) AS n FROM (SELECT 1 AS one FROM renders WHERE workspace_id = $1 AND model_id = $2 \
                       AND status = $4 AND deleted_at IS NULL LIMIT $3) of_model";
        conn.fetch_one(sql, params![workspace, model, limit, status]).await?
    } else {
        let sql = "SELECT count(*) AS n FROM (SELECT 1 AS one FROM renders WHERE workspace_id = $1 AND model_id = $2 \
                       AND deleted_at IS NULL LIMIT $3) of_model";
        conn.fetch_one(sql, params![workspace, model, limit]).await?
    };
    let rows = counted.count("n")?;
    Ok(if rows > most.unsigned_abs() { Total::estimate(rows) } else { Total::exact(rows) })
}

/// Counts the renders that match a filter and changed at or after `since`. If more than `most` renders match without the time, the total
/// is an estimate: the number of those among the newest `most + 1` that match with it.
pub(super) async fn count_newest(conn: &mut Conn, filter: &RenderFilter, since: i64, most: i64) -> Result<Total> {
    let (workspace, limit) = (&filter.workspace_id, most.saturating_add(1));
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
        let failed_of_any = RenderFilter { model_id: None, ..failed.clone() };
        for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
            let db = Db::open(database.address(), DbOptions::default()).await.unwrap();
            execute(&db, &[ACCOUNT, WORKSPACE, MODEL, RENDERS_OF_MODEL]).await;
            let conn = &mut db.read().await.unwrap();
            for (filter, most, total) in [
                (&model, 42, Total::exact(42)),
                (&model, 41, Total::estimate(42)),
                (&failed, 10, Total::exact(10)),
                (&failed, 5, Total::estimate(6)),
            ] {
                let RenderFilter { workspace_id, model_id: Some(id), status, .. } = filter else { panic!() };
                let counted = count_of_model(conn, workspace_id, id, *status, most).await.unwrap();
                assert_eq!(counted, total, "{most} of {filter:?}");
            }
            for (filter, most, total) in [
                (&model, 42, Total::exact(8)),
                (&model, 3, Total::estimate(4)),
                (&failed_of_any, 10, Total::exact(2)),
                (&failed_of_any, 4, Total::estimate(2)),
            ] {
                let counted = count_newest(conn, filter, 35 * 60_000, most).await.unwrap();
                assert_eq!(counted, total, "{most} of {filter:?}");
            }
        }
    }
}
