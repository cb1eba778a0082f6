//! The part of the sandbox that the server sets up: protects the server from its jobs, and checks what the kernel
//! supports.

use anyhow::Result;
use plinth_fence::{FenceMode, Support, hide_from_others, runs_as_root};
use serde_json::{Value, json};

use crate::config::Config;
use crate::system::check_can_serve;

/// Warning for a server that runs as root.
const AS_ROOT: &str = "jobs run as root; start the server as a dedicated user, or choose one for jobs with --job-user";

/// Prevents jobs from accessing this process, and logs which protections the jobs' sandbox lacks.
/// Errors: this system is not Linux, a complete sandbox is required but this kernel does not support it, or jobs cannot run as the
/// requested user.
pub(super) fn begin(config: &Config) -> Result<()> {
    check_can_serve()?;
    hide_from_others();
    for warning in Found::look(config)?.warnings {
        tracing::warn!("{warning}");
    }
    Ok(())
}

/// The protections that this machine supports.
pub(super) struct Found {
    mode: FenceMode,
    user: Option<String>,
    support: Support,
    warnings: Vec<String>,
}

impl Found {
    /// Checks which protections this kernel supports, and as which user this process runs.
    /// Errors: a complete sandbox is required but this kernel does not support it, or jobs cannot run as the requested user.
    pub(super) fn look(config: &Config) -> Result<Self> {
        let (options, support) = (&config.fence, Support::probe());
        let lacks = options.check(&support)?;
        let mut warnings: Vec<String> =
            lacks.into_iter().map(|reason| format!("the fence of jobs is incomplete: {reason}")).collect();
        warnings.extend(check_can_serve().err().map(|error| error.to_string()));
        if options.mode == FenceMode::Off {
            warnings.push(
                "jobs have no fence (--fence off): a compromised job can access everything that the server can".into(),
            );
        }
        if runs_as_root() && options.user.is_none() {
            warnings.push(AS_ROOT.to_owned());
        }
        Ok(Self { mode: options.mode, user: options.user.as_ref().map(|user| user.name.clone()), support, warnings })
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let landlock = self.support.landlock_abi.map_or("no Landlock".to_owned(), |abi| format!("Landlock ABI {abi}"));
        let seccomp = if self.support.seccomp { "seccomp" } else { "no seccomp" };
        let user = self.user.as_ref().map_or(String::new(), |user| format!(", jobs run as {user}"));
        let first = format!("{}: {landlock}, {seccomp}{user}", self.mode);
        std::iter::once(first).chain(self.warnings.iter().cloned()).collect()
    }

    pub(super) fn json(&self) -> Value {
        json!({"mode": self.mode.to_string(), "landlockAbi": self.support.landlock_abi, "seccomp": self.support.seccomp,
               "jobUser": self.user, "warnings": self.warnings})
    }
}
