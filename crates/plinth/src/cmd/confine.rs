//! Resource limits that a process sets on itself before it reads untrusted files.

use anyhow::{Context as _, Result};
use clap::{Arg, ArgMatches};
use plinth_fence::Fence;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Sets the soft limit of a resource for this process and its children to `most`, but not above the hard limit. The
/// hard limit is not changed, because only a soft limit that is exceeded raises a signal of its own, such as SIGXCPU.
/// Errors: the system rejects the limit. The message contains `what`, the name of the limit.
pub(super) fn bound(resource: Resource, most: u64, what: &str) -> Result<()> {
    let allowed = getrlimit(resource);
    let current = allowed.maximum.map_or(most, |maximum| maximum.min(most));
    setrlimit(resource, Rlimit { current: Some(current), ..allowed })
        .with_context(|| format!("{what} cannot be limited"))
}

/// Raises the limit of processor time for another task by `secs`, but not above the hard limit.
/// Errors: the system rejects the limit.
pub(super) fn allow_processor_time(secs: u64) -> Result<()> {
    let Some(limit) = getrlimit(Resource::Cpu).current else { return Ok(()) };
    bound(Resource::Cpu, limit.saturating_add(secs), "processor time")
}

/// Forbids core files, and limits private writable memory. The address space is not limited, because drivers reserve
/// far more address space than they use. Also makes the kernel kill this process first if the system runs out of
/// memory.
/// Errors: the system rejects a limit.
pub(super) fn bound_memory(bytes: u64) -> Result<()> {
    // An error is ignored: without /proc, the kernel chooses the process to kill by itself.
    #[cfg(target_os = "linux")]
    drop(std::fs::write("/proc/self/oom_score_adj", b"1000"));
    bound(Resource::Core, 0, "the size of core files")?;
    bound(Resource::Data, bytes, "memory")
}

/// Returns the hidden argument `--fence`.
pub(super) fn fence_arg() -> Arg {
    Arg::new("fence").long("fence").value_name("JSON").help("Sandbox that the process enters before it reads anything")
}

/// Enters the sandbox that `--fence` describes. Does nothing without this argument.
/// Errors: the description is invalid, or the sandbox cannot be entered.
pub(super) fn enter_fence(args: &ArgMatches) -> Result<()> {
    let Some(fence) = args.get_one::<String>("fence") else { return Ok(()) };
    let fence = Fence::from_argument(fence).context("--fence is not a valid description of a sandbox")?;
    fence.enter().context("the sandbox cannot be entered")
}

/// Makes the kernel kill this process when its parent ends. Must be called inside the sandbox, because entering it may
/// change the user, which resets this setting.
/// Errors: the system rejects the setting. The error has the message `message`.
#[cfg_attr(not(target_os = "linux"), expect(unused_variables, clippy::unnecessary_wraps, reason = "Linux only"))]
pub(super) fn end_with_parent(message: &'static str) -> Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, set_parent_process_death_signal};

        set_parent_process_death_signal(Some(Signal::KILL)).context(message)?;
    }
    Ok(())
}
