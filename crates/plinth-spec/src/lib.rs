//! The service contract as data and pure functions: settings, prices, limits, failure codes.
//!
//! No input or output, no clock, no randomness. Every default, limit, price and range of the product stands here once.

pub mod failure_code;
pub mod limits;
pub mod pricing;
pub mod quality;
pub mod settings;

pub use failure_code::FailureCode;
pub use quality::{Aspect, DatasetQuality, Quality};
pub use settings::{RenderSettings, SettingsError};
