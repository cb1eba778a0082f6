//! Lists of renders.

use plinth_spec::funding::Pool;
use plinth_spec::id::{ModelId, RenderId, WorkspaceId};
use plinth_spec::page::{PageRequest, Position, Start, Total};
use plinth_spec::state::RenderStatus;

use super::Render;
use super::changed_count::count_all_but_older;
use super::newest_count::{MOST_READ, count_newest, count_of_model};
use crate::render_hours::{self, MOST_COUNTED};
use crate::row::Row;
use crate::sql::{Param, params};
use crate::states::is_in;
use crate::{Conn, Result, render_counts, workspaces};

/// Filter of a list of renders.
#[derive(Clone, Debug)]
pub struct RenderFilter {
    /// The list contains only renders of this workspace.
    pub workspace_id: WorkspaceId,
    /// If set, the list contains only renders of this model.
    pub model_id: Option<ModelId>,
    /// If set, the list contains only renders in this state.
    pub status: Option<RenderStatus>,
    /// If set, the list contains only renders that were changed at or after this time.
    pub updated_since: Option<i64>,
}

// The condition of each shape fits one index. With a single condition for all filters, the database would read the whole list. The
// shape `changed` first finds the few changed renders by the index of `updated_at`, because the database would otherwise search the
// whole list for them. Its expression `model_id || ''` keeps PostgreSQL from reading all renders of the model by an index.
macro_rules! filter {
    (none) => {
        " FROM renders WHERE workspace_id = $1 AND deleted_at IS NULL AND $2 IS NULL AND $3 IS NULL AND $4 IS NULL "
    };
    (status) => {
        " FROM renders WHERE workspace_id = $1 AND deleted_at IS NULL AND $2 IS NULL AND status = $3 \
         AND ($4 IS NULL OR updated_at >= $4) "
    };
    (workspace) => {
        " FROM renders WHERE workspace_id = $1 AND deleted_at IS NULL AND $2 IS NULL \
         AND ($3 IS NULL OR status = $3) AND updated_at >= $4 "
    };
    (changed) => {
        " FROM renders WHERE id IN (SELECT changed_id FROM changed) AND deleted_at IS NULL \
         AND ($2 IS NULL OR model_id || '' = $2) AND ($3 IS NULL OR status = $3) "
    };
    (model) => {
        " FROM renders WHERE model_id = $2 AND workspace_id = $1 AND deleted_at IS NULL \
         AND $3 IS NULL AND ($4 IS NULL OR updated_at >= $4) "
    };
    (model_status) => {
        " FROM renders WHERE model_id = $2 AND workspace_id = $1 AND status = $3 AND deleted_at IS NULL \
         AND ($4 IS NULL OR updated_at >= $4) "
    };
}
// Builds a statement that reads a list of renders, with the condition of the given shape.
macro_rules! over {
    ($shape:expr, $before:expr, $after:expr) => {
        match $shape {
            Shape::Model => concat!($before, filter!(model), $after),
            Shape::ModelStatus => concat!($before, filter!(model_status), $after),
            Shape::None => concat!($before, filter!(none), $after),
            Shape::Status => concat!($before, filter!(status), $after),
            Shape::Workspace => concat!($before, filter!(workspace), $after),
            Shape::Changed => concat!(
                "WITH changed AS MATERIALIZED (SELECT id AS changed_id FROM renders \
                 WHERE workspace_id = $1 AND deleted_at IS NULL AND updated_at >= $4) ",
                $before,
                filter!(changed),
                $after
            ),
        }
    };
}

/// The form of a list's condition. It determines which index the database reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    None,
    Model,
    ModelStatus,
    Status,
    /// All renders of the workspace that changed, if they are many.
    Workspace,
    /// All renders of the workspace that changed, if they are few. Not for a model that itself has few renders.
    Changed,
}

/// Maximum number of changed renders that are all found and then sorted. If there are more, the list is read in its order, newest
/// first.
pub(super) const FEW_CHANGED: i64 = 5000;

impl Shape {
    async fn of(conn: &mut Conn, filter: &RenderFilter) -> Result<Self> {
        let shape = match filter {
            RenderFilter { model_id: Some(_), status: Some(_), .. } => Self::ModelStatus,
            RenderFilter { model_id: Some(_), .. } => Self::Model,
            RenderFilter { status: Some(_), .. } => Self::Status,
            RenderFilter { updated_since: Some(_), .. } => Self::Workspace,
            _ => Self::None,
        };
        let Some(since) = filter.updated_since else { return Ok(shape) };
        // A model usually has few renders, of which the changed ones are found faster than all that changed in the workspace.
        if let Some(model) = &filter.model_id
            && has_few_renders(conn, &filter.workspace_id, model).await?
        {
            return Ok(shape);
        }
        let sql = "SELECT count(*) AS n FROM (SELECT 1 AS one FROM renders \
                   WHERE workspace_id = $1 AND deleted_at IS NULL AND updated_at >= $2 LIMIT $3) changed";
        let row = conn.fetch_one(sql, params![&filter.workspace_id, since, FEW_CHANGED + 1]).await?;
        Ok(if row.int("n")? <= FEW_CHANGED { Self::Changed } else { shape })
    }
}

/// Returns whether at most [`FEW_CHANGED`] renders of a workspace are of this model.
async fn has_few_renders(conn: &mut Conn, workspace: &WorkspaceId, model: &ModelId) -> Result<bool> {
    let sql = "SELECT count(*) AS n FROM (SELECT 1 AS one FROM renders \
               WHERE workspace_id = $1 AND model_id = $2 AND deleted_at IS NULL LIMIT $3) of_model";
    Ok(conn.fetch_one(sql, params![workspace, model, FEW_CHANGED + 1]).await?.int("n")? <= FEW_CHANGED)
}

/// Returns one page of the renders that match a filter, newest first. A page that is requested by a cursor contains one
/// extra row if another page follows.
pub async fn list(conn: &mut Conn, filter: &RenderFilter, page: &PageRequest) -> Result<Vec<Render>> {
    let Some(place) = PagePlace::of(conn, filter, page).await? else { return Ok(Vec::new()) };
    place.rows(conn, filter).await
}

/// Returns the same page as [`list`]. If the settings and warnings of the page's renders have more than `characters` characters in
/// total, returns their number as the inner error.
pub async fn list_if_small(
    conn: &mut Conn,
    filter: &RenderFilter,
    page: &PageRequest,
    characters: u64,
) -> Result<std::result::Result<Vec<Render>, u64>> {
    let Some(place) = PagePlace::of(conn, filter, page).await? else { return Ok(Ok(Vec::new())) };
    let sql = over!(
        place.shape,
        "SELECT CAST(length(settings) + length(warnings) AS BIGINT) AS characters",
        "AND (created_at, id) < ($5, $6) ORDER BY created_at DESC, id DESC LIMIT $7"
    );
    let rows = conn.fetch_all(sql, &place.params(filter)).await?;
    let total = rows.iter().map(|row| row.count("characters")).sum::<Result<u64>>()?;
    if total > characters {
        return Ok(Err(total));
    }
    place.rows(conn, filter).await.map(Ok)
}

/// The position of a page in its list.
struct PagePlace {
    shape: Shape,
    /// Position of the row before the page; `None` if the page is the first one.
    after: Option<Position>,
    limit: u32,
}

impl PagePlace {
    /// Finds the position of a page. Returns `None` if the list ends before the page.
    async fn of(conn: &mut Conn, filter: &RenderFilter, page: &PageRequest) -> Result<Option<Self>> {
        let shape = Shape::of(conn, filter).await?;
        let (after, limit) = match &page.start {
            Start::Offset(0) => (None, page.limit),
            Start::Offset(offset) => match find_position(conn, filter, shape, offset - 1).await? {
                None => return Ok(None),
                found => (found, page.limit),
            },
            Start::After(position) => (position.clone(), page.limit + 1),
        };
        Ok(Some(Self { shape, after, limit }))
    }

    async fn rows(&self, conn: &mut Conn, filter: &RenderFilter) -> Result<Vec<Render>> {
        let sql = over!(
            self.shape,
            concat!("SELECT ", columns!()),
            "AND (created_at, id) < ($5, $6) ORDER BY created_at DESC, id DESC LIMIT $7"
        );
        conn.fetch_all(sql, &self.params(filter)).await?.iter().map(Render::of).collect()
    }

    fn params(&self, filter: &RenderFilter) -> Vec<Param> {
        let f = filter;
        let status = f.status.map(RenderStatus::as_str);
        let (at, id) = self.after.as_ref().map_or((i64::MAX, ""), |p| (p.created_at_ms, p.id.as_str()));
        params![&f.workspace_id, f.model_id.as_ref(), status, f.updated_since, at, id, i64::from(self.limit)].to_vec()
    }
}

/// Finds the position of the row with the zero-based index `number` in the list. Reads the skipped rows from the
/// database index only.
async fn find_position(conn: &mut Conn, filter: &RenderFilter, shape: Shape, number: u64) -> Result<Option<Position>> {
    let sql = over!(shape, "SELECT created_at, id", "ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET $5");
    let f = filter;
    let status = f.status.map(RenderStatus::as_str);
    let params = params![&f.workspace_id, f.model_id.as_ref(), status, f.updated_since, number.cast_signed()];
    let row = conn.fetch_optional(sql, params).await?;
    row.map(|row| Ok(Position { created_at_ms: row.int("created_at")?, id: row.text("id")? })).transpose()
}

/// Counts the renders that match a filter, on all pages together. The total is exact if numbers of the matching renders are stored, or if
/// few renders must be read; otherwise it is an estimate.
pub async fn count(conn: &mut Conn, filter: &RenderFilter) -> Result<Total> {
    let RenderFilter { workspace_id: workspace, model_id, status, updated_since } = filter;
    let Some(since) = *updated_since else {
        return match (model_id, *status) {
            (Some(model), status) => count_of_model(conn, workspace, model, status, MOST_COUNTED).await,
            (None, Some(status)) => render_counts::count(conn, workspace, status).await.map(Total::exact),
            (None, None) => workspaces::render_count(conn, workspace).await.map(Total::exact),
        };
    };
    match (Shape::of(conn, filter).await?, *status) {
        (Shape::Changed, _) => count_changed(conn, filter).await.map(Total::exact),
        (Shape::Workspace, _) => render_hours::count_since(conn, workspace, since).await,
        (Shape::Status, Some(status)) => match count_all_but_older(conn, workspace, status, since).await? {
            Some(rows) => Ok(Total::exact(rows)),
            None => count_newest(conn, filter, since, MOST_READ).await,
        },
        _ => count_newest(conn, filter, since, MOST_READ).await,
    }
}

/// Counts the renders that match a filter, of which few have changed.
async fn count_changed(conn: &mut Conn, filter: &RenderFilter) -> Result<u64> {
    let f = filter;
    let params = params![&f.workspace_id, f.model_id.as_ref(), f.status.map(RenderStatus::as_str), f.updated_since];
    conn.fetch_one(over!(Shape::Changed, "SELECT count(*) AS n", ""), params).await?.count("n")
}

/// The fields of a render that the list of a model's renders shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderSummary {
    pub id: RenderId,
    pub status: RenderStatus,
    /// Canonical settings, as JSON.
    pub settings: String,
    /// Pool of credits that was charged; `None` if the render was free.
    pub pool: Option<Pool>,
    /// Time of creation.
    pub created_at: i64,
    /// Time of the last change.
    pub updated_at: i64,
}

/// Lists the newest renders of a model, newest first. Stops after `limit` renders, or before the settings of all listed renders
/// together exceed `characters` characters.
pub async fn list_summaries(
    conn: &mut Conn,
    model: &ModelId,
    workspace: &WorkspaceId,
    limit: u32,
    characters: u64,
) -> Result<Vec<RenderSummary>> {
    let sql = "SELECT id, status, settings, pool, created_at, updated_at FROM \
               (SELECT id, status, settings, pool, created_at, updated_at, \
               sum(length(settings)) OVER (ORDER BY created_at DESC, id DESC) AS characters FROM \
               (SELECT id, status, settings, pool, created_at, updated_at FROM renders \
               WHERE model_id = $1 AND workspace_id = $2 AND deleted_at IS NULL \
               ORDER BY created_at DESC, id DESC LIMIT $3) newest) counted \
               WHERE characters <= $4 ORDER BY created_at DESC, id DESC";
    let rows = conn.fetch_all(sql, params![model, workspace, i64::from(limit), characters.cast_signed()]).await?;
    let summary = |row: &Row| {
        Ok(RenderSummary {
            id: row.parsed("id", RenderId::parse)?,
            status: row.parsed("status", RenderStatus::from_name)?,
            settings: row.text("settings")?,
            pool: row.maybe_parsed("pool", Pool::from_name)?,
            created_at: row.int("created_at")?,
            updated_at: row.int("updated_at")?,
        })
    };
    rows.iter().map(summary).collect()
}

/// Returns the total length of the settings of a model's `limit` newest renders, in characters.
pub async fn summaries_characters(
    conn: &mut Conn,
    model: &ModelId,
    workspace: &WorkspaceId,
    limit: u32,
) -> Result<u64> {
    let sql = "SELECT CAST(coalesce(sum(length(settings)), 0) AS BIGINT) AS characters FROM \
               (SELECT settings FROM renders WHERE model_id = $1 AND workspace_id = $2 AND deleted_at IS NULL \
               ORDER BY created_at DESC, id DESC LIMIT $3) newest";
    conn.fetch_one(sql, params![model, workspace, i64::from(limit)]).await?.count("characters")
}

/// Returns the newest renders of a workspace, newest first.
pub async fn newest(conn: &mut Conn, workspace: &WorkspaceId, limit: u32) -> Result<Vec<Render>> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM renders WHERE workspace_id = $1 AND deleted_at IS NULL ORDER BY created_at DESC, id DESC LIMIT $2"
    );
    conn.fetch_all(sql, params![workspace, i64::from(limit)]).await?.iter().map(Render::of).collect()
}

/// Returns at most `limit` finished renders of a model in a workspace, newest first.
pub async fn newest_done(conn: &mut Conn, workspace: &WorkspaceId, model: &ModelId, limit: u32) -> Result<Vec<Render>> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM renders WHERE model_id = $1 AND workspace_id = $2 AND status = $3 AND deleted_at IS NULL \
         ORDER BY created_at DESC, id DESC LIMIT $4"
    );
    let params = params![model, workspace, RenderStatus::Done.as_str(), i64::from(limit)];
    conn.fetch_all(sql, params).await?.iter().map(Render::of).collect()
}

/// Lists the newest finished renders of a workspace whose settings have one of the given hashes, newest first. Returns at most
/// `limit` renders for each hash. Their field `settings` is empty, because the settings may be large, and who knows their hash
/// knows them.
pub async fn newest_done_with(
    conn: &mut Conn,
    workspace: &WorkspaceId,
    settings_sha256: &[String],
    limit: u32,
) -> Result<Vec<Render>> {
    if settings_sha256.is_empty() {
        return Ok(Vec::new());
    }
    let mut values: Vec<Param> = params![workspace, i64::from(limit)].to_vec();
    values.extend(settings_sha256.iter().map(|hash| Param::from(hash.as_str())));
    let rows = conn.fetch_all_built(&done_with(settings_sha256.len()), &values).await?;
    let mut renders = rows.iter().map(Render::of).collect::<Result<Vec<_>>>()?;
    renders.sort_by(|a, b| b.created_at.cmp(&a.created_at).then_with(|| b.id.cmp(&a.id)));
    Ok(renders)
}

/// Builds the statement that finds the newest finished renders with each of `hashes` hashes, which are `$3` and following. The
/// state is a literal, because a database uses a partial index only for the same condition.
fn done_with(hashes: usize) -> String {
    let columns = columns!().replace(" settings,", " '' AS settings,");
    let done = is_in(|status| status == RenderStatus::Done);
    let of_one = |number: usize| {
        format!(
            "SELECT * FROM (SELECT {columns} FROM renders WHERE workspace_id = $1 AND settings_sha256 = ${number} \
             AND {done} AND deleted_at IS NULL ORDER BY created_at DESC LIMIT $2) AS with_{number}"
        )
    };
    (3..3 + hashes).map(of_one).collect::<Vec<_>>().join(" UNION ALL ")
}

#[cfg(test)]
mod tests {
    use plinth_testkit::TestDatabase;

    use super::*;
    use crate::query_plan::plans_on;
    use crate::sql::Sql;
    use crate::{Db, DbError, DbOptions};

    #[tokio::test(flavor = "multi_thread")]
    async fn the_renders_of_a_model_in_one_state_are_found_by_an_index() {
        let sql = over!(
            Shape::ModelStatus,
            "SELECT settings",
            "AND (created_at, id) < ($5, $6) ORDER BY created_at DESC, id DESC LIMIT $7"
        );
        let parameters = params!["w", "m", "failed", None::<i64>, i64::MAX, "", 50_i64];
        let [plan] = plans_on(&TestDatabase::sqlite(), [Sql::from(sql)], [parameters]).await;
        assert!(plan.contains("INDEX renders_model_status (model_id=? AND workspace_id=? AND status=? AND "), "{plan}");
        assert!(!plan.contains("TEMP B-TREE"), "{plan}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn renders_with_the_settings_of_a_look_are_found_by_an_index_of_settings() {
        let database = TestDatabase::sqlite();
        let db = Db::open(database.address(), DbOptions::default()).await.unwrap();
        let planning = db.write(|tx| {
            Box::pin(async move {
                let sql = format!("EXPLAIN QUERY PLAN {}", done_with(2));
                let rows = tx.fetch_all_built(&sql, params!["w", 4_i64, "a", "b"]).await?;
                let lines = rows.iter().map(|row| row.text("detail")).collect::<Result<Vec<_>>>()?;
                Ok::<_, DbError>(lines.join("\n"))
            })
        });
        let plan = planning.await.unwrap();
        assert_eq!(plan.matches("INDEX renders_done (workspace_id=? AND settings_sha256=?)").count(), 2, "{plan}");
        assert!(!plan.contains("TEMP B-TREE") && !plan.contains("SCAN renders"), "{plan}");
    }
}
