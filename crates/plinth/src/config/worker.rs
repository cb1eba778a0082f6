//! Options of the worker.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use plinth_worker::{WorkerOptions, child_environment};

use super::settings::Config;

/// Interval at which the worker checks for renders that other processes have queued.
const POLL: Duration = Duration::from_millis(500);
const POLL_NOTIFIED: Duration = Duration::from_secs(30);

pub(crate) fn worker_options(config: &Config) -> Result<WorkerOptions> {
    Ok(WorkerOptions {
        name: config.worker_name.clone().unwrap_or_else(host_and_process),
        pool: config.worker_pool.clone(),
        takes: config.takes.clone(),
        exit_when_idle: None,
        slots: config.worker_slots.and_then(NonZeroUsize::new),
        scratch: config.worker_dir.clone(),
        program: std::env::current_exe()
            .context("the path of this executable is unknown, so it cannot be started for renders")?,
        environment: child_environment(std::env::vars_os()),
        adapter: config.machine.adapter.clone(),
        ffmpeg: from_anywhere(&config.machine.ffmpeg)?,
        encoder: config.machine.encoder,
        fence: config.fence.clone(),
        timeout: config.render_timeout,
        preview_timeout: config.preview_timeout,
        outage: config.worker_outage,
        room_bytes: WorkerOptions::ROOM_BYTES,
        memory_bytes: config.render_memory_bytes,
        cache_bytes: config.model_cache_bytes,
        poll: if config.is_shared() { POLL_NOTIFIED } else { POLL },
        grace: config.worker_grace,
    })
}

fn host_and_process() -> String {
    let host = rustix::system::uname();
    format!("{}-{}", host.nodename().to_string_lossy(), std::process::id())
}

/// Makes a path absolute, so that it is valid in every current folder. Does not change a bare program name, which is
/// looked up on PATH.
fn from_anywhere(program: &Path) -> Result<PathBuf> {
    if program.components().count() == 1 {
        return Ok(program.to_owned());
    }
    std::path::absolute(program).context("the current folder is not accessible")
}
