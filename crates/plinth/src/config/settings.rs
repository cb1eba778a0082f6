//! The validated configuration.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::ArgMatches;
use plinth_api::TrustedProxy;
use plinth_fence::{FenceMode, FenceOptions, JobUser};
use plinth_media::EncoderChoice;
use plinth_service::{Checker, FetchOptions, HostRule, ServiceOptions};
use plinth_spec::wire::Product;
use plinth_worker::WorkerOptions;
use tracing_subscriber::filter::{LevelFilter, Targets};
use url::Url;

use super::lookup::Lookup;
use super::payments;
use super::table as row;
use super::value::Found;
use super::worker::worker_options;
use crate::system::own_program;

/// The validated configuration of a server or worker.
#[derive(Clone)]
pub(crate) struct Config {
    /// Absolute path of the folder with the database and the files.
    pub(crate) data_dir: PathBuf,
    /// Whether a flag or an environment variable names the data folder or the database.
    pub(crate) is_installation_named: bool,
    /// `sqlite://…` or `postgres://…`.
    pub(crate) database_url: String,
    /// Maximum number of connections to PostgreSQL. With `None`, the number depends on the command.
    pub(crate) database_connections: Option<u32>,
    /// `file://…` or `s3://…`.
    pub(crate) store_url: String,
    /// URL under which clients reach S3, if it differs from the server's.
    pub(crate) store_public_endpoint: Option<String>,
    /// Address on which the HTTP API listens.
    pub(crate) listen: SocketAddr,
    /// URL under which clients reach the API. With `None`, the URL is derived from the listening address.
    pub(crate) public_url: Option<Url>,
    /// Maximum number of simultaneous HTTP connections.
    pub(crate) max_connections: usize,
    /// Reverse proxies whose `X-Forwarded-For` header is trusted.
    pub(crate) trusted_proxies: Vec<TrustedProxy>,
    /// Time that running requests have to finish after the server was told to stop.
    pub(crate) shutdown: Duration,
    /// Time for which the server continues to accept requests after it was told to stop.
    pub(crate) drain: Duration,
    /// Address of a worker's health checks.
    pub(crate) health_listen: Option<SocketAddr>,
    /// Adapter, ffmpeg and encoder.
    pub(crate) machine: Machine,
    /// Sandbox of jobs.
    pub(crate) fence: FenceOptions,
    /// Address on which metrics are served.
    pub(crate) metrics_listen: Option<SocketAddr>,
    /// Base URL of the collector that receives traces. With `None`, the standard variables of OpenTelemetry are used.
    pub(crate) otlp_endpoint: Option<Url>,
    pub(crate) logs_are_json: bool,
    /// Log filter.
    pub(crate) log_level: Targets,
    /// Credit packs; `None` if the configuration lists no packs and sets no key of Stripe.
    pub(crate) products: Option<Vec<Product>>,
    /// Options of the service.
    pub(crate) service: ServiceOptions,
    /// Options of the worker.
    pub(crate) worker: WorkerOptions,
}

/// Adapter, ffmpeg and encoder.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) adapter: Option<String>,
    pub(crate) ffmpeg: PathBuf,
    pub(crate) encoder: EncoderChoice,
}

impl Machine {
    /// Reads only the fields of this struct, for commands that use no other configuration values.
    pub(crate) fn read(args: &ArgMatches) -> Result<Self> {
        Self::find(&Lookup::new(args)?)
    }

    fn find(lookup: &Lookup<'_>) -> Result<Self> {
        Ok(Self {
            adapter: lookup.find(&row::ADAPTER)?.map(|found| found.text),
            ffmpeg: lookup.get(&row::FFMPEG)?.program(),
            encoder: lookup
                .get(&row::ENCODER)?
                .parse(&format!("one of {}", EncoderChoice::names().collect::<Vec<_>>().join(", ")))?,
        })
    }
}

impl Config {
    /// Reads all values that a command uses.
    /// Errors: a value is invalid. The message names the flag, variable or key that contains the value.
    pub(crate) fn read(args: &ArgMatches) -> Result<Self> {
        let lookup = Lookup::new(args)?;
        let data_dir =
            std::path::absolute(lookup.get(&row::DATA_DIR)?.path()).context("the current folder is not accessible")?;
        let address = "an address with a port, such as 127.0.0.1:8080";
        let text = |row| -> Result<Option<String>> { Ok(lookup.find(row)?.map(|found| found.text)) };
        let local = |kind: &str, name: &str| format!("{kind}://{}", data_dir.join(name).display());
        let (machine, fence) = (Machine::find(&lookup)?, fence(&lookup)?);
        let url = |row| -> Result<Option<String>> { Ok(lookup.find(row)?.map(|found| found.url())) };
        let database_url = url(&row::DATABASE_URL)?.unwrap_or_else(|| local("sqlite", "plinth.db"));
        Ok(Self {
            database_connections: count_if_set(&lookup, &row::DATABASE_CONNECTIONS)?,
            store_url: url(&row::STORE_URL)?.unwrap_or_else(|| local("file", "objects")),
            store_public_endpoint: text(&row::STORE_PUBLIC_ENDPOINT)?,
            listen: lookup.get(&row::LISTEN)?.parse(address)?,
            public_url: public_url(&lookup)?,
            max_connections: lookup.count(&row::MAX_CONNECTIONS)?,
            trusted_proxies: trusted_proxies(&lookup)?,
            shutdown: Duration::from_secs(lookup.count(&row::SHUTDOWN_SECONDS)?),
            drain: seconds(&lookup.get(&row::DRAIN_SECONDS)?)?,
            health_listen: lookup.find(&row::HEALTH_LISTEN)?.map(|found| found.parse(address)).transpose()?,
            metrics_listen: lookup.find(&row::METRICS_LISTEN)?.map(|found| found.parse(address)).transpose()?,
            otlp_endpoint: otlp_endpoint(&lookup)?,
            logs_are_json: one_of(&lookup, &row::LOG_FORMAT, ["text", "json"])? == "json",
            log_level: log_level(&lookup)?,
            products: payments::packs(&lookup)?,
            service: service_options(&lookup, &data_dir, fence.clone())?,
            worker: worker_options(&lookup, &data_dir, &machine, fence.clone(), is_shared(&database_url))?,
            database_url,
            machine,
            fence,
            is_installation_named: lookup.find_given(&row::DATA_DIR)?.is_some()
                || lookup.find_given(&row::DATABASE_URL)?.is_some(),
            data_dir,
        })
    }

    /// Returns whether the database is PostgreSQL, which processes on several machines can share.
    pub(crate) fn is_shared(&self) -> bool {
        is_shared(&self.database_url)
    }

    /// Returns the URL under which clients reach the service. `listens` is the address at which it listens.
    pub(crate) fn public_url_at(&self, listens: SocketAddr) -> Result<Url> {
        self.public_url.clone().map_or_else(
            || Url::parse(&local_url(listens)).context("the listening address is not a valid URL; set --public-url"),
            Ok,
        )
    }

    /// Logs a warning if other machines can connect to the service, but links lead to this machine.
    pub(crate) fn warn_of_local_links(&self) {
        if self.public_url.is_none() && self.listen.ip().is_unspecified() {
            tracing::warn!("links in responses lead to this machine; for clients on other machines, set --public-url");
        }
    }
}

/// Returns the URL under which this machine reaches a service that listens at an address. No machine can connect to the
/// addresses `0.0.0.0` and `[::]`, which stand for all addresses.
fn local_url(listens: SocketAddr) -> String {
    if listens.ip().is_unspecified() {
        format!("http://localhost:{}", listens.port())
    } else {
        format!("http://{listens}")
    }
}

fn is_shared(database_url: &str) -> bool {
    !database_url.starts_with("sqlite:")
}

fn service_options(lookup: &Lookup<'_>, data_dir: &Path, fence: FenceOptions) -> Result<ServiceOptions> {
    let hosts = lookup.find(&row::INGEST_ALLOW_HOSTS)?;
    let rules = hosts.iter().flat_map(|found| found.text.split(',').map(move |host| (found, host.trim())));
    let rules = rules.filter(|(_, host)| !host.is_empty()).map(|(found, host)| {
        HostRule::parse(host).ok_or_else(|| found.wrong("a list of hosts, each with or without a port"))
    });
    Ok(ServiceOptions {
        token_prefix: prefix(lookup, &row::TOKEN_PREFIX)?,
        legacy_token_prefix: prefix(lookup, &row::LEGACY_TOKEN_PREFIX)?,
        zip_conversion: one_of(lookup, &row::ZIP_CONVERSION, ["true", "false"])? == "true",
        requests_per_minute: lookup.count(&row::RATE_LIMIT_PER_MINUTE)?,
        ingests_per_10_minutes: lookup.count(&row::INGEST_LIMIT_PER_10_MINUTES)?,
        free_uploads_per_day: lookup.count_or_zero(&row::FREE_UPLOADS_PER_DAY)?,
        account_storage_bytes: u64::from(lookup.count::<u32>(&row::ACCOUNT_STORAGE_GB)?) << 30,
        lease_secs: lookup.count(&row::LEASE_SECONDS)?,
        checks_at_once: lookup.count(&row::MODEL_CHECKS)?,
        checker: Some(Checker {
            program: own_program().context("the path of this executable is unknown")?,
            memory_bytes: megabytes(lookup, &row::MODEL_CHECK_MEMORY_MB)?,
            time: Duration::from_secs(lookup.count(&row::MODEL_CHECK_SECONDS)?),
            fence,
        }),
        stripe: payments::stripe(lookup)?,
        mail: payments::mail(lookup)?,
        low_balance: lookup.count(&row::LOW_BALANCE)?,
        incoming: data_dir.join("incoming"),
        incoming_bytes: megabytes(lookup, &row::INCOMING_MB)?,
        reserve_bytes: megabytes(lookup, &row::DISK_RESERVE_MB)?,
        fetch: FetchOptions { allowed_hosts: rules.collect::<std::result::Result<_, _>>()?, ..FetchOptions::default() },
        ..ServiceOptions::default()
    })
}

/// Returns the value of a row as an integer above 0; `None` if the value is not set.
pub(super) fn count_if_set<T: TryFrom<u64>>(lookup: &Lookup<'_>, row: &row::Row) -> Result<Option<T>> {
    lookup.find(row)?.map(|_set| lookup.count(row)).transpose()
}

/// Returns the value of a row with a number of megabytes, in bytes. A number that is too large means no limit.
pub(super) fn megabytes(lookup: &Lookup<'_>, row: &row::Row) -> Result<u64> {
    Ok(lookup.count::<u64>(row)?.saturating_mul(1 << 20))
}

/// Parses a number of seconds, which may be 0.
pub(super) fn seconds(found: &Found) -> Result<Duration> {
    Ok(Duration::from_secs(found.parse::<u32>("a whole number of seconds")?.into()))
}

fn fence(lookup: &Lookup<'_>) -> Result<FenceOptions> {
    let user = lookup.find(&row::JOB_USER)?.map(|found| JobUser::find(&found.text)).transpose()?;
    let paths = lookup.find(&row::FENCE_READABLE)?;
    let of_list = |found: &Found| {
        let texts = found.text.split(',').map(str::trim).filter(|text| !text.is_empty());
        texts.map(|text| found.folder.join(text)).collect::<Vec<_>>()
    };
    let paths = paths.iter().flat_map(of_list);
    let readable: std::io::Result<_> = paths.map(std::path::absolute).collect();
    let mode = lookup.get(&row::FENCE)?.parse(&format!("one of {}", FenceMode::names(", ")))?;
    Ok(FenceOptions { mode, user, readable: readable.context("the current folder is not accessible")? })
}

fn trusted_proxies(lookup: &Lookup<'_>) -> Result<Vec<TrustedProxy>> {
    let Some(found) = lookup.find(&row::TRUSTED_PROXIES)? else { return Ok(Vec::new()) };
    let texts = found.text.split(',').map(str::trim).filter(|text| !text.is_empty());
    let must_be = "a list of addresses or networks, such as 127.0.0.1,10.0.0.0/8";
    texts.map(|text| text.parse().map_err(|_malformed| found.wrong(must_be).into())).collect()
}

/// Returns a prefix of API keys. It may contain only letters, digits and underscores, so that a double click selects a
/// whole key.
fn prefix(lookup: &Lookup<'_>, row: &row::Row) -> Result<String> {
    let found = lookup.get(row)?;
    let is_word = !found.text.is_empty() && found.text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if is_word { Ok(found.text) } else { Err(found.wrong("letters, digits and _").into()) }
}

fn one_of<'w>(lookup: &Lookup<'_>, row: &row::Row, allowed: [&'w str; 2]) -> Result<&'w str> {
    let found = lookup.get(row)?;
    let known = allowed.into_iter().find(|word| *word == found.text);
    known.ok_or_else(|| found.wrong(&allowed.join(" or ")).into())
}

/// Returns the log filter: a level, levels of crates, or both. A word without `=` must be a level: `Targets` would
/// accept a misspelt level as the name of a crate, and turn off the log of all other crates.
fn log_level(lookup: &Lookup<'_>) -> Result<Targets> {
    let found = lookup.get(&row::LOG_LEVEL)?;
    let must_be =
        "error, warn, info, debug, trace or off, or a list with levels of crates, such as info,plinth_api=debug";
    let mut levels = found.text.split(',').filter(|part| !part.contains('='));
    if !levels.all(|level| level.parse::<LevelFilter>().is_ok()) {
        return Err(found.wrong(must_be).into());
    }
    Ok(found.parse(must_be)?)
}

fn otlp_endpoint(lookup: &Lookup<'_>) -> Result<Option<Url>> {
    let Some(found) = lookup.find(&row::OTLP_ENDPOINT)? else { return Ok(None) };
    let must_be = "an http or https URL, such as http://localhost:4318";
    let url: Url = found.parse(must_be)?;
    if matches!(url.scheme(), "http" | "https") { Ok(Some(url)) } else { Err(found.wrong(must_be).into()) }
}

fn public_url(lookup: &Lookup<'_>) -> Result<Option<Url>> {
    let Some(found) = lookup.find(&row::PUBLIC_URL)? else { return Ok(None) };
    let must_be = "an http or https URL without a query, such as https://render.example.org";
    let url: Url = found.parse(must_be)?;
    let is_base = matches!(url.scheme(), "http" | "https") && url.query().is_none() && url.fragment().is_none();
    if is_base && url.username().is_empty() { Ok(Some(url)) } else { Err(found.wrong(must_be).into()) }
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::super::table::{Group, args};
    use super::*;

    #[test]
    fn links_lead_to_a_host_to_which_clients_can_connect() {
        for (listens, url) in [
            ("0.0.0.0:8080", "http://localhost:8080"),
            ("[::]:9000", "http://localhost:9000"),
            ("127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("[2001:db8::1]:80", "http://[2001:db8::1]:80"),
        ] {
            assert_eq!(local_url(listens.parse().unwrap()), url);
        }
    }

    #[test]
    fn a_huge_number_of_megabytes_means_no_limit() {
        let flags = ["worker", "--render-memory-mb", "17592186044416"];
        let matches = Command::new("worker").args(args(&[Group::Worker])).get_matches_from(flags);
        let lookup = Lookup::new(&matches).unwrap();
        assert_eq!(megabytes(&lookup, &row::RENDER_MEMORY_MB).unwrap(), u64::MAX);
    }
}
