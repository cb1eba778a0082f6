//! Signal handling of commands that run as servers.

use std::ffi::c_int;

use anyhow::{Context as _, Result};
use signal_hook::consts::SIGHUP;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Exit code after SIGHUP: 128 plus the number of the signal, as in shells.
const HUNG_UP: i32 = 129;
const INTERRUPTED: i32 = 130;
const TERMINATED: i32 = 143;

/// Returns a token that the first SIGINT, SIGTERM or SIGHUP cancels. A second signal ends the program at once. SIGHUP
/// remains ignored if the program was started with `nohup`.
pub(crate) fn listen() -> Result<CancellationToken> {
    let message = "signal handlers cannot be installed";
    let mut interrupt = signal(SignalKind::interrupt()).context(message)?;
    let mut terminate = signal(SignalKind::terminate()).context(message)?;
    let mut hang_up = if is_ignored(SIGHUP) { None } else { Some(signal(SignalKind::hangup()).context(message)?) };
    let stop = CancellationToken::new();
    let wanted = stop.clone();
    tokio::spawn(async move {
        loop {
            let exit_code = tokio::select! {
                _signal = interrupt.recv() => INTERRUPTED,
                _signal = terminate.recv() => TERMINATED,
                Some(_signal) = async { hang_up.as_mut()?.recv().await } => HUNG_UP,
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

/// Returns whether the program was started in such a way that it ignores this signal, for example with `nohup`.
#[expect(unsafe_code, reason = "no safe function reads how a signal is handled")]
pub(crate) fn is_ignored(signal: c_int) -> bool {
    // SAFETY: `sigaction` is plain data, for which zeros are valid. Without a new action, `sigaction` only writes the
    // current action to `current`.
    unsafe {
        let mut current: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut current) == 0 && current.sa_sigaction == libc::SIG_IGN
    }
}
