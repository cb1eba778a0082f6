//! Tests of every table, on SQLite and PostgreSQL.

#![expect(clippy::unwrap_used, reason = "tests")]

mod accounts;
mod administration;
mod assets;
mod clock_step;
mod leases;
mod lists;
mod looks;
mod mails;
mod make;
mod model_files;
mod pools;
mod previews;
mod render_counts;
mod staged;
mod storage;
mod traffic;
mod tx;
