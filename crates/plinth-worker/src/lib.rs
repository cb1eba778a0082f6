//! Takes waiting renders, runs each in a process of its own, and reports. The one place where pictures and requests meet.
//!
//! [`run`] is a worker; a program may have one beside its other work, and there may be any number of programs. A worker
//! holds what it took by leases that it renews; one that dies loses them, and whoever keeps the service up collects them.

mod child;
mod environment;
mod error;
mod fetch;
mod hold;
mod job;
mod models;
mod node;
mod options;
mod outage;
mod outputs;
mod packaging;
mod rendering;
mod report;
mod scratch;
mod session;
mod stop;
mod upload;

pub use environment::child_environment;
pub use error::WorkerError;
pub use node::run;
pub use options::WorkerOptions;
