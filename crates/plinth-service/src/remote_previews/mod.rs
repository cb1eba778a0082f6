//! Previews that are drawn by a worker in another process. A request is a row of the database, of which PostgreSQL notifies
//! the workers; the picture comes back in the same row.
//!
//! The server of the request needs no driver, and neither process connects to the other. The worker that has the model
//! loaded gets the next request for it, unless it does not take it in time.

mod arrivals;
mod claim;
mod listen;
mod wait;

pub(crate) use arrivals::Arrivals;

/// Time without a renewal after which a worker that draws a preview counts as lost, in milliseconds.
const DRAWING_LEASE_MS: i64 = 6000;
/// Time after a preview for which the next request for the model is left to the same worker, in milliseconds. Workers unload
/// a model after about a minute without a request.
const HOLDING_MS: i64 = 65_000;
/// Time for which a request is left to the worker that has the model loaded, in milliseconds.
const RESERVED_MS: i64 = 2000;
/// Maximum time that a request waits for its picture, in milliseconds. It is longer than the time limit of a frame.
const MAX_WAIT_MS: i64 = 150_000;
/// Time after which the row of a preview is deleted, even if its worker was lost, in milliseconds.
pub(crate) const ROW_LIFETIME_MS: i64 = 2 * MAX_WAIT_MS;
