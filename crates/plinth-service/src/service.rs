//! The state shared by all use cases: database, store, options and semaphores.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use plinth_db::Db;
use plinth_fence::FenceOptions;
use plinth_spec::limits;
use plinth_store::Store;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::billing::{StripeClient, StripeOptions};
use crate::clock::Clock;
use crate::delivery::archive::ArchiveCache;
use crate::fair_semaphore::FairSemaphore;
use crate::fetch::FetchOptions;
use crate::health::HealthChecks;
use crate::mail::MailOptions;
use crate::open_requests::OpenRequests;
use crate::previews::PreviewDesk;
use crate::rate_limit::Windows;
use crate::remote_previews::Arrivals;

/// Maximum number of concurrent password checks.
const MAX_CONCURRENT_PASSWORD_CHECKS: u64 = 2;
/// Limit of the memory that bodies of requests and responses may use in the whole process. Small bodies do not count.
const BODY_MEMORY_BYTES: u64 = 256 << 20;
/// Maximum number of streams of events in the whole process.
const MAX_EVENT_STREAMS: u64 = 2000;
/// Part of [`BODY_MEMORY_BYTES`] that one account may use.
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
    /// Maximum total size of the stored models of all workspaces of one account, in bytes.
    pub account_storage_bytes: u64,
    /// Lease time in seconds. If a worker does not renew its claim within this time, the claim is lost.
    pub lease_secs: u32,
    /// Time in seconds after which a deletion hold expires if it is not renewed.
    pub hold_secs: u32,
    /// Maximum number of concurrent model checks, and also of concurrent image checks. A check uses about as much
    /// memory as the size of its file.
    pub checks_at_once: usize,
    /// Program that checks uploaded files in a separate process. If it is `None`, files are checked in this process.
    pub checker: Option<Checker>,
    /// Folder for files while they are being uploaded.
    pub incoming: PathBuf,
    /// Maximum total size of the files in the folder `incoming`, in bytes. One account can use at most half of this size.
    pub incoming_bytes: u64,
    /// Space on the disks of the folder `incoming` and of a local store that uploads leave free for other files, in bytes. With less
    /// free space, no files are received.
    pub reserve_bytes: u64,
    /// Options for downloading models from URLs.
    pub fetch: FetchOptions,
    /// Sale of credits; `None` if no credits are sold.
    pub stripe: Option<StripeOptions>,
    /// Mail server; `None` if mails are written to the log.
    pub mail: Option<MailOptions>,
    /// Balance below which the web UI suggests to buy credits.
    pub low_balance: u64,
    /// Source of the current time.
    pub clock: Clock,
}

/// A program that checks uploaded files in a separate process.
#[derive(Clone, Debug)]
pub struct Checker {
    /// Path of the program. Its arguments are `check-file --memory-bytes BYTES --seconds SECONDS FILE [TO …]`. It must
    /// print a [`FileReport`](crate::check::FileReport) as JSON, an [`ImageReport`](crate::check::ImageReport) with
    /// `--image`, or a [`PanoramaReport`](crate::check::PanoramaReport) with `--panorama`.
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
    /// Default of [`checks_at_once`](Self::checks_at_once).
    pub const CHECKS_AT_ONCE: u8 = 2;
    /// Value of [`reserve_bytes`](Self::reserve_bytes) for servers without a configured value: 2 GiB, enough for the files of several
    /// renders. Workers need only 100 MB of free space, so they continue while uploads are rejected.
    pub const RESERVE_BYTES: u64 = 2 << 30;
    /// Default of [`incoming_bytes`](Self::incoming_bytes): 64 GiB.
    pub const INCOMING_BYTES: u64 = 64 << 30;
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
            account_storage_bytes: limits::ACCOUNT_STORAGE_BYTES,
            lease_secs: Self::LEASE_SECS,
            hold_secs: Self::HOLD_SECS,
            checks_at_once: Self::CHECKS_AT_ONCE.into(),
            checker: None,
            incoming: std::env::temp_dir(),
            incoming_bytes: Self::INCOMING_BYTES,
            reserve_bytes: 0,
            fetch: FetchOptions::default(),
            stripe: None,
            mail: None,
            low_balance: limits::LOW_BALANCE,
            clock: Clock::Database,
        }
    }
}

/// The service: all use cases, on a database and a store. All clones share the same state.
#[derive(Clone, Debug)]
pub struct Service {
    pub(crate) db: Db,
    /// The same database as `db`, but with the connections that are reserved for workers.
    pub(crate) leases: Db,
    /// One permit per account. The request that has the permit may run a transaction that locks the account's row.
    pub(crate) writers: FairSemaphore,
    pub(crate) store: Store,
    pub(crate) options: Arc<ServiceOptions>,
    pub(crate) model_checks: FairSemaphore,
    pub(crate) image_checks: FairSemaphore,
    /// Cancelled when checks must end because the server is being stopped.
    pub(crate) stop_checks: CancellationToken,
    /// Memory of the bodies of requests and responses, in bytes.
    pub(crate) body_memory: FairSemaphore,
    /// Limits how many uploads an account sends at the same time.
    pub(crate) uploads: FairSemaphore,
    /// Limits the total size of the files that are being received.
    pub(crate) incoming_bytes: FairSemaphore,
    /// Number of bytes that are being copied to a local store.
    pub(crate) copying: Arc<AtomicU64>,
    /// Permits for password checks, shared fairly among the networks of clients.
    pub(crate) passwords: FairSemaphore<String>,
    /// One permit for each stream of events.
    pub(crate) event_streams: FairSemaphore,
    pub(crate) open_requests: OpenRequests,
    pub(crate) queued: Arc<Notify>,
    /// Notified when this process has stored a mail.
    pub(crate) mail_stored: Arc<Notify>,
    pub(crate) previews: Arc<PreviewDesk>,
    pub(crate) arrivals: Arc<Arrivals>,
    pub(crate) windows: Windows,
    pub(crate) health_checks: Arc<HealthChecks>,
    pub(crate) archives: Arc<ArchiveCache>,
    /// Client of the payment provider.
    pub(crate) stripe: StripeClient,
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
            incoming_bytes: FairSemaphore::new(options.incoming_bytes, options.incoming_bytes / 2),
            copying: Arc::default(),
            passwords: FairSemaphore::new(MAX_CONCURRENT_PASSWORD_CHECKS, 1),
            event_streams: FairSemaphore::new(MAX_EVENT_STREAMS, limits::EVENT_STREAMS_AT_ONCE),
            open_requests: OpenRequests::default(),
            stop_checks: CancellationToken::new(),
            queued: Arc::new(Notify::new()),
            mail_stored: Arc::new(Notify::new()),
            previews: PreviewDesk::new(),
            arrivals: Arc::new(Arrivals::new()),
            windows: Windows::of(&db, &options.clock),
            options: Arc::new(options),
            leases: db.for_leases(),
            writers: FairSemaphore::new(u64::MAX, 1),
            db,
            store,
            health_checks: Arc::default(),
            archives: Arc::default(),
            stripe: StripeClient::default(),
        }
    }

    /// Returns the database. Administrative commands use it directly.
    pub const fn db(&self) -> &Db {
        &self.db
    }

    /// Waits until this process has queued work, or has learned that another process has queued work. Returns at once if this
    /// has happened since the last call. The worker of this process waits here, so that it starts jobs without a delay.
    pub async fn render_queued(&self) {
        self.queued.notified().await;
    }

    /// Returns the store. Workers use it directly.
    pub const fn store(&self) -> &Store {
        &self.store
    }

    pub fn options(&self) -> &ServiceOptions {
        &self.options
    }
}
