//! Previews that a worker in another process draws. The server stores a request as a row of the database, PostgreSQL notifies
//! the workers, and the worker that draws the preview stores the picture in the same row.
//!
//! The server needs no graphics driver, and neither process connects to the other. The next request for a model is reserved for
//! the worker that has the model loaded. If this worker does not claim the request in time, any worker may claim it.

mod arrivals;
mod claim;
mod listen;
mod wait;

pub(crate) use arrivals::Arrivals;

/// Lease time of a request that is being drawn, in milliseconds. If its worker does not renew the lease for this long, the
/// request returns to the queue.
const DRAWING_LEASE_MS: i64 = 6000;
/// Time after a preview for which its worker counts as having the model loaded, in milliseconds. Workers unload a model after
/// about a minute without a request.
pub(crate) const HOLDING_MS: i64 = 65_000;
/// Time for which a request is reserved for the worker that has the model loaded, in milliseconds.
const RESERVED_MS: i64 = 2000;
/// Maximum time that a request waits for its picture, in milliseconds. It is longer than the time limit of a frame.
const MAX_WAIT_MS: i64 = 150_000;
/// Time after which the row of a preview is deleted, even if its worker was lost, in milliseconds.
pub(crate) const ROW_LIFETIME_MS: i64 = 2 * MAX_WAIT_MS;
