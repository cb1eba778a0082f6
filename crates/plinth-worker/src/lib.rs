//! Worker: claims renders, runs each in a child process, and reports the results. Only this crate depends on both the
//! rendering pipeline and the service.
//!
//! [`run`] is one worker. A process may run one beside its other work, and any number of processes may run workers. A worker
//! holds its jobs by leases that it renews. If it dies, the leases expire, and the service's upkeep reclaims the jobs.

mod child;
mod environment;
mod error;
mod fetch;
mod inputs;
mod job;
mod job_error;
mod lease_renewal;
mod models;
mod node;
mod options;
mod outage;
mod outputs;
mod packaging;
mod phase;
mod preview;
mod rendering;
mod report;
mod scratch;
mod session;
mod upload;

pub use environment::child_environment;
pub use error::WorkerError;
pub use node::run;
pub use options::WorkerOptions;
pub use phase::Phase;
