//! The wish to stop: Ctrl-C, or a signal to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};

/// Pause between two looks for a signal.
const PAUSE: Duration = Duration::from_millis(20);

/// Somebody stopped the program.
#[derive(Debug)]
pub(crate) struct Stopped {
    /// 128 and the number of the signal, as shells report it.
    pub(crate) exit_code: u8,
}

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("cancelled")
    }
}

impl std::error::Error for Stopped {}

/// Listens for a wish to stop.
///
/// While there are no files yet it ends the program at once: nothing is lost, and neither the reading of a model nor a
/// driver that starts can be interrupted otherwise. Later the job ends itself and removes its files; a second signal does
/// not wait for that.
#[derive(Clone, Default)]
pub(crate) struct Stop {
    wanted: Arc<AtomicBool>,
    files_exist: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Stop {
    /// Listens from now on.
    /// Errors: the system allows no signal handlers.
    pub(crate) fn listen() -> std::io::Result<Self> {
        let stop = Self::default();
        let arrived = Arc::new(AtomicUsize::new(0));
        // Not SIGHUP: whoever starts a render with `nohup` wants it to go on.
        for signal in [SIGINT, SIGTERM] {
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

    /// Whether the job shall end.
    pub(crate) fn wanted(&self) -> &AtomicBool {
        &self.wanted
    }

    /// Says that files begin now, which only the job can remove. It must look at [`Self::wanted`] after this.
    pub(crate) fn files_begin(&self) {
        self.files_exist.store(true, Ordering::SeqCst);
    }

    /// What the program ends with.
    pub(crate) fn stopped(&self) -> Stopped {
        let signal = self.signal.load(Ordering::SeqCst);
        Stopped { exit_code: 128 + u8::try_from(signal).unwrap_or_default() }
    }

    fn hear(&self, signal: usize) {
        self.signal.store(signal, Ordering::SeqCst);
        let again = self.wanted.swap(true, Ordering::SeqCst);
        if again || !self.files_exist.load(Ordering::SeqCst) {
            let stopped = self.stopped();
            eprintln!("plinth: {stopped}");
            // Not by way of `exit`, whose handlers would pull a driver's ground from under its threads.
            signal_hook::low_level::exit(stopped.exit_code.into());
        }
        eprintln!("plinth: stopping after this frame; a second signal stops at once");
    }
}
