//! Bounds that a process which reads what strangers sent sets itself, and the kernel holds.

use anyhow::{Context as _, Result};
use clap::{Arg, ArgMatches};
use plinth_fence::Fence;
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
/// drivers reserve far more of it than they use. Where the system runs out of memory, it ends this process first.
/// Errors: the system refuses.
pub(super) fn bound_memory(bytes: u64) -> Result<()> {
    // Without /proc the system guesses.
    #[cfg(target_os = "linux")]
    drop(std::fs::write("/proc/self/oom_score_adj", b"1000"));
    bound(Resource::Core, 0, "the size of core files")?;
    bound(Resource::Data, bytes, "memory")
}

/// The hidden argument `--fence`.
pub(super) fn fence_arg() -> Arg {
    Arg::new("fence").long("fence").value_name("JSON").help("The fence that it enters before it reads anything")
}

/// Enters the fence that was asked for, if one was.
/// Errors: it is none, or cannot be entered.
pub(super) fn enter_fence(args: &ArgMatches) -> Result<()> {
    let Some(fence) = args.get_one::<String>("fence") else { return Ok(()) };
    let fence = Fence::from_argument(fence).context("--fence describes no fence")?;
    fence.enter().context("the fence cannot be entered")
}

/// Ends this process when the one that started it ends. To be called behind the fence: a change of user undoes it.
/// Errors: the system refuses, in these words.
#[cfg_attr(not(target_os = "linux"), expect(unused_variables, clippy::unnecessary_wraps, reason = "Linux only"))]
pub(super) fn end_with_parent(words: &'static str) -> Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, set_parent_process_death_signal};

        set_parent_process_death_signal(Some(Signal::KILL)).context(words)?;
    }
    Ok(())
}
