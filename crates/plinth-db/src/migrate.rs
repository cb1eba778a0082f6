//! The schema migrations. A released migration file never changes.
//!
//! During an upgrade, programs of the previous version run on the new tables. So a migration only adds tables, indexes, and
//! columns that may be NULL or have a default. A later version may remove tables and columns that no program uses any more.
//! The migration that removes them also stores, under the key [`OLDEST_PROGRAM`], the version of the tables that a program
//! must know to run on them.

use std::borrow::Cow;

use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{AssertSqlSafe, SqlSafeStr as _};

use crate::conn::Conn;
use crate::error::DbError;
use crate::{Result, instance};

/// Key in the table `instance`. Its value is the oldest version of the tables that a program must know.
const OLDEST_PROGRAM: &str = "oldest_program";

const FILES: &[(i64, &str, &str)] = &[
    (1, "accounts", include_str!("../migrations/0001_accounts.sql")),
    (2, "models", include_str!("../migrations/0002_models.sql")),
    (3, "renders", include_str!("../migrations/0003_renders.sql")),
    (4, "assets", include_str!("../migrations/0004_assets.sql")),
    (5, "traffic", include_str!("../migrations/0005_traffic.sql")),
    (6, "frames", include_str!("../migrations/0006_frames.sql")),
    (7, "lists", include_str!("../migrations/0007_lists.sql")),
    (8, "browsers", include_str!("../migrations/0008_browsers.sql")),
    (9, "queue", include_str!("../migrations/0009_queue.sql")),
    (10, "storage", include_str!("../migrations/0010_storage.sql")),
    (201, "worker_pools", include_str!("../migrations/0201_worker_pools.sql")),
    (202, "link_secrets", include_str!("../migrations/0202_link_secrets.sql")),
    (203, "filtered_lists", include_str!("../migrations/0203_filtered_lists.sql")),
    (204, "staged_bytes", include_str!("../migrations/0204_staged_bytes.sql")),
    (301, "progress", include_str!("../migrations/0301_progress.sql")),
    (302, "looks", include_str!("../migrations/0302_looks.sql")),
    (303, "purchases", include_str!("../migrations/0303_purchases.sql")),
    (304, "people", include_str!("../migrations/0304_people.sql")),
    (305, "traces", include_str!("../migrations/0305_traces.sql")),
    (320, "administration", include_str!("../migrations/0320_administration.sql")),
    (321, "workers", include_str!("../migrations/0321_workers.sql")),
    (322, "storage", include_str!("../migrations/0322_storage.sql")),
    (323, "system_environments", include_str!("../migrations/0323_system_environments.sql")),
    (330, "previews", include_str!("../migrations/0330_previews.sql")),
    (331, "stored_renders", include_str!("../migrations/0331_stored_renders.sql")),
    (340, "page previews", include_str!("../migrations/0340_page_previews.sql")),
    (341, "mails", include_str!("../migrations/0341_mails.sql")),
    (350, "render_counts", include_str!("../migrations/0350_render_counts.sql")),
    (351, "render_count_triggers", include_str!("../migrations/0351_render_count_triggers.sql")),
    (352, "render_counts_of_old_renders", include_str!("../migrations/0352_render_counts_of_old_renders.sql")),
    (360, "owed_credits", include_str!("../migrations/0360_owed_credits.sql")),
    (390, "replayed_keys", include_str!("../migrations/0390_replayed_keys.sql")),
    (391, "owed_refunds", include_str!("../migrations/0391_owed_refunds.sql")),
    (420, "render_hours", include_str!("../migrations/0420_render_hours.sql")),
    (421, "render_hour_triggers", include_str!("../migrations/0421_render_hour_triggers.sql")),
    (422, "render_hours_of_old_renders", include_str!("../migrations/0422_render_hours_of_old_renders.sql")),
    (430, "model_contents", include_str!("../migrations/0430_model_contents.sql")),
    (440, "done_renders", include_str!("../migrations/0440_done_renders.sql")),
    (441, "open_previews", include_str!("../migrations/0441_open_previews.sql")),
    (450, "stored_models", include_str!("../migrations/0450_stored_models.sql")),
    (460, "staged_links", include_str!("../migrations/0460_staged_links.sql")),
    (470, "packaging_losses", include_str!("../migrations/0470_packaging_losses.sql")),
    (480, "lease_times", include_str!("../migrations/0480_lease_times.sql")),
    (490, "lists_by_two_filters", include_str!("../migrations/0490_lists_by_two_filters.sql")),
];

/// PostgreSQL's text of those migrations that declare triggers, because the syntax differs from SQLite's.
const ON_POSTGRES: &[(i64, &str)] = &[
    (351, include_str!("../migrations/0351_render_count_triggers.postgres.sql")),
    (421, include_str!("../migrations/0421_render_hour_triggers.postgres.sql")),
];

/// Migrations whose tables are unlogged on PostgreSQL. The rows of these tables are needed only for seconds, and need not survive
/// a crash of the database. A commit to an unlogged table does not wait for the disk, and large values are not copied to
/// replicas.
const UNLOGGED: &[i64] = &[330, 340];

/// Returns the version of the newest migration that this program contains.
pub fn newest_version() -> i64 {
    FILES.last().map_or(0, |(version, _name, _sql)| *version)
}

/// Returns all migrations in the order of their versions.
pub(crate) fn migrator(is_postgres: bool) -> Migrator {
    let migrations = FILES.iter().map(|(version, name, sql)| {
        let other = ON_POSTGRES.iter().find(|(other, _sql)| is_postgres && other == version);
        let sql = match other {
            Some((_version, sql)) => sql.into_sql_str(),
            None if is_postgres && UNLOGGED.contains(version) => {
                AssertSqlSafe(sql.replace("CREATE TABLE ", "CREATE UNLOGGED TABLE ")).into_sql_str()
            }
            None => sql.into_sql_str(),
        };
        Migration::new(*version, Cow::Borrowed(*name), MigrationType::Simple, sql, false)
    });
    let mut migrator = Migrator::with_migrations(migrations.collect());
    // The database may contain migrations of a newer program.
    migrator.set_ignore_missing(true);
    migrator
}

/// Returns an error if a newer program has removed something from the tables that this program needs.
pub(crate) async fn check_is_supported(conn: &mut Conn) -> Result<()> {
    let Some(value) = instance::find(conn, OLDEST_PROGRAM).await? else { return Ok(()) };
    match value.parse() {
        Ok(needed) if newest_version() >= needed => Ok(()),
        Ok(needed) => Err(DbError::NewerTables { needed, known: newest_version() }),
        Err(_malformed) => Err(DbError::Corrupt { column: "value", value }),
    }
}

#[cfg(test)]
mod tests {
    use plinth_testkit::TestDatabase;

    use super::*;
    use crate::sql::params;
    use crate::{Db, DbOptions};

    /// The last migration that was written before the rule that migrations only expand.
    const NOT_CHECKED: i64 = 204;
    /// Migrations that only create triggers, which the check cannot parse. These triggers only insert rows into new tables.
    const TRIGGERS: &[i64] = &[351, 421];

    /// Returns why a statement breaks programs of the previous version; `None` if it only expands the tables.
    fn problem(statement: &str) -> Option<&'static str> {
        let words = statement.split_whitespace().collect::<Vec<_>>().join(" ").to_ascii_uppercase();
        let starts = |prefix: &str| words.starts_with(prefix);
        if starts("CREATE TABLE ") || starts("CREATE INDEX ") || starts("INSERT ") || starts("UPDATE ") {
            return None;
        }
        if !starts("ALTER TABLE ") || words.split(' ').nth(3) != Some("ADD") {
            return Some("it may remove or restrict something");
        }
        let is_optional = !words.contains(" NOT NULL") || words.contains(" DEFAULT ");
        if is_optional && !words.contains(" UNIQUE") { None } else { Some("the program before writes rows without it") }
    }

    fn statements(sql: &str) -> impl Iterator<Item = String> {
        let lines = sql.lines().map(|line| line.split("--").next().unwrap_or_default());
        let code = lines.collect::<Vec<_>>().join("\n");
        code.split(';').map(|one| one.trim().to_owned()).filter(|one| !one.is_empty()).collect::<Vec<_>>().into_iter()
    }

    #[test]
    fn migrations_only_expand() {
        for (version, name, sql) in
            FILES.iter().filter(|(version, ..)| *version > NOT_CHECKED && !TRIGGERS.contains(version))
        {
            for statement in statements(sql).filter(|_one| !sql.contains(OLDEST_PROGRAM)) {
                assert_eq!(problem(&statement), None, "{version} {name}: {statement}");
            }
        }
        for good in ["ALTER TABLE a ADD COLUMN b TEXT", "ALTER TABLE a ADD COLUMN b BIGINT NOT NULL\nDEFAULT 0"] {
            assert_eq!(problem(good), None, "{good}");
        }
        for bad in [
            "ALTER TABLE a ADD COLUMN b TEXT NOT NULL",
            "ALTER TABLE a RENAME COLUMN b TO c",
            "ALTER TABLE a DROP COLUMN b",
            "DROP TABLE a",
            "CREATE UNIQUE INDEX i ON a (b)",
        ] {
            assert!(problem(bad).is_some(), "{bad}");
        }
    }

    /// Records a migration of a newer program in the database; `oldest` is the version of the tables that it requires.
    async fn upgrade(db: &Db, oldest: Option<i64>) {
        let mut conn = db.connection_to_write().await.unwrap();
        let sql = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
                   SELECT version + 1, 'newer', success, checksum, 0 FROM _sqlx_migrations ORDER BY version DESC LIMIT 1";
        conn.execute(sql, params![]).await.unwrap();
        if let Some(oldest) = oldest {
            let sql = "INSERT INTO instance (key, value) VALUES ($1, $2)";
            conn.execute(sql, params![OLDEST_PROGRAM, oldest.to_string().as_str()]).await.unwrap();
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_program_opens_newer_tables_unless_they_need_a_newer_program() {
        for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
            let open = async || Db::open(database.address(), DbOptions::default()).await;
            let db = open().await.unwrap();
            upgrade(&db, None).await;
            assert_eq!(open().await.unwrap().table_version().await.unwrap(), Some(newest_version() + 1));
            upgrade(&db, Some(newest_version() + 1)).await;
            let error = open().await.unwrap_err();
            assert!(matches!(error, DbError::NewerTables { .. }), "{error}");
        }
    }
}
