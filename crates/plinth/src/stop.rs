//! Signal handling of `plinth render`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use plinth_media::remove_unfinished;

use crate::note::note;
use crate::system::ending_signals;

/// Interval at which the program checks whether a signal has arrived.
const PAUSE: Duration = Duration::from_millis(20);

/// The error of a render that a signal stopped.
#[derive(Debug)]
pub(crate) struct Stopped {
    /// 128 plus the number of the signal, as shells report it.
    pub(crate) exit_code: u8,
}

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("cancelled")
    }
}

impl std::error::Error for Stopped {}

/// Handles SIGINT, SIGTERM and SIGHUP during a render. SIGHUP remains ignored if the program was started with `nohup`, so that the
/// render survives the end of its terminal.
///
/// Before the first frame is drawn, a signal ends the program at once, because the loading of a model or the start of a
/// driver cannot be interrupted otherwise. From then on, a signal makes the job stop, as it does while an encoder is
/// tested. A second signal ends the program without waiting for the job. In all cases, files that are not complete are
/// removed.
#[derive(Clone, Default)]
pub(crate) struct Stop {
    wanted: Arc<AtomicBool>,
    job_is_awaited: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Stop {
    /// Starts handling signals.
    /// Errors: the system does not allow signal handlers.
    pub(crate) fn listen() -> std::io::Result<Self> {
        let stop = Self::default();
        let arrived = Arc::new(AtomicUsize::new(0));
        for signal in ending_signals() {
            let number = usize::try_from(signal).unwrap_or_default();
            signal_hook::flag::register_usize(signal, Arc::clone(&arrived), number)?;
        }
        let watched = stop.clone();
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(PAUSE);
                let signal = arrived.swap(0, Ordering::SeqCst);
                if signal != 0 {
                    watched.hear(signal);
                }
            }
        });
        Ok(stop)
    }

    /// Returns a flag that is true if the job should stop.
    pub(crate) fn wanted(&self) -> &AtomicBool {
        &self.wanted
    }

    /// Makes the first signal wait for the job, which must check [`Self::wanted`] often from this call on.
    pub(crate) fn wait_for_job(&self) {
        self.job_is_awaited.store(true, Ordering::SeqCst);
    }

    /// Makes signals end the program at once again, after a job that [`Self::wait_for_job`] announced.
    /// Errors: [`Stopped`] if a signal has arrived in the meantime.
    pub(crate) fn job_ended(&self) -> Result<(), Stopped> {
        self.job_is_awaited.store(false, Ordering::SeqCst);
        if self.wanted.load(Ordering::SeqCst) { Err(self.stopped()) } else { Ok(()) }
    }

    /// Returns the error with which the program must end after a signal.
    pub(crate) fn stopped(&self) -> Stopped {
        let signal = self.signal.load(Ordering::SeqCst);
        Stopped { exit_code: 128 + u8::try_from(signal).unwrap_or_default() }
    }

    fn hear(&self, signal: usize) {
        self.signal.store(signal, Ordering::SeqCst);
        let again = self.wanted.swap(true, Ordering::SeqCst);
        if again || !self.job_is_awaited.load(Ordering::SeqCst) {
            let stopped = self.stopped();
            note!("plinth: {stopped}");
            remove_unfinished();
            // The normal `exit` would run destructors of data that threads of the driver still use.
            signal_hook::low_level::exit(stopped.exit_code.into());
        }
        note!("plinth: stopping after this frame; a second signal stops immediately");
    }
}
