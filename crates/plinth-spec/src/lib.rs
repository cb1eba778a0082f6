//! The service contract as data and pure functions: settings, prices, states, limits, error codes, wire types.
//!
//! No I/O, no clock, no randomness. Every default, limit, price and range of the product is declared here, and only here.

#![warn(missing_docs)]

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
pub mod pricing;
pub mod quality;
pub mod role;
pub mod settings;
pub mod state;
pub mod wire;

pub use error_code::ErrorCode;
pub use failure_code::FailureCode;
pub use output_file::{OutputFile, OutputPaths};
pub use quality::{Aspect, DatasetQuality, Quality};
pub use settings::{RenderSettings, SettingsError};
