//! `plinth serve` and `plinth admin`, the real program over HTTP: on SQLite with files, and on PostgreSQL with S3.
#![expect(clippy::panic, clippy::expect_used, clippy::string_slice, reason = "tests")]

mod admin;
mod browser;
mod client;
mod configuration;
mod crash;
mod files;
mod form;
mod ingest;
mod limits;
mod load;
mod money;
mod operation;
mod server;
mod start;
mod studio;
mod tenancy;

/// Declares each test twice: on SQLite with files, and on PostgreSQL with S3.
macro_rules! on_both {
    ($($name:ident)*) => {$(
        mod $name {
            use crate::serve::server::Served;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn alone() {
                super::$name(Served::alone()).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn shared() {
                super::$name(Served::shared().await).await;
            }
        }
    )*};
}
use on_both;
