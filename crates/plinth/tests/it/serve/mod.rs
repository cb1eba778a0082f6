//! Tests of `plinth serve` and `plinth admin`. They use the real program over HTTP, on SQLite with local files and on
//! PostgreSQL with S3.
#![expect(clippy::panic, clippy::expect_used, clippy::string_slice, reason = "tests")]

mod admin;
mod assets;
mod backstage;
mod backup;
mod browser;
mod configuration;
mod contents;
mod crash;
mod delivery;
mod dump;
mod endpoints;
mod envelope;
mod fleet;
mod headers;
mod hold;
mod ingest;
mod kept;
mod limits;
mod links;
mod lists;
mod load;
mod looks;
mod mailbox;
mod models;
mod money;
mod operation;
mod preview_beside_render;
mod preview_speed;
mod previews;
mod protections;
mod raw;
mod renders;
mod server;
mod sizes;
mod staged;
mod start;
mod storage;
mod streaming;
mod studio;
mod studio_admin;
mod studio_browser;
mod studio_composer;
mod studio_composing;
mod studio_dataset;
mod studio_environments;
mod studio_gestures;
mod studio_hostile;
mod studio_images;
mod studio_journey;
mod studio_library;
mod studio_looking;
mod studio_looks;
mod studio_money;
mod studio_pages;
mod studio_people;
mod studio_previews;
mod studio_result;
mod studio_scripts;
mod studio_sign_in;
mod studio_tabs;
mod studio_teams;
mod studio_uploads;
mod tenancy;
mod texts;
mod traces;
mod web;
mod webdriver;
mod windows;

/// Declares each test twice: once for SQLite with local files, and once for PostgreSQL with S3.
macro_rules! on_both {
    ($($name:ident)*) => {$(
        mod $name {
            use crate::serve::server::Served;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn with_sqlite() {
                super::$name(Served::with_sqlite()).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn with_postgres_and_s3() {
                super::$name(Served::with_postgres_and_s3().await).await;
            }
        }
    )*};
}
use on_both;
