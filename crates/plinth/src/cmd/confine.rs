//! Resource limits that a process sets on itself before it reads untrusted files.

use anyhow::{Context as _, Result};
use clap::{Arg, ArgMatches};
use plinth_fence::Fence;

use crate::system::{self, Limit, Resource, limit, set_limit};

/// Added to the nice value of processes that read models and draw, so that the server on the same machine responds quickly.
pub(super) const JOB_NICENESS: i32 = 5;
/// Processor time in seconds that a process has between the signal SIGXCPU and SIGKILL.
const CPU_GRACE_SECS: u64 = 5;
/// Maximum number of files that each process has open at the same time. It is the usual soft limit of Linux systems, so drivers and
/// encoders need fewer. The worker reads the list of these files whenever it measures a job.
const OPEN_FILES: u64 = 1024;

/// Sets the soft and the hard limit of a resource for this process and its children to `most`, but not above the present
/// hard limit.
/// Errors: the system rejects the limit. The message contains `what`, the name of the limit.
pub(super) fn bound(resource: Resource, most: u64, what: &str) -> Result<()> {
    let most = Some(limit(resource).maximum.map_or(most, |maximum| maximum.min(most)));
    set_limit(resource, Limit { current: most, maximum: most }).with_context(|| format!("{what} cannot be limited"))
}

/// Limits the processor time of this process and of each of its children. The soft limit raises SIGXCPU. The hard limit is
/// higher, because it raises SIGKILL, which does not tell the reason. With `may_be_raised`, the hard limit is not changed, so
/// that the worker can raise the soft limit for another task; the sandbox prevents the process from raising the limit itself.
/// Errors: the system rejects the limit.
pub(super) fn bound_processor_time(secs: u64, may_be_raised: bool) -> Result<()> {
    let allowed = limit(Resource::ProcessorTime).maximum;
    let within = |secs: u64| Some(allowed.map_or(secs, |maximum| maximum.min(secs)));
    let maximum = if may_be_raised { allowed } else { within(secs.saturating_add(CPU_GRACE_SECS)) };
    set_limit(Resource::ProcessorTime, Limit { current: within(secs), maximum })
        .context("processor time cannot be limited")
}

/// Limits the number of open files of this process, and that of each of its children.
/// Errors: the system rejects the limit.
pub(super) fn bound_open_files() -> Result<()> {
    bound(Resource::OpenFiles, OPEN_FILES, "the number of open files")
}

/// Forbids core files, and limits private writable memory. The address space is not limited, because drivers reserve
/// far more address space than they use. Also makes the kernel kill this process first if the system runs out of
/// memory.
/// Errors: the system rejects a limit.
pub(super) fn bound_memory(bytes: u64) -> Result<()> {
    system::be_first_without_memory();
    bound(Resource::CoreFile, 0, "the size of core files")?;
    bound(Resource::PrivateMemory, bytes, "memory")
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
pub(super) fn end_with_parent(message: &'static str) -> Result<()> {
    system::end_with_parent().context(message)
}
