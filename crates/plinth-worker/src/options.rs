//! Configuration of a worker.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use plinth_fence::FenceOptions;
use plinth_pipeline::EncoderChoice;
use plinth_spec::Takes;

/// Configuration of a worker.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    /// Name of the worker in logs and tables.
    pub name: String,
    /// Pool that the worker belongs to; empty if it belongs to none.
    pub pool: String,
    /// Classes of work that the worker takes.
    pub takes: Takes,
    /// The worker stops when it has had no job for this long; `None` keeps it running.
    pub exit_when_idle: Option<Duration>,
    /// Number of concurrent jobs. `None` selects one on a software driver, which uses all cores, and two on a graphics card.
    pub slots: Option<NonZeroUsize>,
    /// Folder for cached models and for the folders of jobs. Workers of one machine may share it.
    pub scratch: PathBuf,
    /// The plinth program; jobs run as `plinth render-child`.
    pub program: PathBuf,
    /// Environment variables of jobs; see [`crate::child_environment`].
    pub environment: Vec<(OsString, OsString)>,
    /// Part of the graphics adapter's name, or `cpu`. `None` selects the fastest adapter.
    pub adapter: Option<String>,
    /// Path or name of ffmpeg.
    pub ffmpeg: PathBuf,
    /// Requested H.264 encoder. The worker probes the hardware once at its start.
    pub encoder: EncoderChoice,
    /// Sandbox of jobs.
    pub fence: FenceOptions,
    /// Time limit of a job.
    pub timeout: Duration,
    /// Time limit of a free preview.
    pub preview_timeout: Duration,
    /// Memory limit of a job, in bytes.
    pub memory_bytes: u64,
    /// Size limit of the cache of models and their baked light, in bytes.
    pub cache_bytes: u64,
    /// How long a job waits for a store or a database that does not respond; its lease may end sooner.
    pub outage: Duration,
    /// Interval at which the worker polls the queue, in case it was not notified of work that another process queued.
    pub poll: Duration,
    /// Time that running jobs get to finish after a stop is requested. Unfinished renders then return to the queue.
    pub grace: Duration,
}

impl WorkerOptions {
    /// Default of [`outage`](Self::outage).
    pub const OUTAGE: Duration = Duration::from_mins(10);
}
