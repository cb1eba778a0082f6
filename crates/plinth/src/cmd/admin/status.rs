//! `plinth admin workers`, `plinth admin failures` and `plinth admin log`.

use anyhow::Result;
use clap::{Arg, ArgMatches, Command, value_parser};
use plinth_service::Service;
use plinth_service::admin::{FailureCount, LogEntry, WorkerView};
use plinth_spec::wire::Timestamp;
use serde_json::{Value, json};

use super::run::{Done, listed};
use crate::cmd::message_only;

pub(super) fn commands() -> [Command; 3] {
    let limit = Arg::new("limit").long("limit").value_name("N").value_parser(value_parser!(u32).range(1..=10_000));
    [
        Command::new("workers")
            .about("Lists the workers that run, on all machines, and those that stopped reporting in the last day"),
        Command::new("failures")
            .about("Counts renders that are done and that failed, by code, in the last hour, day and week"),
        Command::new("log")
            .about("Lists what administrators did, newest first")
            .arg(limit.default_value("50").help("Number of entries")),
    ]
}

pub(super) async fn workers(service: &Service) -> Result<Done> {
    let fleet = service.fleet().await.map_err(message_only)?;
    let lines: Vec<String> = fleet.workers.iter().map(|worker| worker_line(worker, fleet.now)).collect();
    let rows: Vec<Value> = fleet.workers.iter().map(worker_json).collect();
    Ok(Done { text: listed(&lines, "no worker has reported"), json: json!({"workers": rows}) })
}

fn worker_line(worker: &WorkerView, now: i64) -> String {
    let row = &worker.row;
    let pool = if row.pool.is_empty() { String::new() } else { format!(" in {}", row.pool) };
    format!(
        "{}{pool}: {}, {} jobs, {} slots, takes {}, version {}, {}, {}, seen {} s ago",
        row.name,
        state(worker),
        worker.jobs,
        row.slots,
        row.takes,
        row.version,
        row.adapter,
        row.encoder,
        (now - row.seen_at) / 1000,
    )
}

fn state(worker: &WorkerView) -> &'static str {
    if worker.is_lost { "lost" } else { worker.row.state.as_str() }
}

fn worker_json(worker: &WorkerView) -> Value {
    let row = &worker.row;
    json!({"name": row.name, "pool": row.pool, "state": state(worker), "jobs": worker.jobs, "slots": row.slots,
           "takes": row.takes, "version": row.version, "adapter": row.adapter, "encoder": row.encoder,
           "startedAt": Timestamp(row.started_at), "seenAt": Timestamp(row.seen_at)})
}

pub(super) async fn failures(service: &Service) -> Result<Done> {
    let overview = service.admin_overview().await.map_err(message_only)?;
    let line = |name: &str, hour, day, week| format!("{name:24} {hour:>8} {day:>8} {week:>8}");
    let rate = overview.rate;
    let mut lines = vec![
        format!("{:24} {:>8} {:>8} {:>8}", "", "hour", "day", "week"),
        line("done", rate.hour, rate.day, rate.week),
    ];
    lines.extend(overview.failures.iter().map(|f| line(code(f), f.count.hour, f.count.day, f.count.week)));
    let row =
        |f: &FailureCount| json!({"code": code(f), "hour": f.count.hour, "day": f.count.day, "week": f.count.week});
    let json = json!({
        "done": {"hour": rate.hour, "day": rate.day, "week": rate.week},
        "failures": overview.failures.iter().map(row).collect::<Vec<_>>(),
    });
    Ok(Done { text: lines.join("\n"), json })
}

fn code(failure: &FailureCount) -> &'static str {
    failure.code.map_or("packaging", plinth_spec::FailureCode::as_str)
}

pub(super) async fn log(service: &Service, args: &ArgMatches) -> Result<Done> {
    let limit = args.get_one::<u32>("limit").copied().unwrap_or(50);
    let page = service.admin_log(limit, 0).await.map_err(message_only)?;
    let lines: Vec<String> = page.entries.iter().map(log_line).collect();
    let rows: Vec<Value> = page.entries.iter().map(log_json).collect();
    let text = listed(&lines, "no administrator has done anything yet");
    Ok(Done { text, json: json!({"entries": rows, "total": page.total}) })
}

fn log_line(entry: &LogEntry) -> String {
    let time = json!(Timestamp(entry.created_at));
    let why = if entry.reason.is_empty() { String::new() } else { format!(" ({})", entry.reason) };
    let who = entry.admin.as_deref().unwrap_or("plinth admin");
    format!("{} {who} {} {}{why}", time.as_str().unwrap_or_default(), entry.action.as_str(), entry.subject)
}

fn log_json(entry: &LogEntry) -> Value {
    json!({"createdAt": Timestamp(entry.created_at), "admin": entry.admin, "action": entry.action,
           "account": entry.account, "subject": entry.subject, "reason": entry.reason})
}
