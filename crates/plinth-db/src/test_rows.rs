//! Statements that insert rows, for tests of migrations and of statements on old rows.

use crate::sql::params;
use crate::{Db, DbError};

pub(crate) const ACCOUNT: &str =
    "INSERT INTO accounts (id, email, is_admin, paid, free, created_at) VALUES ('a', 'a', FALSE, 0, 0, 0)";
/// Inserts a workspace of [`ACCOUNT`].
pub(crate) const WORKSPACE: &str = "INSERT INTO workspaces (id, name, owner_id, is_personal, created_at) \
                                    VALUES ('wwwwwwwwwwww', 'w', 'a', TRUE, 0)";

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
