//! Measures how long requests take.

use std::sync::Arc;
use std::time::{Duration, Instant};

use plinth_testkit::Client;

use super::process::Process;

/// Processor time of the server and of this process, which sends the requests.
#[derive(Clone, Copy, Default)]
pub(super) struct CpuTimes {
    server: Duration,
    client: Duration,
}

impl CpuTimes {
    pub(super) fn now(server: &Process) -> Self {
        Self { server: server.cpu(), client: Process::of(std::process::id()).cpu() }
    }

    /// Returns the times since `before`.
    pub(super) fn since(self, before: Self) -> Self {
        let [server, client] =
            [(self.server, before.server), (self.client, before.client)].map(|(now, then)| now.saturating_sub(then));
        Self { server, client }
    }
}

/// Prints the rate of requests, the processor time that server and client took for each, and percentiles of their duration.
pub(super) fn report(what: &str, mut times: Vec<Duration>, (wall, cpu): (Duration, CpuTimes)) {
    times.sort();
    let at = |share: usize| times.get(times.len().saturating_sub(1) * share / 100).map_or(0.0, Duration::as_secs_f64);
    let count = times.len().max(1) as f64;
    println!(
        "{what:28} | {:8.1}/s | server {:6.2}, client {:6.2} ms each | p50 {:7.1} ms | p99 {:7.1} ms | most {:7.1} ms",
        count / wall.as_secs_f64(),
        cpu.server.as_secs_f64() * 1000.0 / count,
        cpu.client.as_secs_f64() * 1000.0 / count,
        at(50) * 1000.0,
        at(99) * 1000.0,
        at(100) * 1000.0,
    );
}

/// Sends GET requests to the given paths from a number of connections.
pub(super) async fn measure(
    server: &Process,
    client: &Client,
    what: &str,
    (connections, requests): (usize, usize),
    address: impl Fn(usize) -> String + Send + Sync + 'static,
) {
    let address = Arc::new(address);
    let (begin, cpu) = (Instant::now(), CpuTimes::now(server));
    let tasks: Vec<_> = (0..connections)
        .map(|connection| {
            let (client, address) = (Client::new(&client.base, &client.token), Arc::clone(&address));
            tokio::spawn(async move {
                let mut times = Vec::new();
                for number in 0..requests / connections {
                    let asked = Instant::now();
                    let answer = client.get(&address(connection * 7919 + number * 104_729)).await;
                    assert_eq!(answer.status, 200, "{answer:?}");
                    times.push(asked.elapsed());
                }
                times
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.unwrap());
    }
    report(what, times, (begin.elapsed(), CpuTimes::now(server).since(cpu)));
}
