//! The schema migrations. A released migration file never changes.

use std::borrow::Cow;

use sqlx::migrate::{Migration, MigrationType, Migrator};

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
];

/// Returns the version of the newest migration that this program contains.
pub fn newest_version() -> i64 {
    FILES.last().map_or(0, |(version, _name, _sql)| *version)
}

/// Returns all migrations in the order of their versions.
pub(crate) fn migrator() -> Migrator {
    let migrations = FILES.iter().map(|(version, name, sql)| {
        Migration::new(
            *version,
            Cow::Borrowed(*name),
            MigrationType::Simple,
            sqlx::SqlSafeStr::into_sql_str(*sql),
            false,
        )
    });
    Migrator::with_migrations(migrations.collect())
}
