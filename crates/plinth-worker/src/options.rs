//! How a worker is set.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use plinth_fence::FenceOptions;
use plinth_pipeline::EncoderChoice;

/// How a worker is set.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    /// Its name, for people.
    pub name: String,
    /// Renders at a time; `None`: one on a software driver, which uses every core, and two on a graphics card.
    pub slots: Option<NonZeroUsize>,
    /// Where it keeps models and the folders of its jobs. Several workers of a machine may share it.
    pub scratch: PathBuf,
    /// The plinth program, whose `render-child` does the jobs.
    pub program: PathBuf,
    /// Environment variables of the jobs; see [`crate::child_environment`].
    pub environment: Vec<(OsString, OsString)>,
    /// Part of an adapter's name, or `cpu`; `None`: the best there is.
    pub adapter: Option<String>,
    /// The ffmpeg to call.
    pub ffmpeg: PathBuf,
    /// The H.264 encoder that is asked for; which one that is here is found out once, when the worker begins.
    pub encoder: EncoderChoice,
    /// How jobs are fenced.
    pub fence: FenceOptions,
    /// A job that takes longer is ended.
    pub timeout: Duration,
    /// A free preview that takes longer is ended.
    pub preview_timeout: Duration,
    /// A job that takes more memory is ended, in bytes.
    pub memory_bytes: u64,
    /// Models that are kept for further renders, with the light worked out for them, in bytes.
    pub cache_bytes: u64,
    /// How long a job waits for a store or a database that does not respond; its lease may end sooner.
    pub outage: Duration,
    /// Time between two looks for waiting renders.
    pub poll: Duration,
    /// How long jobs may go on once the worker shall stop; what is not done then is given back.
    pub grace: Duration,
}

impl WorkerOptions {
    /// Default of [`outage`](Self::outage).
    pub const OUTAGE: Duration = Duration::from_mins(10);
}
