//! What all use cases share.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use plinth_db::Db;
use plinth_fence::FenceOptions;
use plinth_spec::limits;
use plinth_store::Store;
use tokio::sync::{Notify, Semaphore};

use crate::clock::Clock;
use crate::fair_semaphore::FairSemaphore;
use crate::fetch::FetchOptions;
use crate::health::StoreHealth;
use crate::rate_limit::Windows;

/// Passwords that are checked at a time.
const PASSWORDS_AT_ONCE: usize = 2;
/// Memory of the whole process that request bodies may take which are read into memory as a whole, small ones aside.
const BODY_MEMORY_BYTES: u64 = 256 << 20;
/// The part of it that one account may take.
const BODY_MEMORY_BYTES_PER_ACCOUNT: u64 = BODY_MEMORY_BYTES / 4;

/// How an installation is set.
#[derive(Clone, Debug)]
pub struct ServiceOptions {
    /// Prefix of the tokens that are made.
    pub token_prefix: String,
    /// Prefix of older tokens, which stay good.
    pub legacy_token_prefix: String,
    /// Whether a ZIP with an OBJ is converted.
    pub zip_conversion: bool,
    /// Requests per token and minute.
    pub requests_per_minute: u32,
    /// Ingest requests per token and ten minutes.
    pub ingests_per_10_minutes: u32,
    /// Free system previews per account in 24 hours.
    pub free_uploads_per_day: u32,
    /// A claim that is not renewed for this long is lost, in seconds.
    pub lease_secs: u32,
    /// A hold on the store that is not renewed for this long expires, in seconds.
    pub hold_secs: u32,
    /// Models that are checked at a time, and as many images; each may take as much memory as it is large.
    pub checks_at_once: usize,
    /// Who checks models in a process of its own. None: this process checks them.
    pub checker: Option<Checker>,
    /// Where files lie while they arrive.
    pub incoming: PathBuf,
    /// How URLs are fetched.
    pub fetch: FetchOptions,
    /// Where the time comes from.
    pub clock: Clock,
}

/// A program that checks models.
#[derive(Clone, Debug)]
pub struct Checker {
    /// Its `check-file --memory-bytes BYTES --seconds SECONDS FILE [GLB]` prints a
    /// [`FileReport`](crate::check::FileReport) as JSON; with `--image`, an [`ImageReport`](crate::check::ImageReport).
    pub program: PathBuf,
    /// Memory that a check may take. A file that needs more is refused.
    pub memory_bytes: u64,
    /// How long a check may take, in whole seconds. A file that needs longer is refused.
    pub time: Duration,
    /// How it is fenced: as `--fence`, where it is.
    pub fence: FenceOptions,
}

impl ServiceOptions {
    /// Prefix of new tokens when nothing is set.
    pub const TOKEN_PREFIX: &str = "plinth";
    /// Prefix of older tokens when nothing is set.
    pub const LEGACY_TOKEN_PREFIX: &str = "turntable";
    /// Seconds without renewal until a claim is lost, when nothing is set.
    pub const LEASE_SECS: u32 = 60;
    /// Seconds without renewal until a hold expires, when nothing is set.
    pub const HOLD_SECS: u32 = 600;
    /// Checks of models at a time, and of images, when nothing is set.
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

/// The house: a database, a store, and the rules. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Service {
    pub(crate) db: Db,
    pub(crate) store: Store,
    pub(crate) options: Arc<ServiceOptions>,
    pub(crate) model_checks: FairSemaphore,
    pub(crate) image_checks: FairSemaphore,
    /// In bytes.
    pub(crate) body_memory: FairSemaphore,
    pub(crate) passwords: Arc<Semaphore>,
    pub(crate) placed: Arc<Notify>,
    pub(crate) windows: Windows,
    pub(crate) store_health: Arc<StoreHealth>,
}

impl Service {
    /// A service on an open database and store.
    pub fn new(db: Db, store: Store, options: ServiceOptions) -> Self {
        let checks = options.checks_at_once.max(1) as u64;
        Self {
            model_checks: FairSemaphore::new(checks, checks),
            image_checks: FairSemaphore::new(checks, checks),
            body_memory: FairSemaphore::new(BODY_MEMORY_BYTES, BODY_MEMORY_BYTES_PER_ACCOUNT),
            passwords: Arc::new(Semaphore::new(PASSWORDS_AT_ONCE)),
            placed: Arc::new(Notify::new()),
            windows: Windows::of(&db),
            options: Arc::new(options),
            db,
            store,
            store_health: Arc::default(),
        }
    }

    /// Its database, for the commands of an operator.
    pub const fn db(&self) -> &Db {
        &self.db
    }

    /// Waits until this process has placed a render since the last call: a worker in it need not look for that.
    pub async fn render_placed(&self) {
        self.placed.notified().await;
    }

    /// Its store, for workers.
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// How it is set.
    pub fn options(&self) -> &ServiceOptions {
        &self.options
    }
}
