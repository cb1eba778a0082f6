//! The state shared by all use cases: database, store, options and semaphores.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use plinth_db::Db;
use plinth_fence::FenceOptions;
use plinth_spec::limits;
use plinth_store::Store;
use tokio::sync::Notify;

use crate::clock::Clock;
use crate::fair_semaphore::FairSemaphore;
use crate::fetch::FetchOptions;
use crate::health::StoreHealth;
use crate::previews::PreviewDesk;
use crate::rate_limit::Windows;

/// Maximum number of concurrent password checks.
const MAX_CONCURRENT_PASSWORD_CHECKS: u64 = 2;
/// Memory limit, for the whole process, of request bodies that are read into memory. Small bodies do not count.
const BODY_MEMORY_BYTES: u64 = 256 << 20;
/// Share of [`BODY_MEMORY_BYTES`] that one account may use.
const BODY_MEMORY_BYTES_PER_ACCOUNT: u64 = BODY_MEMORY_BYTES / 4;

/// Configuration of a [`Service`].
#[derive(Clone, Debug)]
pub struct ServiceOptions {
    /// Prefix of new tokens.
    pub token_prefix: String,
    /// Prefix of older tokens, which are still accepted.
    pub legacy_token_prefix: String,
    /// Whether to accept ZIP archives with an OBJ model and convert them to GLB.
    pub zip_conversion: bool,
    /// Rate limit: requests per token and minute.
    pub requests_per_minute: u32,
    /// Rate limit: ingest requests per token and ten minutes.
    pub ingests_per_10_minutes: u32,
    /// Maximum number of free system previews per account in 24 hours.
    pub free_uploads_per_day: u32,
    /// Lease time in seconds. A worker loses a claim that it does not renew within this time.
    pub lease_secs: u32,
    /// Time in seconds after which a hold on deletions expires, if it is not renewed.
    pub hold_secs: u32,
    /// Maximum number of concurrent model checks, and of concurrent image checks. A check uses about as much memory as the
    /// file is large.
    pub checks_at_once: usize,
    /// Program that checks uploaded files in a separate process. `None` checks them in this process.
    pub checker: Option<Checker>,
    /// Folder for files while they are being uploaded.
    pub incoming: PathBuf,
    /// Options for downloading models from URLs.
    pub fetch: FetchOptions,
    /// Source of the current time.
    pub clock: Clock,
}

/// A program that checks uploaded files in a separate process.
#[derive(Clone, Debug)]
pub struct Checker {
    /// Path of the program. `check-file --memory-bytes BYTES --seconds SECONDS FILE [GLB]` must print a
    /// [`FileReport`](crate::check::FileReport) as JSON, or with `--image` an [`ImageReport`](crate::check::ImageReport).
    pub program: PathBuf,
    /// Memory limit of a check. A file that needs more is rejected.
    pub memory_bytes: u64,
    /// Time limit of a check, in whole seconds. A file that needs longer is rejected.
    pub time: Duration,
    /// Sandbox of the process, passed as `--fence` if set.
    pub fence: FenceOptions,
}

impl ServiceOptions {
    /// Default prefix of new tokens.
    pub const TOKEN_PREFIX: &str = "plinth";
    /// Default prefix of older tokens.
    pub const LEGACY_TOKEN_PREFIX: &str = "turntable";
    /// Default lease time in seconds.
    pub const LEASE_SECS: u32 = 60;
    /// Default time in seconds after which a hold expires.
    pub const HOLD_SECS: u32 = 600;
    /// Default maximum number of concurrent model checks, and of concurrent image checks.
    pub const CHECKS_AT_ONCE: u8 = 2;
}

impl Default for ServiceOptions {
    fn default() -> Self {
        Self {
            token_prefix: Self::TOKEN_PREFIX.to_owned(),
            legacy_token_prefix: Self::LEGACY_TOKEN_PREFIX.to_owned(),
            zip_conversion: true,
            requests_per_minute: limits::REQUESTS_PER_MINUTE,
            ingests_per_10_minutes: limits::INGESTS_PER_10_MINUTES,
            free_uploads_per_day: limits::FREE_UPLOADS_PER_DAY,
            lease_secs: Self::LEASE_SECS,
            hold_secs: Self::HOLD_SECS,
            checks_at_once: Self::CHECKS_AT_ONCE.into(),
            checker: None,
            incoming: std::env::temp_dir(),
            fetch: FetchOptions::default(),
            clock: Clock::Database,
        }
    }
}

/// The service: all use cases, on a database and a store. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Service {
    pub(crate) db: Db,
    /// The same database, with the connections that are reserved for workers.
    pub(crate) leases: Db,
    /// One permit for each account, for the transaction that holds the account's lock.
    pub(crate) writers: FairSemaphore,
    pub(crate) store: Store,
    pub(crate) options: Arc<ServiceOptions>,
    pub(crate) model_checks: FairSemaphore,
    pub(crate) image_checks: FairSemaphore,
    /// Permits for memory of request bodies, in bytes.
    pub(crate) body_memory: FairSemaphore,
    /// Permits for model files that accounts are sending.
    pub(crate) uploads: FairSemaphore,
    /// Permits for password checks, shared among the networks of clients.
    pub(crate) passwords: FairSemaphore<String>,
    pub(crate) placed: Arc<Notify>,
    pub(crate) previews: Arc<PreviewDesk>,
    pub(crate) windows: Windows,
    pub(crate) store_health: Arc<StoreHealth>,
}

impl Service {
    /// Creates a service on an open database and store.
    pub fn new(db: Db, store: Store, options: ServiceOptions) -> Self {
        let checks = options.checks_at_once.max(1) as u64;
        Self {
            model_checks: FairSemaphore::new(checks, checks),
            image_checks: FairSemaphore::new(checks, checks),
            body_memory: FairSemaphore::new(BODY_MEMORY_BYTES, BODY_MEMORY_BYTES_PER_ACCOUNT),
            uploads: FairSemaphore::new(u64::MAX, limits::UPLOADS_AT_ONCE),
            passwords: FairSemaphore::new(MAX_CONCURRENT_PASSWORD_CHECKS, 1),
            placed: Arc::new(Notify::new()),
            previews: PreviewDesk::new(),
            windows: Windows::of(&db),
            options: Arc::new(options),
            leases: db.for_leases(),
            writers: FairSemaphore::new(u64::MAX, 1),
            db,
            store,
            store_health: Arc::default(),
        }
    }

    /// Returns the database, for administrative commands.
    pub const fn db(&self) -> &Db {
        &self.db
    }

    /// Waits until this process has queued work since the last call, or has heard in
    /// [`listen_for_work`](Self::listen_for_work) that another one did, so that a worker in it need not poll.
    pub async fn render_placed(&self) {
        self.placed.notified().await;
    }

    /// Returns the store, for workers.
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the configuration.
    pub fn options(&self) -> &ServiceOptions {
        &self.options
    }
}
