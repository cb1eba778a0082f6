//! Bounds that a process which reads what strangers sent sets itself, and the kernel holds.

use anyhow::{Context as _, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Bounds a resource of this process and of those that it will start, unless it is bounded more tightly already. What the
/// system allows at most stays: going over the bound is then a signal that says why.
/// Errors: the system refuses; `what` is in the words.
pub(super) fn bound(resource: Resource, most: u64, what: &str) -> Result<()> {
    let allowed = getrlimit(resource);
    let current = allowed.maximum.map_or(most, |maximum| maximum.min(most));
    setrlimit(resource, Rlimit { current: Some(current), ..allowed })
        .with_context(|| format!("{what} cannot be bounded"))
}

/// Forbids core files, and bounds memory: what a process may write to and shares with nobody. Address space is left alone:
/// drivers reserve far more of it than they use.
/// Errors: the system refuses.
pub(super) fn bound_memory(bytes: u64) -> Result<()> {
    bound(Resource::Core, 0, "the size of core files")?;
    bound(Resource::Data, bytes, "memory")
}

/// Ends this process when the one that started it ends, and offers it first where the system runs out of memory.
/// Errors: the system refuses, in these words.
#[cfg_attr(not(target_os = "linux"), expect(unused_variables, clippy::unnecessary_wraps, reason = "Linux only"))]
pub(super) fn end_with_parent(words: &'static str) -> Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, set_parent_process_death_signal};

        set_parent_process_death_signal(Some(Signal::KILL)).context(words)?;
        // Without /proc the system guesses.
        drop(std::fs::write("/proc/self/oom_score_adj", b"1000"));
    }
    Ok(())
}
