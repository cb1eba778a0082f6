//! `plinth serve`: the HTTP interface, the pages, and what has to be done again and again.

use std::io::Write;

use anyhow::{Context as _, Result};
use clap::{Arg, ArgAction, ArgMatches, Command};
use plinth_api::{Api, ServeOptions, router};
use plinth_studio::Studio;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::{first_start, open_files, place};
use crate::cmd::{block_on, fence};
use crate::config::{self, Config, Group};
use crate::metrics::Metrics;
use crate::{logs, signals};

const GROUPS: &[Group] = &[
    Group::Address,
    Group::Http,
    Group::Data,
    Group::Keys,
    Group::Rules,
    Group::Worker,
    Group::Machine,
    Group::Fence,
    Group::Operation,
];

pub(crate) fn command() -> Command {
    let no_worker = "Serve the interface only; `plinth worker` renders, here or on other machines";
    Command::new("serve")
        .about("Serves the HTTP interface and pages for browsers, and renders, in one process tree")
        .arg(Arg::new("no-worker").long("no-worker").action(ArgAction::SetTrue).help(no_worker))
        .args(config::args(GROUPS))
}

pub(crate) fn run(args: &ArgMatches, out: &mut dyn Write) -> Result<()> {
    let config = Config::read(args)?;
    logs::begin(&config);
    fence::begin(&config)?;
    block_on(serve(&config, !args.get_flag("no-worker"), out))
}

async fn serve(config: &Config, with_worker: bool, out: &mut dyn Write) -> Result<()> {
    let stop = signals::listen()?;
    let listener = TcpListener::bind(config.listen).await;
    let listener =
        listener.with_context(|| format!("{} cannot be listened at; give another with --listen", config.listen))?;
    let address = listener.local_addr()?;
    let public_url = config.public_url_at(address)?;
    let _place = place::take(config)?;
    let metrics = Metrics::begin(config).await?;
    let service = config::open_service(config, &public_url).await?;
    if let Some(packs) = config.products.clone() {
        service.set_products(packs).await?;
    }
    // Whoever waits for the line that it serves may rely on the account.
    let welcome = first_start::welcome(&service, &public_url).await?;
    writeln!(out, "Plinth serves at http://{address}")?;
    write!(out, "{}", welcome.unwrap_or_default())?;
    out.flush()?;
    let mut tasks: JoinSet<Result<()>> = JoinSet::new();
    if let Some(metrics) = metrics {
        tasks.spawn(metrics.serve(service.clone(), stop.clone()));
    }
    let upkeep = service.clone();
    let ended = stop.clone();
    tasks.spawn(async move {
        tokio::select! {
            () = upkeep.upkeep() => {}
            () = ended.cancelled() => {}
        }
        Ok(())
    });
    if with_worker {
        let (worker, ended) = (service.clone(), stop.clone());
        let options = config::worker_options(config)?;
        tasks.spawn(async move { Ok(plinth_worker::run(worker, options, ended).await?) });
    }
    let options = ServeOptions {
        max_connections: open_files::connections_within_limit(config.max_connections),
        shutdown: config.shutdown,
        trusted_proxies: config.trusted_proxies.clone(),
    };
    let pages = plinth_studio::router(&Studio::new(service.clone(), &public_url));
    let site = router(&Api::new(service.clone(), public_url.as_str()), pages);
    let ended = stop.clone();
    tasks.spawn(async move {
        plinth_api::serve(listener, site, options, ended).await;
        Ok(())
    });
    // Whatever ends first ends all; the others end in their own time.
    let mut outcome = Ok(());
    while let Some(task) = tasks.join_next().await {
        stop.cancel();
        outcome = outcome.and(task.context("a part of the server broke").flatten());
    }
    service.db().close().await;
    outcome
}
