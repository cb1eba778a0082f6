//! The service contract as data and pure functions: settings, prices, states, limits, error codes, wire types.
//!
//! This crate does no I/O, and uses no clock and no random numbers. It is the only place that declares the defaults,
//! limits, prices and ranges of the service.

#![warn(missing_docs)]

pub mod admin_action;
pub mod dataset_layer;
pub mod env_part;
pub mod error_code;
pub mod failure_code;
pub mod fair_share;
pub mod funding;
pub mod id;
pub mod idempotency;
pub mod limits;
pub mod named;
pub mod output_file;
pub mod page;
pub mod preview;
pub mod pricing;
pub mod purchase;
pub mod quality;
pub mod role;
pub mod settings;
pub mod state;
pub mod wire;
pub mod work_class;
pub mod worker_state;

pub use admin_action::AdminAction;
pub use dataset_layer::{DatasetLayer, ViewedLayer};
pub use env_part::EnvPart;
pub use error_code::ErrorCode;
pub use failure_code::FailureCode;
pub use output_file::{OutputFile, OutputPaths};
pub use purchase::PurchaseStatus;
pub use quality::{Aspect, DatasetQuality, Quality};
pub use settings::{RenderSettings, SettingsError};
pub use work_class::{Takes, WorkClass};
pub use worker_state::WorkerState;
