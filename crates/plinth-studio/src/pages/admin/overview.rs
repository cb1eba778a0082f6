//! The page that an operator opens first: queue, workers, failures, rate, storage, and health.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use plinth_service::admin::{FailureCount, Kind, Overview, QueueRow, Rate, RunningJob, WorkerView};
use plinth_spec::wire::{PartHealth, ServiceHealth};
use plinth_spec::{FailureCode, WorkerState};

use super::chart::{Bar, bars, most_in_hour};
use super::labels;
use crate::error::Result;
use crate::format::{DisplayTime, age, size, status, time_of_day};
use crate::frame::{Frame, page};
use crate::session::CurrentUser;
use crate::studio::Studio;

/// Maximum number of workers that are listed.
const WORKERS: usize = 100;

#[derive(Template)]
#[template(path = "admin.html")]
struct OverviewPage {
    frame: Frame,
    here: &'static str,
    read_at: String,
    /// Messages about problems that need attention.
    alarms: Vec<String>,
    is_healthy: bool,
    database: &'static str,
    store: &'static str,
    version: &'static str,
    accounts: u64,
    waiting: u64,
    oldest: Option<String>,
    running: u64,
    claiming: usize,
    queue: Vec<QueueLine>,
    jobs: Vec<JobLine>,
    workers: Vec<WorkerLine>,
    /// Number of workers that are not listed.
    more_workers: usize,
    rate: Rate,
    failed: Rate,
    failures: Vec<(&'static str, Rate)>,
    bars: Vec<Bar>,
    /// Time at which the chart begins.
    chart_begin: String,
    /// Highest number of renders in one hour of the chart.
    most_in_hour: u64,
    stored: String,
    largest: Vec<(String, String, String)>,
}

/// A row of the queue.
struct QueueLine {
    work: String,
    waiting: u64,
    oldest: Option<String>,
    running: u64,
}

/// A job that a worker runs.
struct JobLine {
    render: String,
    work: String,
    status: &'static str,
    status_name: &'static str,
    account_id: String,
    email: String,
    worker: String,
    percent: Option<String>,
    since: String,
    attempt: i64,
}

/// A worker.
struct WorkerLine {
    name: String,
    pool: String,
    state: &'static str,
    state_name: &'static str,
    jobs: u64,
    slots: u64,
    takes: String,
    version: String,
    machine: String,
    seen: String,
    up: String,
}

pub(crate) async fn show(State(studio): State<Studio>, user: CurrentUser) -> Result<Response> {
    let seen = studio.service.admin_overview().await?;
    let frame = Frame::new(&studio, "Administration", Some(&user)).at("admin").with_scripts(&["admin.js"]);
    Ok(page(&overview_page(frame, seen)))
}

fn overview_page(frame: Frame, seen: Overview) -> OverviewPage {
    let now = seen.now;
    let oldest_at = seen.queue.iter().filter_map(|row| row.oldest_at).min();
    let waiting = seen.queue.iter().map(|row| row.waiting).sum();
    let shown = seen.fleet.workers.len().min(WORKERS);
    OverviewPage {
        frame,
        here: "overview",
        read_at: time_of_day(now),
        alarms: alarms(&seen, waiting),
        is_healthy: seen.health.status == ServiceHealth::Ok,
        database: seen.health.database.as_str(),
        store: seen.health.store.as_str(),
        version: seen.health.version,
        accounts: seen.accounts,
        waiting,
        oldest: oldest_at.map(|at| age(now - at)),
        running: seen.queue.iter().map(|row| row.running).sum(),
        claiming: seen.fleet.count(WorkerState::Claiming),
        queue: seen.queue.iter().map(|row| queue_line(row, now)).collect(),
        jobs: seen.running.iter().map(|job| job_line(job, now)).collect(),
        workers: seen.fleet.workers.iter().take(shown).map(|worker| worker_line(worker, now)).collect(),
        more_workers: seen.fleet.workers.len() - shown,
        rate: seen.rate,
        failed: total(&seen.failures),
        failures: seen.failures.iter().map(|failure| (code(failure), failure.count)).collect(),
        bars: bars(&seen.hours),
        chart_begin: seen.hours.first().map(|hour| DisplayTime::of(hour.begin).people).unwrap_or_default(),
        most_in_hour: most_in_hour(&seen.hours),
        stored: size(seen.storage.bytes),
        largest: seen
            .storage
            .largest
            .into_iter()
            .map(|account| (account.account_id.to_string(), account.email, size(account.bytes)))
            .collect(),
    }
}

/// Returns messages about problems that need attention, the most urgent first.
fn alarms(seen: &Overview, waiting: u64) -> Vec<String> {
    let mut alarms = Vec::new();
    let mut alarm = |is_on: bool, text: String| {
        if is_on {
            alarms.push(text);
        }
    };
    alarm(seen.health.database != PartHealth::Ok, "The database does not respond.".to_owned());
    alarm(
        seen.health.store != PartHealth::Ok,
        "The store does not respond: files cannot be read or written.".to_owned(),
    );
    let (claiming, lost) = (seen.fleet.count(WorkerState::Claiming), seen.fleet.lost());
    alarm(claiming == 0 && waiting > 0, format!("Jobs that wait while no worker claims any: {waiting}."));
    alarm(claiming == 0 && waiting == 0, "No worker claims jobs.".to_owned());
    alarm(lost > 0, format!("Workers that stopped reporting without ending: {lost}."));
    let full = seen.fleet.count(WorkerState::DiskFull);
    alarm(full > 0, format!("Workers whose disk is full, which claim nothing: {full}."));
    let broken = seen.fleet.count(WorkerState::CannotRender);
    alarm(broken > 0, format!("Workers that cannot render, which claim nothing: {broken}."));
    let cut_off = seen.fleet.count(WorkerState::StoreUnreachable);
    alarm(cut_off > 0, format!("Workers that cannot reach the store, which claim nothing: {cut_off}."));
    alarms
}

fn total(failures: &[FailureCount]) -> Rate {
    let renders = failures.iter().filter(|failure| failure.code.is_some());
    renders.fold(Rate::default(), |sum, failure| Rate {
        hour: sum.hour + failure.count.hour,
        day: sum.day + failure.count.day,
        week: sum.week + failure.count.week,
    })
}

fn code(failure: &FailureCount) -> &'static str {
    failure.code.map_or("packaging for streaming", FailureCode::as_str)
}

fn queue_line(row: &QueueRow, now: i64) -> QueueLine {
    QueueLine {
        work: labels::work(row.kind, row.class),
        waiting: row.waiting,
        oldest: row.oldest_at.map(|at| age(now - at)),
        running: row.running,
    }
}

fn job_line(job: &RunningJob, now: i64) -> JobLine {
    let is_packaging = job.kind == Kind::Package;
    JobLine {
        render: job.render_id.to_string(),
        work: labels::work(job.kind, job.class),
        status: if is_packaging { "Packaging" } else { status(job.status) },
        status_name: if is_packaging { "pending" } else { job.status.as_str() },
        account_id: job.account_id.to_string(),
        email: job.email.clone(),
        worker: job.worker.clone().unwrap_or_default(),
        percent: job.progress.map(|fraction| format!("{:.0} %", (fraction * 100.0).floor())),
        since: age(now - job.updated_at),
        attempt: job.attempt,
    }
}

fn worker_line(worker: &WorkerView, now: i64) -> WorkerLine {
    let row = &worker.row;
    let (state, state_name) = labels::worker_state(worker);
    WorkerLine {
        name: row.name.clone(),
        pool: row.pool.clone(),
        state,
        state_name,
        jobs: worker.jobs,
        slots: row.slots,
        takes: row.takes.replace(',', ", "),
        version: row.version.clone(),
        machine: format!("{}, {}", row.adapter, row.encoder),
        seen: age(now - row.seen_at),
        up: age(now - row.started_at),
    }
}
