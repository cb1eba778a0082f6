//! Kinds of faults, and functions that inject them into a deployment.

use std::sync::Arc;
use std::time::Duration;

use plinth_testkit::{Host, ProxyFault};
use tokio::task::block_in_place;
use tokio::time::sleep;

use super::deployment::{Fleet, LEASE_SECS};
use super::node::Node;
use crate::serve::crash::number;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Killed,
    Stopped,
    /// The process is suspended for longer than a lease.
    Suspended,
    DatabaseUnreachable,
    StoreUnreachable,
    ClientsUnreachable,
    ClockAhead,
    ClockBehind,
    DiskFull,
    DatabaseRestarted,
    DatabaseCrashed,
    StoreDelayed,
    StoreTruncatesResponses,
    StoreCutsRequests,
    StoreStatus500,
    StoreStatus503,
    StoreDown,
    /// The store is down for five minutes. Only long runs inject this fault.
    StoreDownForLong,
    /// The database is unreachable for longer than its timeouts. Only long runs inject this fault.
    DatabaseUnreachableForLong,
}

/// Faults of a node. A fault that is listed several times is chosen more often.
const ON_NODES: [Kind; 14] = [
    Kind::Killed,
    Kind::Killed,
    Kind::Killed,
    Kind::Stopped,
    Kind::Suspended,
    Kind::Suspended,
    Kind::DatabaseUnreachable,
    Kind::DatabaseUnreachable,
    Kind::StoreUnreachable,
    Kind::StoreUnreachable,
    Kind::ClientsUnreachable,
    Kind::ClockAhead,
    Kind::ClockBehind,
    Kind::DiskFull,
];
const ON_DATABASE: [Kind; 2] = [Kind::DatabaseRestarted, Kind::DatabaseCrashed];
const ON_STORE: [Kind; 6] = [
    Kind::StoreDelayed,
    Kind::StoreTruncatesResponses,
    Kind::StoreCutsRequests,
    Kind::StoreStatus500,
    Kind::StoreStatus503,
    Kind::StoreDown,
];
/// In long runs, one fault out of this many is a long one. `FAULT_LONG_ONES` overrides this number.
const LONG_ONES: usize = 100;
/// Range of the duration of short faults in milliseconds. Some of them last longer than a lease.
const WHILE: std::ops::Range<u64> = 1000..8000;
/// Time for which the database is unreachable. It is longer than the timeouts and keepalives of its connections.
const LONG_CUT: Duration = Duration::from_secs(75);
const LONG_OUTAGE: Duration = Duration::from_mins(5);

/// Injects a random fault into a component that has no other fault at the moment. When this returns, the fault is over.
pub(super) async fn strike(fleet: &Arc<Fleet>, is_long_run: bool, random: &mut fastrand::Rng) -> (Kind, String) {
    loop {
        let is_long = is_long_run && random.usize(..number("FAULT_LONG_ONES").unwrap_or(LONG_ONES)) == 0;
        match random.u8(..10) {
            0 => {
                let Ok(_alone) = fleet.database_strike.try_lock() else { continue };
                let kind = any(&ON_DATABASE, random);
                block_in_place(|| match kind {
                    Kind::DatabaseCrashed => fleet.database.crash(),
                    _ => fleet.database.restart(),
                });
                return (kind, "database".to_owned());
            }
            1 | 2 => {
                let Ok(_alone) = fleet.store_strike.try_lock() else { continue };
                let kind = if is_long { Kind::StoreDownForLong } else { any(&ON_STORE, random) };
                fleet.store.set(proxy_fault(kind, random));
                sleep(if is_long { LONG_OUTAGE } else { a_while(random) }).await;
                fleet.store.set(ProxyFault::None);
                return (kind, "store".to_owned());
            }
            _ => {
                let node = &fleet.nodes[random.usize(..fleet.nodes.len())];
                let Ok(_alone) = node.strike.try_lock() else { continue };
                let kind = if is_long { Kind::DatabaseUnreachableForLong } else { any(&ON_NODES, random) };
                if kind == Kind::ClientsUnreachable && !node.is_server() {
                    continue;
                }
                strike_node(fleet, node, kind, random).await;
                return (kind, node.host.name().to_owned());
            }
        }
    }
}

async fn strike_node(fleet: &Fleet, node: &Node, kind: Kind, random: &mut fastrand::Rng) {
    match kind {
        Kind::Killed => {
            node.kill();
            if random.bool() {
                sleep(Duration::from_millis(random.u64(..2000))).await;
            }
            node.start();
        }
        Kind::Stopped => {
            node.stop();
            node.start();
        }
        Kind::Suspended => {
            node.signal("STOP");
            sleep(Duration::from_secs(LEASE_SECS) + a_while(random) / 2).await;
            node.signal("CONT");
        }
        Kind::DatabaseUnreachable => cut(&node.host, &fleet.hosts.database, a_while(random), random).await,
        Kind::DatabaseUnreachableForLong => cut(&node.host, &fleet.hosts.database, LONG_CUT, random).await,
        Kind::StoreUnreachable => cut(&node.host, &fleet.hosts.store, a_while(random), random).await,
        Kind::ClientsUnreachable => cut(&node.host, &fleet.hosts.clients, a_while(random), random).await,
        Kind::ClockAhead | Kind::ClockBehind => {
            node.set_clock(if kind == Kind::ClockAhead { 3600 } else { -3600 });
            sleep(a_while(random)).await;
            node.set_clock(0);
        }
        Kind::DiskFull => {
            block_in_place(|| node.fill_disk());
            sleep(a_while(random)).await;
            node.free_disk();
        }
        Kind::DatabaseRestarted
        | Kind::DatabaseCrashed
        | Kind::StoreDelayed
        | Kind::StoreTruncatesResponses
        | Kind::StoreCutsRequests
        | Kind::StoreStatus500
        | Kind::StoreStatus503
        | Kind::StoreDown
        | Kind::StoreDownForLong => unreachable!("{kind:?} is not a strike on a node"),
    }
}

/// Drops the packets between two hosts for some time, either in both directions or in only one.
async fn cut(one: &Host, other: &Host, time: Duration, random: &mut fastrand::Rng) {
    let (there, back) = [(true, true), (true, true), (true, false), (false, true)][random.usize(..4)];
    let blocked: Vec<(&Host, &Host)> =
        [(there, (other, one)), (back, (one, other))].into_iter().filter(|pair| pair.0).map(|pair| pair.1).collect();
    for (at, from) in &blocked {
        at.block(from);
    }
    sleep(time).await;
    for (at, from) in &blocked {
        at.unblock(from);
    }
}

fn proxy_fault(kind: Kind, random: &mut fastrand::Rng) -> ProxyFault {
    match kind {
        Kind::StoreDelayed => ProxyFault::Delay(Duration::from_millis(random.u64(20..1500))),
        // The head of a response has about 200 bytes, and most objects have a few thousand.
        Kind::StoreTruncatesResponses => ProxyFault::TruncateResponses(random.usize(50..3000)),
        Kind::StoreCutsRequests => ProxyFault::CutRequests(random.usize(50..6000)),
        Kind::StoreStatus500 => ProxyFault::Status(500),
        Kind::StoreStatus503 => ProxyFault::Status(503),
        _ => ProxyFault::Down,
    }
}

fn any(kinds: &[Kind], random: &mut fastrand::Rng) -> Kind {
    kinds[random.usize(..kinds.len())]
}

fn a_while(random: &mut fastrand::Rng) -> Duration {
    Duration::from_millis(random.u64(WHILE))
}
