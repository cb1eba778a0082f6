//! Detects which parts of the sandbox the kernel supports.

/// First version of the Landlock ABI that restricts truncation (Linux 6.2).
const TRUNCATE_ABI: i32 = 3;
/// First version of the Landlock ABI that restricts signals (Linux 6.12).
const SIGNAL_ABI: i32 = 6;

/// The parts of the sandbox that the kernel supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Support {
    /// Version of the Landlock ABI; `None` without Landlock.
    pub landlock_abi: Option<i32>,
    /// Whether seccomp filters are supported.
    pub seccomp: bool,
}

impl Support {
    /// Probes the kernel by entering a sandbox in a temporary thread.
    #[cfg(target_os = "linux")]
    pub fn probe() -> Self {
        let tried = std::thread::spawn(|| Self {
            landlock_abi: crate::files::Rules::open(&[], &[], &[])
                .and_then(crate::files::Rules::enforce)
                .unwrap_or_default(),
            seccomp: crate::syscalls::forbid(false).unwrap_or_default(),
        });
        tried.join().unwrap_or(Self { landlock_abi: None, seccomp: false })
    }

    /// Returns that nothing is supported, because only Linux has a sandbox.
    #[cfg(not(target_os = "linux"))]
    pub const fn probe() -> Self {
        Self { landlock_abi: None, seccomp: false }
    }

    /// Returns a clause for each part of the sandbox that the kernel does not support. If jobs run as a user of their
    /// own (`has_own_user`), this user protects the server's files and processes, but not those of other jobs, because
    /// all jobs run as the same user.
    pub fn lacks(&self, has_own_user: bool) -> Vec<String> {
        let mut lacks = Vec::new();
        match self.landlock_abi {
            None => lacks.push("the kernel has no Landlock, so a job may open the files of its user".to_owned()),
            Some(abi) => {
                if abi < TRUNCATE_ABI {
                    let whose = if has_own_user { "other jobs" } else { "its user" };
                    lacks.push(format!("Landlock ABI {abi} lets a job truncate files of {whose} (Linux 6.2 does not)"));
                }
                if abi < SIGNAL_ABI && has_own_user {
                    lacks.push(format!("Landlock ABI {abi} lets a job signal other jobs (Linux 6.12 does not)"));
                } else if abi < SIGNAL_ABI {
                    lacks.push(format!(
                        "Landlock ABI {abi} lets a job signal processes of its user (Linux 6.12 does not; --job-user \
                         protects the server, but not other jobs)"
                    ));
                }
            }
        }
        if !self.seccomp {
            lacks.push("the kernel has no seccomp filters, so a job may open sockets".to_owned());
        }
        lacks
    }
}

/// Returns whether this process runs as root.
pub fn runs_as_root() -> bool {
    #[cfg(target_os = "linux")]
    {
        rustix::process::geteuid().is_root()
    }
    #[cfg(not(target_os = "linux"))]
    {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_parts_are_listed_and_a_job_user_makes_up_for_some() {
        let ubuntu = Support { landlock_abi: Some(4), seccomp: true };
        let [signals] = ubuntu.lacks(false).try_into().unwrap();
        assert!(signals.contains("ABI 4") && signals.contains("--job-user"), "{signals}");
        let [of_job_user] = ubuntu.lacks(true).try_into().unwrap();
        assert!(of_job_user.contains("ABI 4") && of_job_user.contains("signal other jobs"), "{of_job_user}");
        let new = Support { landlock_abi: Some(6), seccomp: true };
        assert!(new.lacks(false).is_empty() && new.lacks(true).is_empty());
        let none = Support { landlock_abi: None, seccomp: false };
        assert_eq!((none.lacks(false).len(), none.lacks(true).len()), (2, 2));
    }

    #[test]
    fn kernels_that_do_not_restrict_truncation_say_whose_files_are_in_danger() {
        for (abi, is_restricted) in [(1, false), (2, false), (3, true), (4, true), (6, true)] {
            let support = Support { landlock_abi: Some(abi), seccomp: true };
            for (has_own_user, whose) in [(false, "truncate files of its user"), (true, "truncate files of other jobs")]
            {
                let lacks = support.lacks(has_own_user);
                let says = |part: &str| lacks.iter().any(|clause| clause.contains(part));
                assert_eq!((says("truncate"), says(whose)), (!is_restricted, !is_restricted), "{abi}: {lacks:?}");
            }
        }
    }
}
