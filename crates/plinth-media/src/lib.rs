//! Encodes frames as files (MP4, MOV, PNG and datasets), and packages finished videos as HLS.
//!
//! [`MediaOutputs`] starts the encoders of all output files of a video. [`MediaWriter`] then receives the frames in order,
//! and writes the files. Each video file has its own ffmpeg process with a bounded queue. Therefore memory does not grow with the length of a video, and encoding runs in
//! parallel to rendering. [`DatasetWriter`] receives the views of a dataset in the same way. Output files get their
//! final names after all of them are complete.
//!
//! [`choose_encoder`] tests which H.264 encoder works on this machine. This takes seconds, so a process should call it
//! only once.
//!
//! [`hls::package`] packages a finished video as HLS. [`Watermark`] draws the watermark of free previews.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "pixel values are clamped to their range before they are narrowed; sizes are video sizes"
)]

mod canvas;
mod container;
mod convert;
mod dataset;
mod error;
mod ffmpeg;
mod full_disk;
pub mod hls;
mod outputs;
mod partial;
mod png;
mod properties;
mod resize;
mod system;
mod trial;
mod watermark;
mod writer;
mod yuv420;

pub use dataset::{DatasetAbout, DatasetCameras, DatasetPlan, DatasetWriter, check_dataset_target};
pub use error::MediaError;
pub use ffmpeg::{Capabilities, EncoderChoice, H264Encoder, UnknownEncoder, probe};
pub use full_disk::{is_full_disk, lacks_room};
pub use outputs::{MediaOutputs, MediaPlan};
pub use partial::{remove_unfinished, write_together};
pub use trial::{EncoderFound, EncoderTrial, Outcome, choose_encoder, decide_encoder, try_encoders};
pub use watermark::Watermark;
pub use writer::{FramePlan, MediaReport, MediaWriter, WrittenFile};
