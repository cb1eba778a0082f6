//! Signal handling of commands that run as servers.

use anyhow::{Context as _, Result};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Exit code after SIGINT, as shells report it.
const INTERRUPTED: i32 = 130;
const TERMINATED: i32 = 143;

/// Returns a token that the first SIGINT or SIGTERM cancels. A second signal ends the program at once.
pub(crate) fn listen() -> Result<CancellationToken> {
    let message = "signal handlers cannot be installed";
    let mut interrupt = signal(SignalKind::interrupt()).context(message)?;
    let mut terminate = signal(SignalKind::terminate()).context(message)?;
    let stop = CancellationToken::new();
    let wanted = stop.clone();
    tokio::spawn(async move {
        loop {
            let exit_code = tokio::select! {
                _signal = interrupt.recv() => INTERRUPTED,
                _signal = terminate.recv() => TERMINATED,
            };
            if wanted.is_cancelled() {
                // The normal `exit` would run destructors of data that other threads still use.
                signal_hook::low_level::exit(exit_code);
            }
            tracing::info!("shutting down; a second signal stops immediately");
            wanted.cancel();
        }
    });
    Ok(stop)
}
