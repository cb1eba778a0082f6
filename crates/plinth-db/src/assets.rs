//! What the tables of textures and environments share.

use plinth_spec::id::WorkspaceId;

use crate::sql::params;
use crate::{Conn, Result};

/// Counts the rows of a table that the account has which owns the workspace `$1`, and their bytes.
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

/// What such a statement finds: number and bytes.
pub(crate) async fn usage(conn: &mut Conn, sql: &'static str, workspace: &WorkspaceId) -> Result<(u64, u64)> {
    let row = conn.fetch_one(sql, params![workspace]).await?;
    Ok((row.count("n")?, row.count("bytes")?))
}
