//! Statements on overlays, textures and environments: their insertion, their number and total size, and their deletion.

use plinth_spec::id::WorkspaceId;

use crate::sql::{Param, params};
use crate::{Conn, Result, Tx, storage};

/// Builds an SQL statement that returns the number of rows and their total size in bytes. The statement counts the rows that fulfil
/// the condition, in all workspaces whose owner also owns workspace `$1`. Assets of deleted workspaces count until they are deleted.
macro_rules! usage_of {
    ($table:literal, $condition:literal) => {
        concat!(
            "SELECT count(*) AS n, CAST(coalesce(sum(file_size), 0) AS BIGINT) AS bytes FROM ",
            $table,
            " WHERE ",
            $condition,
            " AND ",
            $crate::sql::of_owner!("")
        )
    };
}
pub(crate) use usage_of;

/// Defines the function `insert`, which inserts a row of a table with uploaded files, and adds the size of its files to the
/// workspace's counter of stored bytes.
macro_rules! insert_counted {
    ($type:ident) => {
        pub async fn insert(tx: &mut $crate::Tx, row: &$type) -> $crate::Result<()> {
            row.add(tx).await?;
            $crate::storage::add(tx, &row.workspace_id, row.file_size.cast_signed()).await
        }
    };
}
pub(crate) use insert_counted;

/// Runs a [`usage_of!`] statement. Returns the number of rows and their total size in bytes.
pub(crate) async fn usage(conn: &mut Conn, sql: &'static str, workspace: &WorkspaceId) -> Result<(u64, u64)> {
    let row = conn.fetch_one(sql, params![workspace]).await?;
    Ok((row.count("n")?, row.count("bytes")?))
}

/// Runs a statement that deletes a row and returns its `workspace_id` and `file_size`, and subtracts this size from the workspace's
/// counter of stored bytes. Returns false if no row was deleted.
pub(crate) async fn delete(tx: &mut Tx, sql: &'static str, params: &[Param]) -> Result<bool> {
    let Some(row) = tx.fetch_optional(sql, params).await? else { return Ok(false) };
    storage::add(tx, &row.parsed("workspace_id", WorkspaceId::parse)?, -row.int("file_size")?).await?;
    Ok(true)
}

/// Runs a statement that deletes rows of a workspace and returns their `id` and `file_size`, and subtracts the sizes from the
/// workspace's counter of stored bytes. Returns the identifiers of the deleted rows.
pub(crate) async fn delete_of_workspace<I>(
    tx: &mut Tx,
    sql: &'static str,
    workspace: &WorkspaceId,
    parse: impl Fn(&str) -> Option<I>,
) -> Result<Vec<I>> {
    let rows = tx.fetch_all(sql, params![workspace]).await?;
    let bytes = rows.iter().map(|row| row.int("file_size")).sum::<Result<i64>>()?;
    storage::add(tx, workspace, -bytes).await?;
    rows.iter().map(|row| row.parsed("id", &parse)).collect()
}
