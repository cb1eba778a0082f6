//! Tests of a fleet: servers, workers, a database and a store on hosts of their own, which are network namespaces. `make
//! faults` runs them, because they need root.
//!
//! `FAULT_STRIKES` sets the strikes of a round, `FAULT_HOURS` for how long rounds are repeated (with strikes that last for
//! minutes, one of `FAULT_LONG_ONES`), `FAULT_SEED` the first random seed. `FLEET_ORDERS` sets the orders that a scaled fleet
//! gets; much fewer than the default do not need all workers, which the test requires. `FLEET_PREVIOUS` is the program of an
//! older version, which its servers are upgraded from.
#![expect(clippy::print_stdout, clippy::unreachable, reason = "a run says what it does")]

mod deployment;
mod faults;
mod locks;
mod node;
mod pools;
mod scaling;
mod strike;
