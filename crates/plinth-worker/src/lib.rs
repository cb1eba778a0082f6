//! The worker: claims renders, runs each in a child process, and reports the results. Apart from the program `plinth`,
//! only this crate depends on both `plinth-pipeline` and `plinth-service`.
//!
//! [`run`] runs one worker. A server may run a worker in its own process, and any number of processes may run workers.
//! A worker renews the leases of its renders. If the worker dies, the leases expire, and
//! [`plinth_service::Service::run_maintenance`], which servers run, requeues the renders.

mod asset_files;
mod child;
mod counters;
mod disk;
mod drawing;
mod environment;
mod error;
mod fetch;
mod handover;
mod idle_processes;
mod inputs;
mod job;
mod job_error;
mod last_minute;
mod lease_renewal;
mod models;
mod node;
mod options;
mod outage;
mod outputs;
mod packaging;
mod phase;
mod presence;
mod preview;
mod preview_processes;
mod preview_queue;
mod progress;
mod render_process;
mod rendering;
mod report;
mod scratch;
mod session;
mod slots;
mod system;
mod traces;
mod upload;

pub use environment::child_environment;
pub use error::WorkerError;
pub use node::run;
pub use options::WorkerOptions;
pub use phase::Phase;
