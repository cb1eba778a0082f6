//! The business rules and their database transactions. Each use case has a file of its own.
//!
//! Each use case is a method of [`Service`] and takes the authenticated [`Caller`](access::Caller). Rows that
//! belong together are written in one transaction. Network requests, access to files in the object store and hashing
//! happen outside of transactions. A transaction that changes a balance locks the paying account first.

pub mod access;
pub mod admin;
pub mod assets;
pub mod billing;
pub mod check;
pub mod delivery;
pub mod jobs;
pub mod looks;
pub mod models;
pub mod previews;
pub mod renders;
pub mod storage;

mod body_memory;
mod cleanup;
mod clock;
mod drain_limit;
mod error;
mod event_streams;
mod fair_semaphore;
mod fetch;
mod field_text;
mod hash;
mod health;
mod held_body;
mod ids;
mod mail;
mod mail_queue;
mod maintenance;
mod memory;
mod open_requests;
mod part_heads;
mod rate_limit;
mod remote_previews;
mod service;
mod system;
mod write;

pub use body_memory::{BodyMemory, parse_json};
pub use cleanup::CleanupReport;
pub use clock::Clock;
pub use drain_limit::DrainLimit;
pub use error::{Result, ServiceError};
pub use event_streams::EventStreamPermit;
pub use fetch::{FetchOptions, HostRule, Names};
pub use field_text::FieldText;
pub use hash::file_sha256;
pub use held_body::HeldBody;
pub use mail::MailOptions;
pub use memory::is_out_of_memory;
pub use open_requests::OpenRequest;
pub use part_heads::PartHeads;
pub use rate_limit::{Allowance, Meter};
pub use service::{Checker, Service, ServiceOptions};
pub use system::{ending_signal, free_bytes, plinth_command};
