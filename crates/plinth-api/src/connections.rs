//! Limits the number of open connections, and the part of them that one client can take.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::client::{TrustedProxy, counted_network};

/// Minimum time between two warnings about rejected connections.
const WARNING_INTERVAL: Duration = Duration::from_mins(1);

/// Number of open connections by network. Networks without connections have no entry.
type Counts = Mutex<HashMap<String, usize>>;

/// The connections of a server. Their number is limited, and they are counted by the network of the client.
///
/// While few connections are free, a network that has more connections than are free gets no more. One client that opens
/// as many connections as it can thus leaves an eighth of them to others, and each further one leaves half of the free ones.
/// A fixed limit per network would let a few networks take all connections.
pub(crate) struct Connections {
    scarcity: ConnectionScarcity,
    trusted_proxies: Arc<[TrustedProxy]>,
    counts: Arc<Counts>,
    /// Time from which the next rejected connection is logged as a warning.
    next_warning: Instant,
}

impl Connections {
    /// Creates the limit of `maximum` open connections. Connections of `trusted_proxies` are limited only in total, because
    /// they come from many clients.
    pub(crate) fn new(maximum: usize, trusted_proxies: Arc<[TrustedProxy]>) -> Self {
        let scarcity = ConnectionScarcity { connections: Arc::new(Semaphore::new(maximum)), scarce: maximum / 8 };
        Self { scarcity, trusted_proxies, counts: Arc::default(), next_warning: Instant::now() }
    }

    pub(crate) fn scarcity(&self) -> ConnectionScarcity {
        self.scarcity.clone()
    }

    /// Waits until a connection is free, and reserves it. The permit is `None` only if the semaphore is closed, which never
    /// happens.
    pub(crate) async fn reserve(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.scarcity.connections).acquire_owned().await.ok()
    }

    /// Counts a new connection from `peer`, for which `permit` was reserved. Returns `None` if the connection must be closed,
    /// because connections are scarce and the network of the peer has too many.
    pub(crate) fn open(&mut self, peer: IpAddr, permit: Option<OwnedSemaphorePermit>) -> Option<OpenConnection> {
        let network = counted_network(peer, &self.trusted_proxies);
        if let Some(network) = &network {
            let count = lock(&self.counts).get(network).copied().unwrap_or_default();
            if self.scarcity.is_scarce() && count > self.scarcity.free() {
                self.log_rejection(network, count);
                return None;
            }
            *lock(&self.counts).entry(network.clone()).or_default() += 1;
        }
        Some(OpenConnection { network, counts: Arc::clone(&self.counts), _permit: permit })
    }

    fn log_rejection(&mut self, network: &str, count: usize) {
        let now = Instant::now();
        if now < self.next_warning {
            tracing::debug!(client = network, connections = count, "a connection was rejected");
            return;
        }
        self.next_warning = now + WARNING_INTERVAL;
        tracing::warn!(
            client = network,
            connections = count,
            "few connections are free, and those of a client with many are rejected; if it is a reverse proxy, name it in \
             --trusted-proxies"
        );
    }
}

/// Tells whether few connections are free. It is an extension of each request.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionScarcity {
    connections: Arc<Semaphore>,
    /// Minimum number of free connections that do not count as scarce.
    scarce: usize,
}

impl ConnectionScarcity {
    /// Returns whether few connections are free.
    pub(crate) fn is_scarce(&self) -> bool {
        self.free() < self.scarce
    }

    fn free(&self) -> usize {
        self.connections.available_permits()
    }
}

/// An open connection, which counts until it is dropped.
pub(crate) struct OpenConnection {
    /// The network of the client; `None` for a trusted proxy.
    network: Option<String>,
    counts: Arc<Counts>,
    /// Held only to be released when the connection ends.
    _permit: Option<OwnedSemaphorePermit>,
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        let Some(network) = self.network.take() else { return };
        if let Entry::Occupied(mut count) = lock(&self.counts).entry(network) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

fn lock(counts: &Counts) -> MutexGuard<'_, HashMap<String, usize>> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(trusted: &[&str]) -> Connections {
        Connections::new(64, trusted.iter().map(|text| text.parse::<TrustedProxy>().unwrap()).collect())
    }

    /// Opens connections until one is rejected or none is free.
    fn open_many(connections: &mut Connections, peer: &str) -> Vec<OpenConnection> {
        let peer = peer.parse().unwrap();
        let open = || {
            let permit = Arc::clone(&connections.scarcity.connections).try_acquire_owned().ok()?;
            connections.open(peer, Some(permit))
        };
        std::iter::from_fn(open).collect()
    }

    #[test]
    fn each_client_leaves_connections_to_the_next() {
        let mut connections = connections(&[]);
        let held = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5"]
            .map(|peer| open_many(&mut connections, peer));
        assert_eq!(held.each_ref().map(Vec::len), [56, 4, 2, 1, 1]);
    }

    #[test]
    fn addresses_of_one_network_are_one_client() {
        let mut connections = connections(&[]);
        let held = ["2001:db8:1:2::1", "2001:db8:1:2::9", "::ffff:192.0.2.1", "192.0.2.1"]
            .map(|peer| open_many(&mut connections, peer));
        assert_eq!(held.each_ref().map(Vec::len), [56, 0, 4, 0]);
    }

    #[test]
    fn connections_of_trusted_proxies_are_limited_only_in_total() {
        let mut connections = connections(&["10.0.0.0/8"]);
        let held = open_many(&mut connections, "::ffff:10.1.2.3");
        assert_eq!(held.len(), 64);
        assert!(lock(&connections.counts).is_empty());
    }

    #[test]
    fn a_connection_counts_until_it_ends() {
        let mut connections = connections(&[]);
        let mut held = open_many(&mut connections, "192.0.2.1");
        held.truncate(1);
        assert_eq!(lock(&connections.counts).get("192.0.2.1"), Some(&1));
        held.clear();
        assert!(lock(&connections.counts).is_empty());
        assert_eq!(open_many(&mut connections, "192.0.2.1").len(), 56);
    }

    #[tokio::test]
    async fn the_connection_of_a_task_that_panics_or_is_aborted_ends() {
        let mut connections = connections(&[]);
        let mut held = open_many(&mut connections, "192.0.2.1");
        held.truncate(2);
        let (first, second) = (held.pop(), held.pop());
        let panicking = tokio::spawn(async move { assert!(first.is_none(), "this task panics") });
        let aborted = tokio::spawn(async move {
            let _open = second;
            std::future::pending::<()>().await;
        });
        aborted.abort();
        assert!(panicking.await.unwrap_err().is_panic());
        assert!(aborted.await.unwrap_err().is_cancelled());
        assert!(lock(&connections.counts).is_empty());
    }
}
