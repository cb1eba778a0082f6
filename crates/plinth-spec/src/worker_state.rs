//! The state of a worker that runs, as it reports itself.

use crate::named::named;

named! {
    /// The state of a worker that runs.
    WorkerState {
        /// The worker claims jobs while it has free slots.
        Claiming = "claiming",
        /// The disk of the worker is full, so it claims nothing.
        DiskFull = "disk_full",
        /// The worker was told to stop. It claims nothing and waits for running jobs.
        Draining = "draining",
    }
}
