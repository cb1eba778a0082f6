//! `plinth worker`: renders queued renders.

use anyhow::{Context as _, Result};
use clap::{ArgMatches, Command};
use tokio::task::JoinSet;

use super::{block_on, fence};
use crate::config::{self, Config, Group};
use crate::metrics::Metrics;
use crate::{logs, signals};

const GROUPS: &[Group] = &[Group::Worker, Group::Data, Group::Machine, Group::Fence, Group::Operation];

pub(crate) fn command() -> Command {
    Command::new("worker")
        .about("Renders queued renders; runs on any number of machines")
        .after_help(
            "Several machines share a database and a store:\n  \
             plinth worker --database-url postgres://USER@HOST/NAME --store-url s3://BUCKET/PREFIX",
        )
        .args(config::args(GROUPS))
}

pub(crate) fn run(args: &ArgMatches) -> Result<()> {
    let config = Config::read(args)?;
    logs::begin(&config);
    fence::begin(&config)?;
    block_on(work(&config))
}

async fn work(config: &Config) -> Result<()> {
    let stop = signals::listen()?;
    let options = config::worker_options(config)?;
    let metrics = Metrics::begin(config).await?;
    let service = config::open_service(config, &config.public_url_at(config.listen)?).await?;
    let mut tasks: JoinSet<Result<()>> = JoinSet::new();
    if let Some(metrics) = metrics {
        tasks.spawn(metrics.serve(service.clone(), stop.clone()));
    }
    let (upkeep, ended) = (service.clone(), stop.clone());
    tasks.spawn(async move {
        tokio::select! {
            () = upkeep.upkeep() => {}
            () = ended.cancelled() => {}
        }
        Ok(())
    });
    let (worker, ended) = (service.clone(), stop.clone());
    tasks.spawn(async move { Ok(plinth_worker::run(worker, options, ended).await?) });
    // When one task ends, all are told to stop and are waited for.
    let mut outcome = Ok(());
    while let Some(task) = tasks.join_next().await {
        stop.cancel();
        outcome = outcome.and(task.context("a task of the worker panicked").flatten());
    }
    service.db().close().await;
    outcome
}
