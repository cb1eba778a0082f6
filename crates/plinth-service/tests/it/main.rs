//! Tests of the use cases, on SQLite and PostgreSQL.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod access;
mod admin;
mod assets;
mod credits;
mod delivery;
mod ended_sessions;
mod fair_turns;
mod fetch;
mod jobs;
mod limits;
mod looks;
mod maintenance;
mod model_storage;
mod models;
mod money;
mod notifications;
mod previews;
mod queue;
mod refunds;
mod renders;
mod rights;
mod shared_frames;
mod sign_in;
mod storage;
mod store_identity;
mod teams;
mod test_service;
mod uploads;
mod writers;
