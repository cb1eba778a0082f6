//! Options of the worker.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use plinth_fence::FenceOptions;
use plinth_spec::{Takes, WorkClass};
use plinth_worker::{WorkerOptions, child_environment};

use super::lookup::Lookup;
use super::settings::{Machine, count_if_set, megabytes, seconds};
use super::table as row;
use crate::system::{host_name, own_program};

/// Interval at which a worker checks for queued renders even though the database notifies it of them.
const POLL_NOTIFIED: Duration = Duration::from_secs(30);

/// Reads the options of the worker. `has_notifications` tells whether the database notifies it of queued renders.
pub(super) fn worker_options(
    lookup: &Lookup<'_>,
    data_dir: &Path,
    machine: &Machine,
    fence: FenceOptions,
    has_notifications: bool,
) -> Result<WorkerOptions> {
    let text = |row| -> Result<Option<String>> { Ok(lookup.find(row)?.map(|found| found.text)) };
    let program =
        own_program().context("the path of this executable is unknown, so it cannot be started for renders")?;
    let scratch = match lookup.find(&row::WORKER_DIR)? {
        Some(found) => std::path::absolute(found.path()).context("the current folder is not accessible")?,
        None => data_dir.join("worker"),
    };
    let options = WorkerOptions::new(program, scratch);
    Ok(WorkerOptions {
        name: text(&row::WORKER_NAME)?.unwrap_or_else(host_and_process),
        pool: text(&row::WORKER_POOL)?.unwrap_or_default(),
        takes: match lookup.find(&row::TAKES)? {
            Some(found) => {
                found.parse(&format!("a list of some of {}, {}", WorkClass::NAMES.join(", "), Takes::PREVIEW))?
            }
            None => Takes::default(),
        },
        exit_when_idle: lookup.find(&row::EXIT_WHEN_IDLE)?.as_ref().map(seconds).transpose()?,
        slots: count_if_set(lookup, &row::WORKER_SLOTS)?.and_then(NonZeroUsize::new),
        environment: child_environment(std::env::vars_os()),
        adapter: machine.adapter.clone(),
        ffmpeg: from_anywhere(&machine.ffmpeg)?,
        encoder: machine.encoder,
        fence,
        timeout: Duration::from_secs(lookup.count(&row::RENDER_TIMEOUT_SECONDS)?),
        preview_timeout: Duration::from_secs(lookup.count(&row::PREVIEW_TIMEOUT_SECONDS)?),
        preview_idle: Duration::from_secs(lookup.count(&row::PREVIEW_IDLE_SECONDS)?),
        outage: Duration::from_secs(lookup.count(&row::WORKER_OUTAGE_SECONDS)?),
        memory_bytes: megabytes(lookup, &row::RENDER_MEMORY_MB)?,
        disk_bytes: megabytes(lookup, &row::RENDER_DISK_MB)?,
        cache_bytes: megabytes(lookup, &row::MODEL_CACHE_MB)?,
        poll: if has_notifications { POLL_NOTIFIED } else { options.poll },
        grace: Duration::from_secs(lookup.count(&row::WORKER_GRACE_SECONDS)?),
        ..options
    })
}

fn host_and_process() -> String {
    format!("{}-{}", host_name(), std::process::id())
}

/// Makes a path absolute, so that it is valid in every current folder. Does not change a bare program name, which is
/// looked up on PATH.
fn from_anywhere(program: &Path) -> Result<PathBuf> {
    if program.components().count() == 1 {
        return Ok(program.to_owned());
    }
    std::path::absolute(program).context("the current folder is not accessible")
}
