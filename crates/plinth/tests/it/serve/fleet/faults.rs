//! Injects faults into a fleet while clients use it. After each round, the test checks the invariants of the crash tests, that no
//! lock was held for long, and that the videos can be decoded.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use plinth_testkit::{assert_h264, probe};
use reqwest::Method;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::deployment::{Fleet, Plan};
use super::locks::{self, Locks};
use super::node::Node;
use super::strike::{Kind, strike};
use crate::serve::crash::clients::Clients as _;
use crate::serve::crash::pace::{Begun, pace};
use crate::serve::crash::requests::{self, Order};
use crate::serve::crash::{check, number};

const STRIKES: usize = 40;
/// Number of faults that exist at the same time, on different hosts.
const AT_ONCE: usize = 3;
const WORKERS: usize = 3;

/// A fault that was injected.
struct Strike {
    kind: Kind,
    begin: Instant,
    end: Instant,
}

/// Numbers about the faults of one kind, or of all kinds.
#[derive(Default)]
struct Tally {
    strikes: usize,
    rounds: usize,
    /// The longest time for which a transaction held a lock while there was such a fault. For all kinds, also between faults.
    longest_lock: Duration,
}

/// Numbers about the faults of all rounds.
#[derive(Default)]
struct Table {
    by_kind: BTreeMap<Kind, Tally>,
    all: Tally,
}

impl Table {
    /// Adds the faults of a round.
    fn add(&mut self, strikes: &[Strike], locks: &Locks) {
        self.all.strikes += strikes.len();
        self.all.rounds += 1;
        self.all.longest_lock = self.all.longest_lock.max(locks.longest());
        for strike in strikes {
            let tally = self.by_kind.entry(strike.kind).or_default();
            tally.strikes += 1;
            tally.longest_lock = tally.longest_lock.max(locks.longest_between(strike.begin, strike.end));
        }
        for kind in strikes.iter().map(|strike| strike.kind).collect::<BTreeSet<_>>() {
            self.by_kind.entry(kind).or_default().rounds += 1;
        }
    }

    fn print(&self) {
        println!("| kind | strikes | rounds | longest lock |\n|---|---|---|---|");
        let rows = self.by_kind.iter().map(|(kind, tally)| (format!("{kind:?}"), tally));
        for (kind, tally) in rows.chain([("all".to_owned(), &self.all)]) {
            let Tally { strikes, rounds, longest_lock } = tally;
            println!("| {kind} | {strikes} | {rounds} | {:.1} s |", longest_lock.as_secs_f64());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs root and network namespaces: make faults"]
async fn faults() {
    let strikes = number("FAULT_STRIKES").unwrap_or(STRIKES);
    let hours: f64 = number("FAULT_HOURS").unwrap_or_default();
    let end = Instant::now() + Duration::from_secs_f64(hours * 3600.0);
    let mut seed = number("FAULT_SEED").unwrap_or_else(|| fastrand::u64(..1 << 32));
    let mut table = Table::default();
    loop {
        println!("FAULT_SEED={seed} FAULT_STRIKES={strikes}");
        let (injected, locks) = round(seed, strikes, hours > 0.0).await;
        table.add(&injected, &locks);
        table.print();
        seed += 1;
        if Instant::now() >= end {
            break;
        }
    }
}

/// Runs one round on a new fleet. The clients make as many orders as faults are injected. Returns the faults, and the locks that
/// transactions held.
async fn round(seed: u64, strikes: usize, is_long_run: bool) -> (Vec<Strike>, Locks) {
    let begin = Instant::now();
    let mut random = fastrand::Rng::with_seed(seed);
    let plan = Plan {
        servers: 2,
        server_args: &[],
        workers: vec![Vec::new(); WORKERS],
        variables: &[("PLINTH_WORKER_GRACE_SECONDS", "1")],
        program: env!("CARGO_BIN_EXE_plinth").into(),
    };
    let fleet = Fleet::open(plan).await;
    fleet.workers().for_each(Node::start);
    fleet.until_ready().await;
    let supervisor = fleet.supervise();
    let stop = CancellationToken::new();
    let locks = locks::watch(Arc::clone(&fleet), stop.clone());
    let first = fleet.answer(|client| requests::upload_request(client, "first")).await.0;
    let model = first.text("modelId");
    let orders: Vec<Order> = (0..strikes).map(|number| Order::any(number, &mut random)).collect();
    let (begun, pace) = pace(1);
    let striking = tokio::spawn(strike_all(Arc::clone(&fleet), strikes, is_long_run, begun, random));
    let mut responses = requests::send_all(&*fleet, &model, orders, &pace).await;
    let injected = striking.await.unwrap();
    let healed = Instant::now();
    fleet.until_ready().await;
    // After the round, the fleet must still work.
    let last = requests::send_all(&*fleet, &model, vec![Order::last(strikes)], &pace).await;
    let renders = fleet.until_all_have_ended().await;
    for render in renders.iter().filter(|render| last.renders.contains(render["id"].as_str().unwrap())) {
        assert_eq!((&render["status"], &render["hlsStatus"]), (&"done".into(), &"ready".into()), "{render}");
    }
    let drained = healed.elapsed();
    responses.renders.extend(last.renders);
    responses.renders.insert(first.text("renderId"));
    let sums = check::all(&*fleet, &fleet.remains(), &responses, &renders).await;
    decode(&fleet, &renders).await;
    stop.cancel();
    let locks = locks.await.unwrap();
    supervisor.abort();
    let _aborted = supervisor.await;
    println!(
        "  {sums}; {} requests failed, {} connections refused; longest lock {:.1} s; drained {:.0} s after the last strike; {:.0} s",
        fleet.failed.lock().unwrap_or_else(PoisonError::into_inner).len(),
        fleet.refused.load(Ordering::SeqCst),
        locks.longest().as_secs_f64(),
        drained.as_secs_f64(),
        begin.elapsed().as_secs_f64()
    );
    for message in fleet.ended.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        println!("  ended by itself: {message}");
    }
    fleet.close().await;
    (injected, locks)
}

/// Injects all faults of a round, [`AT_ONCE`] of them at the same time.
async fn strike_all(
    fleet: Arc<Fleet>,
    strikes: usize,
    is_long_run: bool,
    begun: Begun,
    mut random: fastrand::Rng,
) -> Vec<Strike> {
    let (left, injected, begun) = (Arc::new(AtomicUsize::new(strikes)), Arc::default(), Arc::new(begun));
    let tasks: Vec<_> = (0..AT_ONCE)
        .map(|_task| {
            let (fleet, left, begun) = (Arc::clone(&fleet), Arc::clone(&left), Arc::clone(&begun));
            let (injected, mut random): (Arc<Mutex<Vec<Strike>>>, _) = (Arc::clone(&injected), random.fork());
            tokio::spawn(async move {
                let take = |left: usize| left.checked_sub(1);
                while left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok() {
                    begun.one_more();
                    let begin = Instant::now();
                    let (kind, place) = strike(&fleet, is_long_run, &mut random).await;
                    println!("  {kind:?} {place}");
                    let strike = Strike { kind, begin, end: Instant::now() };
                    injected.lock().unwrap_or_else(PoisonError::into_inner).push(strike);
                    tokio::time::sleep(Duration::from_millis(random.u64(..500))).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    Arc::into_inner(injected).unwrap().into_inner().unwrap()
}

/// Asserts that the video of each finished render can be decoded.
async fn decode(fleet: &Fleet, renders: &[Value]) {
    for render in renders.iter().filter(|render| render["status"] == "done") {
        let path = format!("/renders/{}/video", render["id"].as_str().unwrap());
        let response = fleet.client().request(Method::GET, &path).send().await.unwrap();
        let file = fleet.folder().join("video.mp4");
        std::fs::write(&file, response.bytes().await.unwrap()).unwrap();
        assert_h264(&probe(&file).0);
    }
}
