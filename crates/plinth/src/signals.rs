//! Signal handling of commands that run as servers.

use anyhow::{Context as _, Result};
use tokio_util::sync::CancellationToken;

use crate::system::EndingSignals;

/// Added to the number of a signal for the exit code, as in shells.
const SIGNALLED: i32 = 128;

/// Returns a token that the first SIGINT, SIGTERM or SIGHUP cancels. A second signal ends the program at once. SIGHUP
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
