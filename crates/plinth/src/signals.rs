//! Signal handling of commands that run as servers.

use anyhow::{Context as _, Result};
use tokio_util::sync::CancellationToken;

use crate::system::EndingSignals;

/// A program that was ended by a signal has the exit code 128 plus the number of the signal, as in shells.
const SIGNALLED: i32 = 128;

/// Returns a token that is cancelled by the first signal among SIGINT, SIGTERM and SIGHUP. A second signal ends the program at once. SIGHUP
/// remains ignored if the program was started with `nohup`.
pub(crate) fn listen() -> Result<CancellationToken> {
    let mut signals = EndingSignals::listen().context("signal handlers cannot be installed")?;
    let stop = CancellationToken::new();
    let wanted = stop.clone();
    tokio::spawn(async move {
        loop {
            let signal = signals.recv().await;
            if wanted.is_cancelled() {
                // The normal `exit` would run destructors of data that other threads still use.
                signal_hook::low_level::exit(SIGNALLED + signal);
            }
            tracing::info!("shutting down; a second signal stops immediately");
            wanted.cancel();
        }
    });
    Ok(stop)
}
