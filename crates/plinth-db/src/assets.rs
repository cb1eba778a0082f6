//! Queries of the number and total size of a workspace's textures or environments.

use plinth_spec::id::WorkspaceId;

use crate::sql::params;
use crate::{Conn, Result};

/// Builds an SQL statement that returns the number of rows and their total size in bytes. It counts the rows of every
/// workspace whose owner also owns workspace `$1`.
macro_rules! usage_of {
    ($table:literal) => {
        concat!(
            "SELECT count(*) AS n, CAST(coalesce(sum(file_size), 0) AS BIGINT) AS bytes FROM ",
            $table,
            " WHERE ",
            $crate::sql::of_owner!()
        )
    };
}
pub(crate) use usage_of;

/// Runs a [`usage_of!`] statement. Returns the number of rows and their total size in bytes.
pub(crate) async fn usage(conn: &mut Conn, sql: &'static str, workspace: &WorkspaceId) -> Result<(u64, u64)> {
    let row = conn.fetch_one(sql, params![workspace]).await?;
    Ok((row.count("n")?, row.count("bytes")?))
}
