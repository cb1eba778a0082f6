//! Query plans, for tests of the indexes that statements use.

use plinth_testkit::TestDatabase;

use crate::sql::{Param, Sql};
use crate::{Db, DbError, DbOptions, Result};

/// Returns the plans of statements on a new database, in the order of the statements. `parameters` are the values of each
/// statement's parameters.
pub(crate) async fn plans_on<const N: usize>(
    database: &TestDatabase,
    statements: [Sql; N],
    parameters: [&[Param]; N],
) -> [String; N] {
    let db = Db::open(database.address(), DbOptions::default()).await.unwrap();
    let parameters = parameters.map(<[Param]>::to_vec);
    let planning = db.write(move |tx| {
        Box::pin(async move {
            // Without these settings, PostgreSQL would not use an index for a small table.
            tx.control("SELECT 1", "SET LOCAL enable_seqscan = off").await?;
            tx.control("SELECT 1", "SET LOCAL enable_bitmapscan = off").await?;
            // As after a vacuum, so that an index that contains all columns is better than others.
            tx.control("SELECT 1", "UPDATE pg_class SET relallvisible = 10 WHERE relkind = 'r'").await?;
            let mut plans = [const { String::new() }; N];
            for ((plan, sql), parameters) in plans.iter_mut().zip(statements).zip(parameters) {
                let (text, column) = if tx.is_postgres() {
                    (format!("EXPLAIN {}", sql.postgres), "QUERY PLAN")
                } else {
                    (format!("EXPLAIN QUERY PLAN {}", sql.sqlite), "detail")
                };
                let rows = tx.fetch_all_built(&text, &parameters).await?;
                *plan = rows.iter().map(|row| row.text(column)).collect::<Result<Vec<_>>>()?.join("\n");
            }
            Ok::<_, DbError>(plans)
        })
    });
    planning.await.unwrap()
}
