//! Resource limits that a process sets on itself before it reads untrusted files.

use anyhow::{Context as _, Result};
use clap::{Arg, ArgMatches};
use plinth_fence::Fence;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Lowers the soft limit of a resource for this process and its children, unless it is lower already. The hard limit is
/// unchanged, so that exceeding the soft one raises a signal that names the resource.
/// Errors: the system rejects the limit; the message contains `what`.
pub(super) fn bound(resource: Resource, most: u64, what: &str) -> Result<()> {
    let allowed = getrlimit(resource);
    let current = allowed.maximum.map_or(most, |maximum| maximum.min(most));
    setrlimit(resource, Rlimit { current: Some(current), ..allowed })
        .with_context(|| format!("{what} cannot be limited"))
}

/// Forbids core files and limits private writable memory. Address space is not limited, because drivers reserve far
/// more than they use. If the system runs out of memory, the kernel kills this process first.
/// Errors: the system rejects a limit.
pub(super) fn bound_memory(bytes: u64) -> Result<()> {
    // Without /proc the kernel uses its own heuristics.
    #[cfg(target_os = "linux")]
    drop(std::fs::write("/proc/self/oom_score_adj", b"1000"));
    bound(Resource::Core, 0, "the size of core files")?;
    bound(Resource::Data, bytes, "memory")
}

/// The hidden argument `--fence`.
pub(super) fn fence_arg() -> Arg {
    Arg::new("fence").long("fence").value_name("JSON").help("Sandbox that the process enters before it reads anything")
}

/// Enters the sandbox described by `--fence`, if that is given.
/// Errors: the description is invalid, or the sandbox cannot be entered.
pub(super) fn enter_fence(args: &ArgMatches) -> Result<()> {
    let Some(fence) = args.get_one::<String>("fence") else { return Ok(()) };
    let fence = Fence::from_argument(fence).context("--fence is not a valid description of a sandbox")?;
    fence.enter().context("the sandbox cannot be entered")
}

/// Makes the kernel kill this process when its parent ends. Must be called inside the sandbox, because a change of the
/// user resets it.
/// Errors: the system rejects it; the error has this message.
#[cfg_attr(not(target_os = "linux"), expect(unused_variables, clippy::unnecessary_wraps, reason = "Linux only"))]
pub(super) fn end_with_parent(message: &'static str) -> Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, set_parent_process_death_signal};

        set_parent_process_death_signal(Some(Signal::KILL)).context(message)?;
    }
    Ok(())
}
