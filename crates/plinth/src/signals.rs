//! Ctrl-C and signals to end, for commands that serve.

use anyhow::{Context as _, Result};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Exit codes as shells report them.
const INTERRUPTED: i32 = 130;
const TERMINATED: i32 = 143;

/// A token that the first signal cancels. The second one ends the program at once.
pub(crate) fn listen() -> Result<CancellationToken> {
    let words = "signals cannot be caught";
    let mut interrupt = signal(SignalKind::interrupt()).context(words)?;
    let mut terminate = signal(SignalKind::terminate()).context(words)?;
    let stop = CancellationToken::new();
    let wanted = stop.clone();
    tokio::spawn(async move {
        loop {
            let exit_code = tokio::select! {
                _signal = interrupt.recv() => INTERRUPTED,
                _signal = terminate.recv() => TERMINATED,
            };
            if wanted.is_cancelled() {
                // Not by way of `exit`, whose handlers would pull the ground from under other threads.
                signal_hook::low_level::exit(exit_code);
            }
            tracing::info!("stopping; a second signal stops at once");
            wanted.cancel();
        }
    });
    Ok(stop)
}
