//! Errors of the sandbox.

/// An error that occurred while a process entered its sandbox.
#[derive(Debug, thiserror::Error)]
pub enum FenceError {
    /// The kernel does not support a required part of the sandbox.
    #[error("the fence is incomplete, because {}; use a newer kernel, or --fence auto", .0.join(" and "))]
    Incomplete(Vec<String>),
    /// The kernel rejected a step.
    #[error("{step} failed: {source}")]
    Rejected {
        /// Name of the step, such as "dropping capabilities".
        step: &'static str,
        /// The error that the kernel returned.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The configured job user is not usable.
    #[error("jobs cannot run as the user '{name}': {problem}")]
    User {
        /// Configured user name.
        name: String,
        problem: String,
    },
}

impl FenceError {
    /// Returns a function that converts a kernel error to an error of the given step.
    #[cfg(target_os = "linux")]
    pub(crate) fn rejected(step: &'static str) -> impl FnOnce(Box<dyn std::error::Error + Send + Sync>) -> Self {
        move |source| Self::Rejected { step, source }
    }
}
