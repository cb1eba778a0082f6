//! `plinth serve`: runs the HTTP API, the web UI, a worker, maintenance and metrics.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::{Arg, ArgAction, ArgMatches, Command};
use plinth_api::{Api, ServeOptions, router};
use plinth_service::Service;
use plinth_service::storage::FirstIdentity;
use plinth_studio::Studio;
use plinth_worker::{Phase, WorkerOptions};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{first_start, open_files, server_lock};
use crate::cmd::{admin, block_on, fence, message_only};
use crate::config::{self, Config, Group};
use crate::metrics::Metrics;
use crate::{health, listener, logs, signals};

const GROUPS: &[Group] = &[
    Group::Address,
    Group::Http,
    Group::Data,
    Group::Keys,
    Group::Rules,
    Group::Accounts,
    Group::Worker,
    Group::Machine,
    Group::Fence,
    Group::Operation,
];

/// Fraction of the shutdown time after which checks of uploaded files are interrupted. The remaining time is for responding to the
/// requests that wait for these checks.
const CHECKS_PART: f64 = 0.8;
/// Error message for the first queries to the database.
const DATABASE: &str = "the database cannot be used";

pub(crate) fn command() -> Command {
    let no_worker = "Do not render in this process; run `plinth worker` on this machine or on others instead";
    Command::new("serve")
        .about("Runs the HTTP API, the web UI and a worker in one process tree")
        .arg(Arg::new("no-worker").long("no-worker").action(ArgAction::SetTrue).help(no_worker))
        .args(config::args(GROUPS))
}

pub(crate) fn run(args: &ArgMatches, out: &mut dyn Write) -> Result<()> {
    let config = Config::read(args)?;
    let _flushed_at_the_end = logs::begin(&config)?;
    fence::begin(&config)?;
    block_on(serve(&config, args, out))
}

/// Offers the configured credit packs. Without a configuration, those of the last start remain.
async fn set_products(config: &Config, service: &Service) -> Result<()> {
    match config.products.clone() {
        Some(packs) => service.set_products(packs).await.map_err(message_only).context(DATABASE),
        None => Ok(()),
    }
}

async fn serve(config: &Config, args: &ArgMatches, out: &mut dyn Write) -> Result<()> {
    let with_worker = !args.get_flag("no-worker");
    let stop = signals::listen()?;
    let listener = listener::bind(config.listen).await;
    let listener = listener.with_context(|| {
        format!("the server cannot listen at {}; choose another address with --listen", config.listen)
    })?;
    let address = listener.local_addr()?;
    let public_url = config.public_url_at(address)?;
    config.warn_of_local_links();
    let _lock = server_lock::acquire(config)?;
    let metrics = Metrics::begin(config).await?;
    let draws_previews = with_worker && config.worker.takes.includes_previews();
    let listeners = u32::from(with_worker) + u32::from(!draws_previews);
    let service = config::open_service(config, &public_url, listeners).await?;
    config::check_store(config, &service, FirstIdentity::Create).await?;
    config::make_incoming_folder(config)?;
    set_products(config, &service).await?;
    // The flags that `plinth admin` needs to find this installation. They are part of the printed text.
    let flags = config::flags_of(args, admin::GROUPS, address)?;
    // Scripts may wait for the line which says that the server listens, so the first account is created before this
    // line is printed.
    let welcome = first_start::welcome(&service, &public_url, &flags).await.map_err(message_only).context(DATABASE)?;
    writeln!(out, "Plinth serves at http://{address}")?;
    write!(out, "{welcome}")?;
    out.flush()?;
    let mut tasks: JoinSet<Result<()>> = JoinSet::new();
    // Metrics are served until the last request and the last job have ended.
    let drained = CancellationToken::new();
    let draining = Arc::new(drained.clone().drop_guard());
    if let Some(metrics) = metrics {
        tasks.spawn(metrics.serve(Some(service.clone()), drained));
    }
    tasks.spawn(maintain(service.clone(), draws_previews, stop.clone()));
    if with_worker {
        let (worker, ended) = (service.clone(), stop.clone());
        // A server must not end when there are no renders, so this worker ignores `exit_when_idle`.
        let options = WorkerOptions { exit_when_idle: None, ..config.worker.clone() };
        let (phase, _unwatched) = watch::channel(Phase::Starting);
        let draining = Arc::clone(&draining);
        tasks.spawn(async move {
            let _draining = draining;
            Ok(plinth_worker::run(worker, options, ended, phase).await?)
        });
    }
    let options = serve_options(config);
    let pages = plinth_studio::router(&Studio::new(service.clone(), &public_url));
    let site = router(&Api::new(service.clone(), public_url.as_str()), pages);
    // Health checks bypass the middleware that logs requests, because orchestrators send them every few seconds.
    let site = health::of_server(service.clone(), stop.clone()).fallback_service(site);
    let (ended, drain, checks) = (stop.clone(), config.drain, config.shutdown.mul_f64(CHECKS_PART));
    let closing = CancellationToken::new();
    let end = end_requests(service.clone(), (drain, checks), ended, closing.clone());
    tasks.spawn(async move {
        let _draining = draining;
        tokio::select! {
            () = plinth_api::serve(listener, site, options, closing) => {}
            () = async { end.await; std::future::pending().await } => {}
        }
        Ok(())
    });
    let outcome = end_together(tasks, &stop).await;
    service.db().close().await;
    outcome
}

/// After `stop` is cancelled, waits for `drain`, cancels `closing`, waits for `checks`, and ends the checks of models.
async fn end_requests(
    service: Service,
    (drain, checks): (Duration, Duration),
    stop: CancellationToken,
    closing: CancellationToken,
) {
    stop.cancelled().await;
    tokio::time::sleep(drain).await;
    closing.cancel();
    tokio::time::sleep(checks).await;
    service.stop_checks();
}

/// Waits for the first task to end, tells all others to stop, and waits for them, too. Returns the first error.
async fn end_together(mut tasks: JoinSet<Result<()>>, stop: &CancellationToken) -> Result<()> {
    let mut outcome = Ok(());
    while let Some(task) = tasks.join_next().await {
        stop.cancel();
        outcome = outcome.and(task.context("a task of the server panicked").flatten());
    }
    outcome
}

/// Runs maintenance and sends mails until `stop` is cancelled. Also listens for previews drawn by workers of other processes, unless this
/// process draws previews itself.
async fn maintain(service: Service, draws_previews: bool, stop: CancellationToken) -> Result<()> {
    let listening =
        async { if draws_previews { std::future::pending().await } else { service.listen_for_pictures().await } };
    tokio::select! {
        () = service.run_maintenance() => {}
        () = service.send_mails() => {}
        () = listening => {}
        () = stop.cancelled() => {}
    }
    Ok(())
}

fn serve_options(config: &Config) -> ServeOptions {
    ServeOptions {
        max_connections: open_files::connections_within_limit(config.max_connections),
        shutdown: config.shutdown,
        trusted_proxies: config.trusted_proxies.clone(),
    }
}
