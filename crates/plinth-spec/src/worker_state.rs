//! The state of a running worker, as the worker reports it.

use crate::named::named;

named! {
    /// The state of a running worker.
    WorkerState {
        /// The worker claims jobs while it has free slots.
        Claiming = "claiming",
        /// The disk of the worker is full, so the worker claims nothing.
        DiskFull = "disk_full",
        /// A test of the worker's graphics adapter and encoders has failed, so the worker claims nothing.
        CannotRender = "cannot_render",
        /// The store did not respond to the worker after a job had failed, so the worker claims nothing.
        StoreUnreachable = "store_unreachable",
        /// The worker was told to stop. It claims nothing, and waits until its running jobs end.
        Draining = "draining",
    }
}
