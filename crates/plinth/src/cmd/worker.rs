//! `plinth worker`: claims and runs queued renders.

use anyhow::{Context as _, Result};
use clap::{ArgMatches, Command};
use plinth_service::storage::FirstIdentity;
use plinth_worker::Phase;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{block_on, fence};
use crate::config::{self, Config, Group, WORKER_CONNECTIONS};
use crate::metrics::Metrics;
use crate::{health, logs, signals};

const GROUPS: &[Group] =
    &[Group::Worker, Group::WorkerProcess, Group::Data, Group::Machine, Group::Fence, Group::Operation];

pub(crate) fn command() -> Command {
    Command::new("worker")
        .about("Claims and runs queued renders; any number of machines can run workers")
        .after_help(
            "Several machines share a database and a store:\n  \
             plinth worker --database-url postgres://USER@HOST/NAME --store-url s3://BUCKET/PREFIX",
        )
        .args(config::args(GROUPS))
}

pub(crate) fn run(args: &ArgMatches) -> Result<()> {
    let mut config = Config::read(args)?;
    config.database_connections.get_or_insert(WORKER_CONNECTIONS);
    let _flushed_at_the_end = logs::begin(&config)?;
    fence::begin(&config)?;
    block_on(work(&config))
}

async fn work(config: &Config) -> Result<()> {
    let stop = signals::listen()?;
    let options = config.worker.clone();
    let metrics = Metrics::begin(config).await?;
    let service = config::open_service(config, &config.public_url_at(config.listen)?, 1).await?;
    config::check_store(config, &service, FirstIdentity::LeaveToServer).await?;
    // The worker checks no uploads, but deletes those that killed servers left.
    config::make_incoming_folder(config)?;
    let mut tasks: JoinSet<Result<()>> = JoinSet::new();
    let (phase, seen) = watch::channel(Phase::Starting);
    // The worker responds to health checks and serves metrics until its last job has ended.
    let drained = CancellationToken::new();
    if let Some(address) = config.health_listen {
        let router = health::of_worker(service.clone(), seen);
        tasks.spawn(health::serve(health::listen(address).await?, router, drained.clone()));
    }
    if let Some(metrics) = metrics {
        tasks.spawn(metrics.serve(None, drained.clone()));
    }
    let (maintenance, ended) = (service.clone(), stop.clone());
    tasks.spawn(async move {
        tokio::select! {
            () = maintenance.run_maintenance() => {}
            () = ended.cancelled() => {}
        }
        Ok(())
    });
    let (worker, ended) = (service.clone(), stop.clone());
    tasks.spawn(async move {
        let _drained = drained.drop_guard();
        Ok(plinth_worker::run(worker, options, ended, phase).await?)
    });
    // When one task ends, all other tasks are told to stop. The loop ends when all tasks have ended.
    let mut outcome = Ok(());
    while let Some(task) = tasks.join_next().await {
        stop.cancel();
        outcome = outcome.and(task.context("a task of the worker panicked").flatten());
    }
    service.db().close().await;
    outcome
}
