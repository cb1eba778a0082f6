//! Simulates the programs of shops, which upload models, order renders and poll the status of the renders.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use plinth_testkit::{Answer, Client};
use reqwest::Method;
use serde_json::json;

use super::process::{Process, Usage};
use super::speed::{CpuTimes, report};
use super::{CONNECTIONS, account};
use crate::serve::server::Served;

/// Number of accounts that share the connections.
const ACCOUNTS: usize = 8;
/// Number of orders per upload.
const ORDERS: i32 = 10;
/// Number of times that a program polls each render that it has ordered.
const POLLS: usize = 3;

type Times = BTreeMap<&'static str, Vec<Duration>>;

/// Runs the programs for some time. Prints the speed of each kind of request, the resource usage of the server in the
/// first and in the last quarter of the time, and its growth per hour. Each program pauses between its orders.
pub(super) async fn integrate(served: &Served, server: &Process, time: Duration, pause: Duration) {
    let mut clients = Vec::new();
    for number in 0..ACCOUNTS {
        clients.push(account(served, &format!("shop{number}@example.org")).await.0);
    }
    let (begin, cpu) = (Instant::now(), CpuTimes::now(server));
    let programs: Vec<_> = (0..CONNECTIONS)
        .map(|number| {
            let client = &clients[number % ACCOUNTS];
            let client = Client::new(&client.base, &client.token);
            tokio::spawn(async move { run(&client, number, begin + time, pause).await })
        })
        .collect();
    let mut usages = Vec::new();
    while begin.elapsed() < time {
        tokio::time::sleep((time / 60).max(Duration::from_secs(1))).await;
        usages.push(server.usage());
    }
    let mut times = Times::new();
    for program in programs {
        for (kind, more) in program.await.unwrap() {
            times.entry(kind).or_default().extend(more);
        }
    }
    let (wall, cpu) = (begin.elapsed(), CpuTimes::now(server).since(cpu));
    for (kind, times) in &times {
        report(kind, times.clone(), (wall, CpuTimes::default()));
    }
    report("all", times.into_values().flatten().collect(), (wall, cpu));
    // The first tenth of the values is left out, because caches and pools are still filling.
    let settled = &usages[usages.len() / 10..];
    let (early, late) = (&settled[..settled.len() / 4], &settled[settled.len() * 3 / 4..]);
    for (when, usages) in [("first quarter", early), ("last quarter", late)] {
        let mean = |value: fn(&Usage) -> f64| usages.iter().map(value).sum::<f64>() / usages.len().max(1) as f64;
        let (memory, files, threads) = (mean(|u| u.memory_mb), mean(|u| u.files as f64), mean(|u| u.threads as f64));
        println!("{when}: {memory:.1} MB, {files:.0} files and connections, {threads:.0} threads");
    }
    let hours = wall.as_secs_f64() / 3600.0 / usages.len().max(1) as f64;
    let growth = |value: fn(&Usage) -> f64| slope(settled.iter().map(value)) / hours;
    println!(
        "growth per hour: {:+.1} MB, {:+.1} files and connections, {:+.1} threads",
        growth(|u| u.memory_mb),
        growth(|u| u.files as f64),
        growth(|u| u.threads as f64)
    );
}

/// Returns the slope of the line through equally distant values, by least squares.
fn slope(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let (mut product, mut square) = (0.0, 0.0);
    for (number, value) in values.enumerate() {
        let distance = number as f64 - middle;
        product += distance * value;
        square += distance * distance;
    }
    if square > 0.0 { product / square } else { 0.0 }
}

/// Uploads models, orders renders and polls them until `end`.
async fn run(client: &Client, program: usize, end: Instant, pause: Duration) -> Times {
    let mut times = Times::new();
    let mut model = String::new();
    for turn in 0.. {
        if Instant::now() >= end {
            break;
        }
        if turn % ORDERS == 0 {
            // The render is billed, because the number of free renders is limited.
            let settings = json!({"quality": "share", "length": 1});
            let begin = Instant::now();
            model = client.upload(&format!("part {program} {turn}"), Some(settings)).await.text("modelId");
            times.entry("POST /models").or_default().push(begin.elapsed());
        }
        let begin = Instant::now();
        let settings = json!({"quality": "share", "length": 1, "rotateY": turn % 360 - 180});
        let order = client.request(Method::POST, "/renders");
        let order =
            order.header("idempotency-key", format!("{program}-{turn}")).header("content-type", "application/json");
        let body = json!({"modelId": model, "renderSettings": settings}).to_string();
        let render = Answer::to(order.body(body)).await.text("id");
        times.entry("POST /renders").or_default().push(begin.elapsed());
        let mut changed_at = String::new();
        for _poll in 0..POLLS {
            let begin = Instant::now();
            changed_at = client.get(&format!("/renders/{render}")).await.text("updatedAt");
            times.entry("GET /renders/:id").or_default().push(begin.elapsed());
        }
        let begin = Instant::now();
        let changed = client.get(&format!("/renders?updatedSince={changed_at}")).await;
        changed.data();
        times.entry("GET /renders?updatedSince").or_default().push(begin.elapsed());
        tokio::time::sleep(pause).await;
    }
    times
}
