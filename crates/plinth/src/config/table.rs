//! The configuration table. Flags, environment variables, keys of `plinth.toml`, help and documentation are generated
//! from it.

use clap::{Arg, ArgAction};
use plinth_service::ServiceOptions;
use plinth_service::billing::StripeOptions;
use plinth_spec::limits;
use plinth_worker::WorkerOptions;

/// A group of values. A command has the flags of the groups that it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// Location of database and files.
    Data,
    /// Format of API keys.
    Keys,
    /// Addresses of the server.
    Address,
    /// HTTP server.
    Http,
    /// Limits and rules of the service.
    Rules,
    /// Sale of credits, and mail.
    Accounts,
    /// Renders on this machine.
    Worker,
    /// `plinth worker` as a separate process.
    WorkerProcess,
    /// Adapter, ffmpeg and encoder.
    Machine,
    /// Sandbox of jobs.
    Fence,
    /// Cache of `plinth render`.
    Cache,
    /// Logs and metrics.
    Operation,
}

/// Default of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Default {
    Text(&'static str),
    Number(u64),
    /// A default and a maximum.
    NumberUpTo(u64, u64),
    /// There is no fixed default. The text describes the value that is used instead.
    Otherwise(&'static str),
}

impl Default {
    fn text(self) -> String {
        match self {
            Self::Text(text) => format!("`{text}`"),
            Self::Number(number) => format!("`{number}`"),
            Self::NumberUpTo(number, max) => format!("`{number}`, at most {max}"),
            Self::Otherwise(text) => text.to_owned(),
        }
    }
}

/// A configuration value.
#[derive(Debug)]
pub(crate) struct Row {
    /// Key in `plinth.toml`. The name of the environment variable is derived from it.
    pub(crate) key: &'static str,
    /// Placeholder for the value in help texts.
    pub(crate) takes: &'static str,
    pub(crate) default: Default,
    pub(crate) description: &'static str,
    pub(crate) group: Group,
    /// Whether the value can contain a password. If so, the variable `PLINTH_…_FILE` may name a file that contains the
    /// value.
    pub(crate) is_secret: bool,
}

impl Row {
    /// Returns the flag without its two dashes, for example `database-url` for `database_url`.
    pub(crate) fn flag(&self) -> String {
        if self.key == DATA_DIR.key { "data".to_owned() } else { self.key.replace('_', "-") }
    }

    /// Returns the name of the environment variable, for example `PLINTH_DATABASE_URL` for `database_url`.
    pub(crate) fn variable(&self) -> String {
        format!("PLINTH_{}", self.key.to_ascii_uppercase())
    }

    /// Returns the name of the environment variable that names a file with a secret.
    pub(crate) fn file_variable(&self) -> String {
        format!("{}_FILE", self.variable())
    }
}

macro_rules! is_secret {
    () => {
        false
    };
    (secret) => {
        true
    };
}

/// Declares the rows and `TABLE`, the list of all rows. The comment of a row is its description. The word `secret` after the group
/// marks a value that can contain a password.
macro_rules! rows {
    ($($(#[doc = $line:literal])+ $name:ident: $group:ident $($secret:ident)?, $key:literal, $takes:literal, $default:expr;)*) => {
        $($(#[doc = $line])+
        pub(crate) const $name: Row = Row {
            key: $key,
            takes: $takes,
            default: $default,
            // Each line of a comment begins with a space.
            description: concat!($($line),+).trim_ascii_start(),
            group: Group::$group,
            is_secret: is_secret!($($secret)?),
        };)*

        /// All values, in the order in which help and documentation list them.
        pub(crate) const TABLE: &[&Row] = &[$(&$name),*];
    };
}

rows! {
    /// Folder of the database and the files; without effect on a database or store whose URL is set
    DATA_DIR: Data, "data_dir", "DIR", Default::Text("./plinth-data");
    /// sqlite://FILE, or postgres://USER:PASSWORD@HOST/NAME
    DATABASE_URL: Data secret, "database_url", "URL", Default::Otherwise("`sqlite://<data>/plinth.db`");
    /// file://FOLDER, or s3://BUCKET/PREFIX; S3 endpoint, region and keys are read from the usual AWS_* variables
    STORE_URL: Data, "store_url", "URL", Default::Otherwise("`file://<data>/objects`");
    /// Endpoint of S3 in signed links, if clients reach S3 under another address than the service
    STORE_PUBLIC_ENDPOINT: Data, "store_public_endpoint", "URL", Default::Otherwise("the endpoint that the service uses");
    /// Maximum number of connections of this process to PostgreSQL; a worker needs at least 2
    DATABASE_CONNECTIONS: Data, "database_connections", "N", Default::Otherwise("16, `plinth worker` 4");
    /// Prefix of new API keys, before _sk_
    TOKEN_PREFIX: Keys, "token_prefix", "WORD", Default::Text(ServiceOptions::TOKEN_PREFIX);
    /// Prefix of older API keys, which stay valid
    LEGACY_TOKEN_PREFIX: Keys, "legacy_token_prefix", "WORD", Default::Text(ServiceOptions::LEGACY_TOKEN_PREFIX);
    /// Address and port of the HTTP server; port 0 chooses a free port
    LISTEN: Address, "listen", "ADDRESS", Default::Text("127.0.0.1:8080");
    /// URL under which clients reach the service; links in responses begin with it
    PUBLIC_URL: Address, "public_url", "URL", Default::Otherwise("`http://<listen>`, or `http://localhost:PORT` if `listen` is `0.0.0.0` or `[::]`");
    /// Maximum number of simultaneous connections, or fewer if the limit of open files is lower; further connections
    /// wait
    MAX_CONNECTIONS: Http, "max_connections", "N", Default::Number(8192);
    /// Reverse proxies whose X-Forwarded-For header is trusted; sign-in attempts are limited by the client address in
    /// this header, and connections of these proxies only in total
    TRUSTED_PROXIES: Http, "trusted_proxies", "ADDRESS[/BITS],…", Default::Otherwise("none");
    /// Time that running requests have to finish after the server was told to stop
    SHUTDOWN_SECONDS: Http, "shutdown_seconds", "SECONDS", Default::Number(30);
    /// Time for which a server that was told to stop continues to accept requests; during this time, /readyz reports
    /// that it is not ready
    DRAIN_SECONDS: Http, "drain_seconds", "SECONDS", Default::Number(0);
    /// Accept a .zip with one OBJ and convert it to GLB
    ZIP_CONVERSION: Rules, "zip_conversion", "true|false", Default::Text("true");
    /// Hosts with a private address from which models may be fetched
    INGEST_ALLOW_HOSTS: Rules, "ingest_allow_hosts", "HOST[:PORT],…", Default::Otherwise("none");
    /// Maximum number of requests per key and minute
    RATE_LIMIT_PER_MINUTE: Rules, "rate_limit_per_minute", "N", Default::Number(limits::REQUESTS_PER_MINUTE as u64);
    /// Maximum number of models fetched by URL, per key and ten minutes
    INGEST_LIMIT_PER_10_MINUTES: Rules, "ingest_limit_per_10_minutes", "N",
        Default::Number(limits::INGESTS_PER_10_MINUTES as u64);
    /// Maximum number of free previews per account in 24 hours; 0 for none
    FREE_UPLOADS_PER_DAY: Rules, "free_uploads_per_day", "N", Default::Number(limits::FREE_UPLOADS_PER_DAY as u64);
    /// Maximum total size of the stored models of all workspaces of one account; further models are rejected
    ACCOUNT_STORAGE_GB: Rules, "account_storage_gb", "GB", Default::Number(limits::ACCOUNT_STORAGE_BYTES >> 30);
    /// Maximum number of models that are checked at the same time; the same maximum applies to images
    MODEL_CHECKS: Rules, "model_checks", "N", Default::Number(ServiceOptions::CHECKS_AT_ONCE as u64);
    /// Memory limit for checking a model; a model that needs more is rejected
    MODEL_CHECK_MEMORY_MB: Rules, "model_check_memory_mb", "MB", Default::Number(4096);
    /// Time limit for checking a model or image; a file that needs longer is rejected
    MODEL_CHECK_SECONDS: Rules, "model_check_seconds", "SECONDS", Default::Number(120);
    /// Total size of the models and panoramas that this server receives at the same time, in <data>/incoming; one
    /// account can use half of it, further uploads wait
    INCOMING_MB: Rules, "incoming_mb", "MB", Default::Number(ServiceOptions::INCOMING_BYTES >> 20);
    /// Free space on the disks of <data>/incoming and of local files that uploads leave for the files of renders: with
    /// less, the server receives no models and images
    DISK_RESERVE_MB: Rules, "disk_reserve_mb", "MB", Default::Number(ServiceOptions::RESERVE_BYTES >> 20);
    /// Secret key of Stripe, sk_test_… or sk_live_…, with which credits are sold
    STRIPE_SECRET_KEY: Accounts secret, "stripe_secret_key", "KEY", Default::Otherwise("no credits are sold");
    /// Secret whsec_… with which Stripe signs the events that it sends to <public_url>/stripe/events; several while it
    /// is replaced
    STRIPE_WEBHOOK_SECRET: Accounts secret, "stripe_webhook_secret", "SECRET,…", Default::Otherwise("none");
    /// URL of Stripe's API
    STRIPE_URL: Accounts, "stripe_url", "URL", Default::Text(StripeOptions::URL);
    /// Balance below which the web UI suggests to buy credits
    LOW_BALANCE: Accounts, "low_balance", "CREDITS", Default::Number(limits::LOW_BALANCE);
    /// Mail server: smtps://USER:PASSWORD@HOST, or smtp://USER:PASSWORD@HOST:587?tls=required
    SMTP_URL: Accounts secret, "smtp_url", "URL", Default::Otherwise("mails are written to the log");
    /// Sender of mails, with or without a name, such as Plinth <plinth@example.org>; needed with smtp_url
    MAIL_FROM: Accounts, "mail_from", "ADDRESS", Default::Otherwise("none");
    /// Lease time of a render: if its worker does not renew the lease for this long, the render returns to the queue,
    /// at most twice
    LEASE_SECONDS: Worker, "lease_seconds", "SECONDS", Default::Number(ServiceOptions::LEASE_SECS as u64);
    /// What this worker takes: renders of the classes share, standard, 4k, pro and dataset, and preview for single
    /// frames
    TAKES: Worker, "takes", "CLASS,…", Default::Otherwise("all");
    /// Pool of this worker; it is recorded with each render that the worker claims, so that an autoscaler can count the
    /// renders of a pool
    WORKER_POOL: Worker, "pool", "NAME", Default::Otherwise("none");
    /// Idle time after which the worker exits; without a number, it exits as soon as the queue is empty
    EXIT_WHEN_IDLE: WorkerProcess, "exit_when_idle", "SECONDS", Default::Otherwise("never");
    /// Address and port of the worker's health checks GET /livez and /readyz; `plinth serve` has them on its own
    /// address
    HEALTH_LISTEN: WorkerProcess, "health_listen", "ADDRESS", Default::Otherwise("no health checks");
    /// Maximum number of simultaneous renders on this machine; as many packagings for streaming run beside them, with a
    /// lower priority
    WORKER_SLOTS: Worker, "worker_slots", "N", Default::Otherwise("by hardware");
    /// Time limit of a render; a render that takes longer fails
    RENDER_TIMEOUT_SECONDS: Worker, "render_timeout_seconds", "SECONDS", Default::Number(WorkerOptions::TIMEOUT_SECS);
    /// Time limit of a free preview; a preview that takes longer fails
    PREVIEW_TIMEOUT_SECONDS: Worker, "preview_timeout_seconds", "SECONDS", Default::Number(limits::PREVIEW_SECS);
    /// Time without a request after which the process of a preview ends, and its model is unloaded
    PREVIEW_IDLE_SECONDS: Worker, "preview_idle_seconds", "SECONDS", Default::Number(WorkerOptions::PREVIEW_IDLE_SECS);
    /// Memory limit of a render with its encoders; a render that needs more fails
    RENDER_MEMORY_MB: Worker, "render_memory_mb", "MB", Default::Number(WorkerOptions::MEMORY_MB);
    /// Limit of the disk space that a render uses for its files; a render that needs more fails
    RENDER_DISK_MB: Worker, "render_disk_mb", "MB", Default::Number(WorkerOptions::DISK_MB);
    /// Size limit of this machine's cache of models with their light and reduced textures
    MODEL_CACHE_MB: Worker, "model_cache_mb", "MB", Default::Number(WorkerOptions::CACHE_MB);
    /// Name of this worker in the database and in the log
    WORKER_NAME: Worker, "worker_name", "NAME", Default::Otherwise("host name and process id");
    /// Local folder for cached models and for the files of current renders
    WORKER_DIR: Worker, "worker_dir", "DIR", Default::Otherwise("`<data>/worker`");
    /// Time that renders have to finish after the worker was told to stop; unfinished renders return to the queue
    WORKER_GRACE_SECONDS: Worker, "worker_grace_seconds", "SECONDS", Default::Number(WorkerOptions::GRACE_SECS);
    /// Time that a render waits for a store or database that does not respond; then it returns to the queue if the store
    /// still does not respond, or else fails with upload_failed or a code that ends with download_failed, and its price is
    /// refunded
    WORKER_OUTAGE_SECONDS: Worker, "worker_outage_seconds", "SECONDS",
        Default::NumberUpTo(WorkerOptions::OUTAGE_SECS, WorkerOptions::MAX_OUTAGE_SECS);
    /// Part of an adapter's name, the PCI address of a graphics card, or cpu for a software driver
    ADAPTER: Machine, "adapter", "NAME", Default::Otherwise("the best available");
    /// The ffmpeg program
    FFMPEG: Machine, "ffmpeg", "PROGRAM", Default::Text("ffmpeg");
    /// Folder in which `plinth render` caches light and reduced textures of models, so that their next render starts
    /// sooner; it may be deleted at any time
    CACHE_DIR: Cache, "cache_dir", "DIR", Default::Otherwise("`$XDG_CACHE_HOME/plinth`, else `~/.cache/plinth`");
    /// Size limit of the cache folder; 0 turns the cache off
    CACHE_MB: Cache, "cache_mb", "MB", Default::Number(2048);
    /// Encoder of H.264; auto uses the first hardware encoder that works in a test at the start, or libx264 if none
    /// works
    ENCODER: Machine, "encoder", "auto|libx264|h264_nvenc|h264_vaapi|h264_videotoolbox", Default::Text("libx264");
    /// Sandbox of jobs, in which they can access only their own files: auto uses what the kernel supports, required
    /// prevents the start if the kernel does not support all of it, off disables it
    FENCE: Fence, "fence", "auto|required|off", Default::Text("auto");
    /// User as which jobs run; the server must have been started by root
    JOB_USER: Fence, "job_user", "NAME", Default::Otherwise("the server's user");
    /// Files and folders that jobs may read in addition to the system's libraries, drivers and fonts, such as the
    /// libraries of an ffmpeg in /opt
    FENCE_READABLE: Fence, "fence_readable", "PATH,…", Default::Otherwise("none");
    /// Address and port of GET /metrics for Prometheus; do not expose it publicly
    METRICS_LISTEN: Operation, "metrics_listen", "ADDRESS", Default::Otherwise("no metrics");
    /// OpenTelemetry collector that receives traces by OTLP over HTTP, such as http://localhost:4318; the standard
    /// variables OTEL_* apply
    OTLP_ENDPOINT: Operation, "otlp_endpoint", "URL", Default::Otherwise("`OTEL_EXPORTER_OTLP_ENDPOINT`, else no traces");
    /// Format of the log on stderr
    LOG_FORMAT: Operation, "log_format", "text|json", Default::Text("text");
    /// error, warn, info, debug or trace; levels can also be set per crate, as in info,plinth_api=debug
    LOG_LEVEL: Operation, "log_level", "LEVEL", Default::Text("info");
}

/// Default number of connections of a `plinth worker` to PostgreSQL. It is small, because there may be many workers.
pub(crate) const WORKER_CONNECTIONS: u32 = 4;
/// Default name of the configuration file.
pub(crate) const FILE: &str = "plinth.toml";
/// Environment variable that names the configuration file.
pub(crate) const FILE_VARIABLE: &str = "PLINTH_CONFIG";

/// Returns the flag `--config`, which all commands have.
pub(crate) fn config_arg() -> Arg {
    Arg::new("config")
        .long("config")
        .global(true)
        .value_name("FILE")
        .help(format!("Configuration file [env: {FILE_VARIABLE}] [default: {FILE}, if it exists]"))
        .hide_short_help(true)
}

/// Returns the flags of the given groups.
pub(crate) fn args(groups: &'static [Group]) -> impl Iterator<Item = Arg> {
    TABLE.iter().filter(move |row| groups.contains(&row.group)).map(|row| {
        let default = row.default.text().replace('`', "");
        let arg = Arg::new(row.key);
        // The flag may be given without a value.
        let arg = if row.key == EXIT_WHEN_IDLE.key {
            arg.num_args(0..=1).require_equals(true).default_missing_value("0")
        } else {
            arg
        };
        let file =
            if row.is_secret { format!(", or the path of a file in {}", row.file_variable()) } else { String::new() };
        arg.long(row.flag()).value_name(row.takes).action(ArgAction::Set).help_heading("Configuration").help(format!(
            "{} [env: {}{file}] [default: {default}]",
            row.description,
            row.variable()
        ))
    })
}

/// Returns the table in Markdown, for the documentation.
pub(crate) fn markdown_table() -> String {
    let head = "| variable | flag | key in `plinth.toml` | default | meaning |\n|---|---|---|---|---|\n";
    let row = |row: &&Row| {
        let (variable, default) = (row.variable(), row.default.text());
        format!("| `{variable}` | `--{}` | `{}` | {default} | {}. |\n", row.flag(), row.key, row.description)
    };
    TABLE.iter().map(row).fold(head.to_owned(), |text, line| text + &line)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn all_encoders_are_listed() {
        let names: Vec<_> = plinth_media::EncoderChoice::names().collect();
        assert_eq!(ENCODER.takes, names.join("|"));
        let default = plinth_media::EncoderChoice::default().to_string();
        assert!(matches!(ENCODER.default, Default::Text(text) if text == default));
    }

    #[test]
    fn all_classes_of_work_are_listed() {
        for class in plinth_spec::WorkClass::NAMES {
            assert!(TAKES.description.contains(class), "{class}");
        }
        assert!(TAKES.description.contains(plinth_spec::Takes::PREVIEW));
    }

    #[test]
    fn the_default_numbers_of_connections_are_true() {
        let expected =
            format!("{}, `plinth worker` {}", plinth_db::DbOptions::POSTGRES_CONNECTIONS, WORKER_CONNECTIONS);
        assert_eq!(DATABASE_CONNECTIONS.default.text(), expected);
    }

    #[test]
    fn all_modes_of_the_fence_are_listed() {
        use plinth_fence::FenceMode;

        assert_eq!(FENCE.takes, FenceMode::names("|"));
        assert!(matches!(FENCE.default, Default::Text(text) if text == FenceMode::default().to_string()));
    }

    #[test]
    fn the_help_of_a_secret_names_the_variable_for_its_file() {
        let help = |row: &Row| {
            let found = args(&[Group::Accounts]).find(|arg| arg.get_id() == row.key).unwrap();
            found.get_help().unwrap().to_string()
        };
        assert!(help(&SMTP_URL).contains("[env: PLINTH_SMTP_URL, or the path of a file in PLINTH_SMTP_URL_FILE]"));
        assert!(!help(&MAIL_FROM).contains("_FILE"));
    }

    #[test]
    fn the_test_of_the_chart_knows_all_secrets() {
        let test = include_str!("../../../../deploy/helm/test.py");
        for row in TABLE.iter().filter(|row| row.is_secret) {
            assert!(test.contains(&format!("\"{}\"", row.variable())), "{}", row.key);
        }
    }

    #[test]
    fn no_two_values_share_a_key_or_a_flag() {
        let keys: BTreeSet<_> = TABLE.iter().map(|row| row.key).collect();
        let flags: BTreeSet<_> = TABLE.iter().map(|row| row.flag()).collect();
        assert_eq!((keys.len(), flags.len()), (TABLE.len(), TABLE.len()));
    }
}
