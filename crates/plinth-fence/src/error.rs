//! Why a process cannot be fenced.

/// Why a process cannot be fenced.
#[derive(Debug, thiserror::Error)]
pub enum FenceError {
    /// The kernel lacks something that is required.
    #[error("the fence is incomplete, because {}; use a newer kernel, or --fence auto", .0.join(" and "))]
    Incomplete(Vec<String>),
    /// The kernel refused a step.
    #[error("{step} failed: {source}")]
    Refused {
        /// The step, as the message names it.
        step: &'static str,
        /// The error that the kernel returned.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The user that jobs shall run as cannot be used.
    #[error("jobs cannot run as the user '{name}': {problem}")]
    User {
        /// As it was given.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl FenceError {
    /// A step that the kernel refused.
    #[cfg(target_os = "linux")]
    pub(crate) fn refused(step: &'static str) -> impl FnOnce(Box<dyn std::error::Error + Send + Sync>) -> Self {
        move |source| Self::Refused { step, source }
    }
}
