//! Models.

use plinth_spec::id::{ModelId, WorkspaceId};
use plinth_spec::page::{PageRequest, Start};
use plinth_spec::state::ModelStatus;

use crate::row::Row;
use crate::sql::{Param, Sql, containing, params, touched};
use crate::table::{insert, numbered, row};
use crate::{Conn, Result, Tx, storage};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    pub id: ModelId,
    /// Workspace that owns the model.
    pub workspace_id: WorkspaceId,
    /// Name of the uploaded file.
    pub original_name: String,
    pub title: Option<String>,
    /// Product code.
    pub sku: Option<String>,
    /// Tags. [`insert`] does not write tags; [`update`] does.
    pub tags: Vec<String>,
    /// Size of the stored GLB, in bytes.
    pub file_size: u64,
    /// Hex SHA-256 of the stored GLB.
    pub sha256: String,
    /// Number of animation clips.
    pub animation_count: u64,
    pub status: ModelStatus,
    /// Time of the upload.
    pub created_at: i64,
    /// Time of the last change.
    pub updated_at: i64,
}

/// Contents of a model. They may be large, so lists of models do not read them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Animation clips, as JSON.
    pub animations: String,
    /// Mesh names, as JSON; `None` if they were not extracted.
    pub mesh_names: Option<String>,
    /// Material names, as JSON; `None` if they were not extracted.
    pub material_names: Option<String>,
}

/// Filter of a list of models.
#[derive(Clone, Debug)]
pub struct ModelFilter {
    /// The list contains only models of this workspace.
    pub workspace_id: WorkspaceId,
    /// If set, the list contains only models in this state. `None` stands for all states except deleted.
    pub status: Option<ModelStatus>,
    /// If not empty, the list contains only models with at least one of these tags.
    pub tags: Vec<String>,
    /// If set, the list contains only models that were changed at or after this time.
    pub updated_since: Option<i64>,
    /// If set, the list contains only models whose title, product code, file name or tags contain this text, which must
    /// be in lower case.
    pub search: Option<String>,
}

row!(columns, model -> Model {
    id: "id", workspace_id: "workspace_id", original_name: "original_name", title: "title", sku: "sku",
    file_size: "file_size", sha256: "sha256", animation_count: "animation_count", status: "status",
    created_at: "created_at", updated_at: "updated_at"; tags = tags
});
row!(content_columns, contents_of -> Contents {
    animations: "animations", mesh_names: "mesh_names", material_names: "material_names"
});

macro_rules! select {
    () => {
        concat!(
            "SELECT ",
            columns!(),
            ", (SELECT string_agg(t.tag, '\u{1f}' ORDER BY t.position) FROM model_tags t WHERE t.model_id = m.id) AS tags "
        )
    };
}
// `$4` contains the requested tags, with a separator character before and after each; no tag contains the separator.
// `$5` is the LIKE pattern of the search text, `$6` the name of the state of deleted models, `$7` the lower-case pattern: tags are
// stored in lower case, and `lower` of SQLite changes only ASCII letters.
macro_rules! filter {
    ($index:literal) => {
        concat!(
            "FROM models m ",
            $index,
            "WHERE m.workspace_id = $1 AND m.status <> $6 AND ($2 IS NULL OR m.status = $2) \
             AND ($3 IS NULL OR m.updated_at >= $3) \
             AND ($4 IS NULL OR EXISTS (SELECT 1 FROM model_tags t WHERE t.model_id = m.id \
             AND replace($4, '\u{1f}' || t.tag || '\u{1f}', '') <> $4)) \
             AND ($5 IS NULL OR lower(coalesce(m.title, '') || ' ' || coalesce(m.sku, '') || ' ' || m.original_name) \
             LIKE lower($5) ESCAPE '!' OR EXISTS (SELECT 1 FROM model_tags t WHERE t.model_id = m.id AND t.tag LIKE $7 ESCAPE '!')) "
        )
    };
}
// Builds a statement about the models that match the filter. SQLite would choose an index without the state and the time of change. It
// would then read the row of each model, together with the animations and names that precede these two columns.
macro_rules! over {
    ($before:expr, $after:literal) => {
        Sql {
            sqlite: concat!($before, filter!("INDEXED BY models_list "), $after),
            postgres: concat!($before, filter!(""), $after),
        }
    };
}

/// Lists a page by offset. `$8` is the maximum number of models, `$9` the number of skipped models.
const LIST_BY_OFFSET: Sql = over!(select!(), "ORDER BY m.created_at DESC, m.id DESC LIMIT $8 OFFSET $9");
/// Lists the models after a position. `$8` and `$9` are the position, `$10` is the maximum number of models.
const LIST_AFTER: Sql =
    over!(select!(), "AND (m.created_at, m.id) < ($8, $9) ORDER BY m.created_at DESC, m.id DESC LIMIT $10");
const COUNT: Sql = over!("SELECT count(*) AS n ", "");

/// Inserts a model, without its tags, and adds its size to the workspace's counters of stored bytes.
pub async fn insert(tx: &mut Tx, model: &Model, contents: &Contents) -> Result<()> {
    insert!(tx, "models", id: &model.id, workspace_id: &model.workspace_id, original_name: model.original_name.as_str(),
        title: model.title.as_deref(), sku: model.sku.as_deref(), file_size: model.file_size.cast_signed(),
        sha256: model.sha256.as_str(), animation_count: model.animation_count.cast_signed(), status: model.status.as_str(),
        created_at: model.created_at, updated_at: model.updated_at, animations: contents.animations.as_str(),
        mesh_names: contents.mesh_names.as_deref(), material_names: contents.material_names.as_deref())?;
    storage::add_model(tx, &model.workspace_id, model.file_size.cast_signed()).await
}

/// Finds a model of a workspace. Returns `None` for a deleted model.
pub async fn find(conn: &mut Conn, workspace: &WorkspaceId, id: &ModelId) -> Result<Option<Model>> {
    // The query does not name the workspace, so that PostgreSQL searches the index of the identifiers (see `renders::find`).
    let sql = concat!(select!(), "FROM models m WHERE m.id = $1 AND m.status <> $2");
    let row = conn.fetch_optional(sql, params![id, ModelStatus::Deleted.as_str()]).await?;
    Ok(row.as_ref().map(model).transpose()?.filter(|model| model.workspace_id == *workspace))
}

/// Finds the contents of a model.
pub async fn contents(conn: &mut Conn, id: &ModelId) -> Result<Option<Contents>> {
    let sql = concat!("SELECT ", content_columns!(), " FROM models WHERE id = $1");
    conn.fetch_optional(sql, params![id]).await?.as_ref().map(contents_of).transpose()
}

/// Returns the length of the contents of a model, in characters; 0 if there is no such model.
pub async fn contents_characters(conn: &mut Conn, id: &ModelId) -> Result<u64> {
    let sql = "SELECT CAST(length(animations) + coalesce(length(mesh_names), 0) + coalesce(length(material_names), 0) \
               AS BIGINT) AS characters FROM models WHERE id = $1";
    conn.fetch_optional(sql, params![id]).await?.map_or(Ok(0), |row| row.count("characters"))
}

/// Returns the identifiers from `ids` whose models are active and belong to the workspace.
pub async fn list_active(conn: &mut Conn, workspace: &WorkspaceId, ids: &[ModelId]) -> Result<Vec<ModelId>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let sql =
        format!("SELECT id FROM models WHERE workspace_id = $1 AND status = $2 AND id IN {}", numbered(3, ids.len()));
    let first = [Param::from(workspace), Param::from(ModelStatus::Active.as_str())];
    let values: Vec<Param> = first.into_iter().chain(ids.iter().map(Param::from)).collect();
    let rows = conn.fetch_all_built(&sql, &values).await?;
    rows.iter().map(|row| row.parsed("id", ModelId::parse)).collect()
}

/// Returns the hex SHA-256 of a model's file. Works for deleted models, too, because renders that were created before
/// the deletion need the file until they end.
pub async fn file_sha256(conn: &mut Conn, id: &ModelId) -> Result<Option<String>> {
    let row = conn.fetch_optional("SELECT sha256 FROM models WHERE id = $1", params![id]).await?;
    row.map(|row| row.text("sha256")).transpose()
}

/// Finds the newest active model of a workspace whose file has this hash.
pub async fn find_active_by_sha256(conn: &mut Conn, workspace: &WorkspaceId, sha256: &str) -> Result<Option<ModelId>> {
    let sql = "SELECT id FROM models WHERE workspace_id = $1 AND sha256 = $2 AND status = $3 \
               ORDER BY created_at DESC, id DESC LIMIT 1";
    let row = conn.fetch_optional(sql, params![workspace, sha256, ModelStatus::Active.as_str()]).await?;
    row.map(|row| row.parsed("id", ModelId::parse)).transpose()
}

/// Returns one page of the models that match a filter, newest first. A page that is requested by a cursor contains one
/// extra row if another page follows.
pub async fn list(conn: &mut Conn, filter: &ModelFilter, page: &PageRequest) -> Result<Vec<Model>> {
    let rows = match &page.start {
        Start::Offset(offset) => {
            let tags = separated(&filter.tags);
            let params = params![
                &filter.workspace_id,
                filter.status.map(ModelStatus::as_str),
                filter.updated_since,
                tags.as_deref(),
                pattern(filter).as_deref(),
                ModelStatus::Deleted.as_str(),
                lower_case_pattern(filter).as_deref(),
                i64::from(page.limit),
                offset.cast_signed(),
            ];
            conn.fetch_all(LIST_BY_OFFSET, params).await?
        }
        Start::After(position) => {
            let tags = separated(&filter.tags);
            let (created_at, id) = position.as_ref().map_or((i64::MAX, ""), |p| (p.created_at_ms, p.id.as_str()));
            let params = params![
                &filter.workspace_id,
                filter.status.map(ModelStatus::as_str),
                filter.updated_since,
                tags.as_deref(),
                pattern(filter).as_deref(),
                ModelStatus::Deleted.as_str(),
                lower_case_pattern(filter).as_deref(),
                created_at,
                id,
                i64::from(page.limit) + 1,
            ];
            conn.fetch_all(LIST_AFTER, params).await?
        }
    };
    rows.iter().map(model).collect()
}

/// Counts the models that match a filter, on all pages together.
pub async fn count(conn: &mut Conn, filter: &ModelFilter) -> Result<u64> {
    let tags = separated(&filter.tags);
    let params = params![
        &filter.workspace_id,
        filter.status.map(ModelStatus::as_str),
        filter.updated_since,
        tags.as_deref(),
        pattern(filter).as_deref(),
        ModelStatus::Deleted.as_str(),
        lower_case_pattern(filter).as_deref(),
    ];
    conn.fetch_one(COUNT, params).await?.count("n")
}

/// Changes the state of a model. Returns false if the model is not in state `from`.
pub async fn set_status(tx: &mut Tx, id: &ModelId, from: ModelStatus, to: ModelStatus, now: i64) -> Result<bool> {
    let sql = concat!("UPDATE models SET status = $3, ", touched!("$4"), " WHERE id = $1 AND status = $2");
    Ok(tx.execute(sql, params![id, from.as_str(), to.as_str(), now]).await? == 1)
}

/// Sets a model's title, product code and tags.
pub async fn update(
    tx: &mut Tx,
    id: &ModelId,
    title: Option<&str>,
    sku: Option<&str>,
    tags: &[String],
    now: i64,
) -> Result<()> {
    let sql = concat!("UPDATE models SET title = $2, sku = $3, ", touched!("$4"), " WHERE id = $1");
    tx.execute(sql, params![id, title, sku, now]).await?;
    tx.execute("DELETE FROM model_tags WHERE model_id = $1", params![id]).await?;
    for (position, tag) in (0i64..).zip(tags) {
        let sql = "INSERT INTO model_tags (model_id, position, tag) VALUES ($1, $2, $3)";
        tx.execute(sql, params![id, position, tag.as_str()]).await?;
    }
    Ok(())
}

/// Returns the LIKE pattern that matches every text which contains the filter's search text.
fn pattern(filter: &ModelFilter) -> Option<String> {
    filter.search.as_deref().map(containing)
}

fn lower_case_pattern(filter: &ModelFilter) -> Option<String> {
    filter.search.as_deref().map(|search| containing(&search.to_lowercase()))
}

fn separated(tags: &[String]) -> Option<String> {
    let one = |tag: &String| format!("\u{1f}{tag}\u{1f}");
    (!tags.is_empty()).then(|| tags.iter().map(one).collect())
}

fn tags(row: &Row) -> Result<Vec<String>> {
    Ok(row.maybe_text("tags")?.map_or_else(Vec::new, |tags| tags.split('\u{1f}').map(str::to_owned).collect()))
}

#[cfg(test)]
mod tests {
    use plinth_testkit::TestDatabase;

    use super::*;
    use crate::query_plan::plans_on;

    #[tokio::test(flavor = "multi_thread")]
    async fn models_are_listed_by_the_index_with_state_and_time_of_change() {
        let none = None::<&str>;
        let count = params!["w", none, 9_i64, none, none, "deleted", none];
        let by_offset = params!["w", none, 9_i64, none, none, "deleted", none, 50_i64, 0_i64];
        let after = params!["w", none, 9_i64, none, none, "deleted", none, i64::MAX, "", 50_i64];
        let statements = [COUNT, LIST_BY_OFFSET, LIST_AFTER];
        for plan in plans_on(&TestDatabase::sqlite(), statements, [count, by_offset, after]).await {
            assert!(plan.contains("SEARCH m USING INDEX models_list (workspace_id=?"), "{plan}");
            assert!(!plan.contains("FOR ORDER BY"), "{plan}");
        }
    }
}
