//! Statements that insert rows, for tests of migrations and of statements on old rows.

use crate::sql::params;
use crate::{Db, DbError};

pub(crate) const ACCOUNT: &str =
    "INSERT INTO accounts (id, email, is_admin, paid, free, created_at) VALUES ('a', 'a', FALSE, 0, 0, 0)";
/// Inserts a workspace of [`ACCOUNT`].
pub(crate) const WORKSPACE: &str = "INSERT INTO workspaces (id, name, owner_id, is_personal, created_at) \
                                    VALUES ('wwwwwwwwwwww', 'w', 'a', TRUE, 0)";
/// Inserts a model of [`WORKSPACE`].
pub(crate) const MODEL: &str = "INSERT INTO models (id, workspace_id, original_name, file_size, sha256, animations, \
                                animation_count, status, created_at, updated_at) \
                                VALUES ('mmmmmmmmmmmm', 'wwwwwwwwwwww', 'm', 1, '', '[]', 0, 'active', 0, 0)";
/// Inserts 42 renders of [`MODEL`], created at the times 1 to 42. Each fourth failed. Of the first 40, each changed in the minute with its
/// number, and the last two changed after an hour.
pub(crate) const RENDERS_OF_MODEL: &str = "INSERT INTO renders (id, workspace_id, model_id, payer_id, settings, settings_sha256, \
                                           replay_key, replay_ordinal, is_system_preview, credits, status, hls_status, warnings, \
                                           attempt, hls_attempt, created_at, updated_at) \
                                           WITH RECURSIVE numbers(n) AS (\
                                           SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 42) \
                                           SELECT CAST(100000000000 + n AS TEXT), 'wwwwwwwwwwww', 'mmmmmmmmmmmm', 'a', '{}', '', \
                                           '', 0, FALSE, 0, CASE WHEN n % 4 = 0 THEN 'failed' ELSE 'done' END, 'skipped', '[]', \
                                           0, 0, n, CASE WHEN n <= 40 THEN n * 60000 ELSE 3600000 END FROM numbers";

/// Executes statements in one transaction.
pub(crate) async fn execute(db: &Db, statements: &[&'static str]) {
    let statements = statements.to_vec();
    let writing = db.write(move |tx| {
        Box::pin(async move {
            for sql in statements {
                tx.execute(sql, params![]).await?;
            }
            Ok::<_, DbError>(())
        })
    });
    writing.await.unwrap();
}
