//! Configuration of a worker.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use plinth_fence::FenceOptions;
use plinth_pipeline::EncoderChoice;
use plinth_spec::{Takes, limits};

/// Configuration of a worker.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    /// Name of the worker in logs and in the database.
    pub name: String,
    /// Name of the worker pool to which the worker belongs; empty if it belongs to no pool.
    pub pool: String,
    /// Classes of renders that the worker claims.
    pub takes: Takes,
    /// Time without a job after which the worker stops. With `None`, an idle worker keeps running.
    pub exit_when_idle: Option<Duration>,
    /// Time without a request after which a preview process is ended.
    pub preview_idle: Duration,
    /// Maximum number of concurrent renders, and also of concurrent packagings. With `None`, it is 1 on a software driver,
    /// which uses all cores for one job, and 2 on a graphics card.
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
    /// Limit of the disk space of a job, in bytes.
    pub disk_bytes: u64,
    /// Size limit of the cache of models with their light and reduced textures, in bytes.
    pub cache_bytes: u64,
    /// Minimum free space in `scratch`, in bytes. With less, the worker evicts cached models; if that is not enough, it claims
    /// nothing and ends the job that uses the most disk space. A job that fails meanwhile is not reported as failed: its lease
    /// expires, and another worker can run it.
    pub room_bytes: u64,
    /// Maximum time that a job waits for a store or a database that does not respond. After this time, the job fails, or returns to
    /// the queue if the store still does not respond. The lease of the job may expire earlier if the database does not respond.
    pub outage: Duration,
    /// Interval at which the worker polls the queue, in case it was not notified of work that another process queued.
    pub poll: Duration,
    /// Time that running jobs have to finish after a stop was requested. After this time, unfinished renders return to
    /// the queue.
    pub grace: Duration,
}

impl WorkerOptions {
    /// Default of [`timeout`](Self::timeout), in seconds.
    pub const TIMEOUT_SECS: u64 = 3600;
    /// Default of [`memory_bytes`](Self::memory_bytes), in MiB.
    pub const MEMORY_MB: u64 = 8192;
    /// Default of [`disk_bytes`](Self::disk_bytes), in MiB.
    pub const DISK_MB: u64 = 65_536;
    /// Default of [`cache_bytes`](Self::cache_bytes), in MiB.
    pub const CACHE_MB: u64 = 10_240;
    /// Default of [`preview_idle`](Self::preview_idle), in seconds.
    pub const PREVIEW_IDLE_SECS: u64 = 60;
    /// Default of [`outage`](Self::outage), in seconds.
    pub const OUTAGE_SECS: u64 = 600;
    /// Maximum of [`outage`](Self::outage), in seconds. The files of an attempt are deleted an hour after its lease was lost.
    /// Files that the worker uploaded after this hour would never be deleted.
    pub const MAX_OUTAGE_SECS: u64 = 1800;
    /// Default of [`grace`](Self::grace), in seconds.
    pub const GRACE_SECS: u64 = 30;

    /// Returns the default options of a worker that runs jobs with this program in this folder.
    pub fn new(program: PathBuf, scratch: PathBuf) -> Self {
        Self {
            name: "worker".to_owned(),
            pool: String::new(),
            takes: Takes::default(),
            exit_when_idle: None,
            slots: None,
            scratch,
            program,
            environment: Vec::new(),
            adapter: None,
            ffmpeg: PathBuf::from("ffmpeg"),
            encoder: EncoderChoice::default(),
            fence: FenceOptions::default(),
            timeout: Duration::from_secs(Self::TIMEOUT_SECS),
            preview_timeout: Duration::from_secs(limits::PREVIEW_SECS),
            memory_bytes: Self::MEMORY_MB << 20,
            disk_bytes: Self::DISK_MB << 20,
            cache_bytes: Self::CACHE_MB << 20,
            preview_idle: Duration::from_secs(Self::PREVIEW_IDLE_SECS),
            room_bytes: 100 << 20,
            outage: Duration::from_secs(Self::OUTAGE_SECS),
            poll: Duration::from_millis(500),
            grace: Duration::from_secs(Self::GRACE_SECS),
        }
    }
}
