//! What a worker is doing, for health checks.

/// What a worker is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It tries adapter and encoder.
    Starting,
    /// It claims jobs while it has free slots.
    Claiming,
    /// It claims nothing more; running jobs finish.
    Draining,
}
