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
    /// Name of the worker in logs and in the database.
    pub name: String,
    /// Pool that the worker belongs to; empty if it belongs to none.
    pub pool: String,
    /// Classes of renders that the worker claims.
    pub takes: Takes,
    /// Time without a job after which the worker stops. With `None`, an idle worker keeps running.
    pub exit_when_idle: Option<Duration>,
    /// Number of concurrent renders. As many packagings run beside them. With `None`, one on a software driver, which uses all cores for one job, and two on a
    /// graphics card.
    pub slots: Option<NonZeroUsize>,
    /// Folder for cached models and for the folders of jobs. The workers of one machine may share this folder.
    pub scratch: PathBuf,
    /// Path of the plinth program. Jobs run as `plinth render-child`.
    pub program: PathBuf,
    /// Environment variables of jobs; see [`crate::child_environment`].
    pub environment: Vec<(OsString, OsString)>,
    /// Part of the name of a graphics adapter, or `cpu`. With `None`, the fastest adapter is used.
    pub adapter: Option<String>,
    /// Path or name of ffmpeg.
    pub ffmpeg: PathBuf,
    /// Requested H.264 encoder. The worker probes hardware encoders once at its start.
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
    /// Free space in `scratch`, in bytes, below which the worker claims nothing. A job that fails while there is less is
    /// not reported: its lease expires, so that another worker runs it.
    pub room_bytes: u64,
    /// Maximum time that a job waits for a store or a database that does not respond. Then the job fails. The lease of the job
    /// may expire earlier if the database does not respond.
    pub outage: Duration,
    /// Interval at which the worker polls the queue, in case it was not notified of work that another process queued.
    pub poll: Duration,
    /// Time that running jobs have to finish after a stop was requested. After this time, unfinished renders return to
    /// the queue.
    pub grace: Duration,
}

impl WorkerOptions {
    /// Default of [`room_bytes`](Self::room_bytes).
    pub const ROOM_BYTES: u64 = 100 << 20;
}
