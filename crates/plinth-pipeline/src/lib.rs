//! Runs render jobs: a model, settings and images become output files and a manifest.

#![expect(clippy::cast_possible_truncation, reason = "frame counts come from lengths of minutes")]

pub mod child;

mod cameras;
mod dataset;
mod encode_environment;
mod encode_panorama;
mod environment;
mod failure;
mod frame_hash;
mod job;
mod load;
mod manifest;
mod opaque_backdrop;
mod preview;
mod progress;
mod sink;
mod warm;

pub use cameras::{CamerasError, read_cameras};
pub use dataset::dataset_cameras;
pub use encode_environment::{EncodeError, EncodedEnvironment, EncodedFile, encode_environment};
pub use encode_panorama::{EncodedPanorama, encode_panorama};
pub use environment::{EnvironmentError, EnvironmentFiles};
pub use failure::{JobError, failure_code, failure_message};
pub use job::{DatasetOptions, Job, may_use_hardware, run, run_warm};
pub use manifest::{Manifest, ManifestFile, Timings};
pub use plinth_media::{EncoderChoice, H264Encoder, lacks_room};
pub use progress::{Progress, Stage};
pub use warm::{WarmModel, texture_side};
