//! Tests of a deployment on several hosts: servers, workers, a database and a store. Each host is a network namespace,
//! so the tests need root. `make faults` runs them.
//!
//! These environment variables configure the tests:
//! - `FAULT_STRIKES` is the number of faults per round, and `FAULT_SEED` is the random seed of the first round.
//! - `FAULT_HOURS` is the time for which rounds are repeated. If it is set, one fault in every `FAULT_LONG_ONES` lasts
//!   longer than a minute.
//! - `FLEET_ORDERS` is the number of orders in the test of scaling, at least 20. If it is less than the default, the
//!   pools need not reach their maximum numbers of workers.
//! - `FLEET_PROGRAM` is the program that the tests run, for example the program of an installed package. `FLEET_PREVIOUS` is the program
//!   of an older version, from which the servers are upgraded.
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
