//! The table of configuration. Flags, variables, keys, help and documentation are made from it.

use clap::{Arg, ArgAction};
use plinth_db::DbOptions;
use plinth_service::ServiceOptions;
use plinth_spec::limits;

/// What a value is for. A command takes the flags of the groups that it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// Where accounts, renders and files are kept.
    Data,
    /// The form of API keys.
    Keys,
    /// Where it is reached.
    Address,
    /// The HTTP interface.
    Http,
    /// Limits and rules of the service.
    Rules,
    /// The renders of this machine.
    Worker,
    /// What frames are drawn and encoded with.
    Machine,
    /// What jobs may reach.
    Fence,
    /// What `plinth render` keeps.
    Cache,
    /// Logs and metrics.
    Operation,
}

/// What holds when nothing is set.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Default {
    /// This text.
    Text(&'static str),
    /// This number.
    Number(u64),
    /// Nothing, or what the program works out, as these words say.
    Otherwise(&'static str),
}

impl Default {
    fn words(self) -> String {
        match self {
            Self::Text(text) => format!("`{text}`"),
            Self::Number(number) => format!("`{number}`"),
            Self::Otherwise(words) => words.to_owned(),
        }
    }
}

/// One value.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its key in `plinth.toml`; the variable is made from it.
    pub(crate) key: &'static str,
    /// Its flag, without dashes.
    pub(crate) flag: &'static str,
    /// What stands for the value in help.
    pub(crate) takes: &'static str,
    pub(crate) default: Default,
    pub(crate) words: &'static str,
    pub(crate) group: Group,
    /// Whether it may hold a password: then `PLINTH_…_FILE` may name a file that holds it.
    pub(crate) is_secret: bool,
}

impl Row {
    /// `PLINTH_DATABASE_URL` for `database_url`.
    pub(crate) fn variable(&self) -> String {
        format!("PLINTH_{}", self.key.to_ascii_uppercase())
    }
}

/// Declares the rows, and the table of all of them.
macro_rules! rows {
    ($($name:ident: $group:ident, $key:literal, $flag:literal, $takes:literal, $default:expr, $words:literal;)*) => {
        $(pub(crate) const $name: Row = Row {
            key: $key,
            flag: $flag,
            takes: $takes,
            default: $default,
            words: $words,
            group: Group::$group,
            is_secret: matches!($key.as_bytes(), b"database_url"),
        };)*

        /// All values, in the order of help and documentation.
        pub(crate) const TABLE: &[&Row] = &[$(&$name),*];
    };
}

rows! {
    DATA_DIR: Data, "data_dir", "data", "DIR", Default::Text("./plinth-data"),
        "Folder of the database and the files, unless they are elsewhere";
    DATABASE_URL: Data, "database_url", "database-url", "URL", Default::Otherwise("`sqlite://<data>/plinth.db`"),
        "sqlite://FILE, or postgres://USER:PASSWORD@HOST/NAME";
    STORE_URL: Data, "store_url", "store-url", "URL", Default::Otherwise("`file://<data>/objects`"),
        "file://FOLDER, or s3://BUCKET/PREFIX; endpoint, region and keys of S3 by the usual AWS_* variables";
    STORE_PUBLIC_ENDPOINT: Data, "store_public_endpoint", "store-public-endpoint", "URL",
        Default::Otherwise("the endpoint of S3"),
        "Where clients reach S3, when that is elsewhere than for the service; signed links carry it";
    DATABASE_CONNECTIONS: Data, "database_connections", "database-connections", "N",
        Default::Number(DbOptions::POSTGRES_CONNECTIONS as u64),
        "Connections of this process to PostgreSQL";
    TOKEN_PREFIX: Keys, "token_prefix", "token-prefix", "WORD", Default::Text(ServiceOptions::TOKEN_PREFIX),
        "What new API keys begin with, before _sk_";
    LEGACY_TOKEN_PREFIX: Keys, "legacy_token_prefix", "legacy-token-prefix", "WORD", Default::Text(ServiceOptions::LEGACY_TOKEN_PREFIX),
        "What older API keys begin with; they stay good";
    LISTEN: Address, "listen", "listen", "ADDRESS", Default::Text("127.0.0.1:8080"),
        "Address and port of the HTTP interface; port 0 takes a free one";
    PUBLIC_URL: Address, "public_url", "public-url", "URL", Default::Otherwise("`http://<listen>`"),
        "Where clients reach the service: the beginning of the links in its answers";
    MAX_CONNECTIONS: Http, "max_connections", "max-connections", "N", Default::Number(8192),
        "Connections at a time, as far as the limit of open files allows; more wait";
    TRUSTED_PROXIES: Http, "trusted_proxies", "trusted-proxies", "ADDRESS[/BITS],…", Default::Otherwise("none"),
        "Reverse proxies that name the client in the header X-Forwarded-For, by which passwords are limited";
    SHUTDOWN_SECONDS: Http, "shutdown_seconds", "shutdown-seconds", "SECONDS", Default::Number(30),
        "How long requests may still take when the server is stopped";
    ZIP_CONVERSION: Rules, "zip_conversion", "zip-conversion", "true|false", Default::Text("true"),
        "Take a .zip with one OBJ and make a GLB of it";
    INGEST_ALLOW_HOSTS: Rules, "ingest_allow_hosts", "ingest-allow-hosts", "HOST[:PORT],…",
        Default::Otherwise("none"),
        "Hosts that models may be fetched from although their address is private";
    RATE_LIMIT_PER_MINUTE: Rules, "rate_limit_per_minute", "rate-limit-per-minute", "N",
        Default::Number(limits::REQUESTS_PER_MINUTE as u64),
        "Requests per key in a minute";
    INGEST_LIMIT_PER_10_MINUTES: Rules, "ingest_limit_per_10_minutes", "ingest-limit-per-10-minutes", "N",
        Default::Number(limits::INGESTS_PER_10_MINUTES as u64),
        "Models fetched by URL per key in ten minutes";
    FREE_UPLOADS_PER_DAY: Rules, "free_uploads_per_day", "free-uploads-per-day", "N",
        Default::Number(limits::FREE_UPLOADS_PER_DAY as u64),
        "Free previews per account in 24 hours";
    MODEL_CHECKS: Rules, "model_checks", "model-checks", "N",
        Default::Number(ServiceOptions::CHECKS_AT_ONCE as u64),
        "Models that are checked at a time, and as many images";
    MODEL_CHECK_MEMORY_MB: Rules, "model_check_memory_mb", "model-check-memory-mb", "MB", Default::Number(4096),
        "A model whose check takes more memory is refused";
    MODEL_CHECK_SECONDS: Rules, "model_check_seconds", "model-check-seconds", "SECONDS", Default::Number(120),
        "A model or image whose check takes longer is refused";
    LEASE_SECONDS: Worker, "lease_seconds", "lease-seconds", "SECONDS",
        Default::Number(ServiceOptions::LEASE_SECS as u64),
        "A render whose worker is not heard of for this long goes back into the queue, twice at most";
    WORKER_SLOTS: Worker, "worker_slots", "worker-slots", "N", Default::Otherwise("by hardware"),
        "Renders at a time on this machine";
    RENDER_TIMEOUT_SECONDS: Worker, "render_timeout_seconds", "render-timeout-seconds", "SECONDS",
        Default::Number(3600),
        "A render that takes longer fails";
    PREVIEW_TIMEOUT_SECONDS: Worker, "preview_timeout_seconds", "preview-timeout-seconds", "SECONDS",
        Default::Number(limits::PREVIEW_SECS),
        "A free preview that takes longer fails";
    RENDER_MEMORY_MB: Worker, "render_memory_mb", "render-memory-mb", "MB", Default::Number(8192),
        "A render that takes more memory, its encoders included, fails";
    MODEL_CACHE_MB: Worker, "model_cache_mb", "model-cache-mb", "MB", Default::Number(10_240),
        "Models, and the light worked out for them, that are kept on this machine for further renders";
    WORKER_NAME: Worker, "worker_name", "worker-name", "NAME", Default::Otherwise("host and process"),
        "Name of this worker in the database and the log";
    WORKER_DIR: Worker, "worker_dir", "worker-dir", "DIR", Default::Otherwise("`<data>/worker`"),
        "Folder of this machine's disk for models and for renders that are being made";
    WORKER_GRACE_SECONDS: Worker, "worker_grace_seconds", "worker-grace-seconds", "SECONDS", Default::Number(30),
        "How long renders may go on when the worker is stopped; the rest is given back";
    ADAPTER: Machine, "adapter", "adapter", "NAME", Default::Otherwise("the best there is"),
        "Part of an adapter's name, or cpu for a software driver";
    FFMPEG: Machine, "ffmpeg", "ffmpeg", "PROGRAM", Default::Text("ffmpeg"),
        "The ffmpeg to call";
    CACHE_DIR: Cache, "cache_dir", "cache-dir", "DIR",
        Default::Otherwise("`$XDG_CACHE_HOME/plinth`, else `~/.cache/plinth`"),
        "Folder for the light that `plinth render` works out for a model, so that its next render starts sooner; it may be \
         deleted at any time";
    CACHE_MB: Cache, "cache_mb", "cache-mb", "MB", Default::Number(2048),
        "Size of that folder; 0: nothing is kept";
    ENCODER: Machine, "encoder", "encoder", "auto|libx264|h264_nvenc|h264_vaapi|h264_videotoolbox",
        Default::Text("libx264"),
        "What encodes H.264; auto takes hardware that works when it is tried at the start, else libx264";
    FENCE: Fence, "fence", "fence", "auto|required|off", Default::Text("auto"),
        "How jobs are kept from everything but their own files: auto, as far as the kernel supports it; required, completely, or the server does not start; off, not at all";
    JOB_USER: Fence, "job_user", "job-user", "NAME", Default::Otherwise("the server's user"),
        "User that jobs run as; the server must have been started by root";
    FENCE_READABLE: Fence, "fence_readable", "fence-readable", "PATH,…", Default::Otherwise("none"),
        "Files and folders that jobs may read besides the system's libraries, drivers and fonts, such as the libraries of an ffmpeg in /opt";
    METRICS_LISTEN: Operation, "metrics_listen", "metrics-listen", "ADDRESS", Default::Otherwise("no metrics"),
        "Address and port of GET /metrics for Prometheus; keep it away from the public";
    LOG_FORMAT: Operation, "log_format", "log-format", "text|json", Default::Text("text"),
        "Form of the log on stderr";
    LOG_LEVEL: Operation, "log_level", "log-level", "LEVEL", Default::Text("info"),
        "error, warn, info, debug or trace; also per part, as in info,plinth_api=debug";
}

/// Name of the file of configuration where none is given.
pub(crate) const FILE: &str = "plinth.toml";
/// The variable that names it.
pub(crate) const FILE_VARIABLE: &str = "PLINTH_CONFIG";

/// `--config`, for all commands.
pub(crate) fn config_arg() -> Arg {
    Arg::new("config")
        .long("config")
        .global(true)
        .value_name("FILE")
        .help(format!("File of configuration [env: {FILE_VARIABLE}] [default: {FILE}, where there is one]"))
        .hide_short_help(true)
}

/// The flags of some groups.
pub(crate) fn args(groups: &'static [Group]) -> impl Iterator<Item = Arg> {
    TABLE.iter().filter(move |row| groups.contains(&row.group)).map(|row| {
        let default = row.default.words().replace('`', "");
        Arg::new(row.key)
            .long(row.flag)
            .value_name(row.takes)
            .action(ArgAction::Set)
            .help_heading("Configuration")
            .help(format!("{} [env: {}] [default: {default}]", row.words, row.variable()))
    })
}

/// The table as Markdown, for the documentation.
pub(crate) fn markdown_table() -> String {
    let head = "| variable | flag | key in `plinth.toml` | default | meaning |\n|---|---|---|---|---|\n";
    let row = |row: &&Row| {
        let (variable, default) = (row.variable(), row.default.words());
        format!("| `{variable}` | `--{}` | `{}` | {default} | {}. |\n", row.flag, row.key, row.words)
    };
    TABLE.iter().map(row).fold(head.to_owned(), |text, line| text + &line)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_encoders_are_those_that_there_are() {
        let names: Vec<_> = plinth_media::EncoderChoice::names().collect();
        assert_eq!(ENCODER.takes, names.join("|"));
        let default = plinth_media::EncoderChoice::default().to_string();
        assert!(matches!(ENCODER.default, Default::Text(text) if text == default));
    }

    #[test]
    fn the_modes_of_the_fence_are_those_that_there_are() {
        use plinth_fence::FenceMode;

        assert_eq!(FENCE.takes, FenceMode::ALL.map(|(_mode, name)| name).join("|"));
        assert!(matches!(FENCE.default, Default::Text(text) if text == FenceMode::default().to_string()));
    }

    #[test]
    fn no_two_values_share_a_key_or_a_flag() {
        let keys: BTreeSet<_> = TABLE.iter().map(|row| row.key).collect();
        let flags: BTreeSet<_> = TABLE.iter().map(|row| row.flag).collect();
        assert_eq!((keys.len(), flags.len()), (TABLE.len(), TABLE.len()));
    }
}
