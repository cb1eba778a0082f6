//! The state of a worker, for health checks.

/// The state of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The worker is probing its graphics adapter and encoders.
    Starting,
    /// The worker claims jobs while it has free slots.
    Claiming,
    /// The worker claims no more jobs and waits for running jobs to finish.
    Draining,
}
