//! Tests of a fleet: servers, workers, a database and a store on hosts of their own, which are network namespaces. `make
//! faults` runs them, because they need root.
//!
//! `FAULT_STRIKES` sets the strikes of a round, `FAULT_HOURS` for how long rounds are repeated (with strikes that last for
//! minutes, one of `FAULT_LONG_ONES`), `FAULT_SEED` the first random seed. `FLEET_ORDERS` sets the orders that a scaled fleet
//! gets, at least 20; with fewer than the default, its pools need not be scaled out to all their workers. `FLEET_PROGRAM` is the
//! program that the fleet runs, such as the one of a package, `FLEET_PREVIOUS` the one of an older version, which its servers are
//! upgraded from.
#![expect(clippy::print_stdout, clippy::unreachable, reason = "a run says what it does")]

use std::path::PathBuf;

use super::crash::number;

mod deployment;
mod drain;
mod faults;
mod locks;
mod node;
mod pools;
mod scaling;
mod strike;

/// Returns the program that the fleet runs.
fn program() -> PathBuf {
    number("FLEET_PROGRAM").unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_plinth")))
}
