//! Tests of a fleet: servers, workers, a database and a store on hosts of their own, which are network namespaces. `make
//! faults` runs them, because they need root.
#![expect(clippy::print_stdout, clippy::unreachable, reason = "a run says what it does")]

mod deployment;
mod faults;
mod locks;
mod node;
mod pools;
mod scaling;
mod strike;
