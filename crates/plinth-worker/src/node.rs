//! Main loop of a worker: claims jobs while it has free slots.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use plinth_pipeline::child::ChildFailure;
use plinth_pipeline::{EncoderChoice, H264Encoder, failure_message, lacks_room};
use plinth_service::Service;
use plinth_service::jobs::{Claim, Worker};
use plinth_spec::{FailureCode, WorkerState};
use plinth_store::StoreError;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::counters::{self, Running};
use crate::disk::Disks;
use crate::error::WorkerError;
use crate::idle_processes::IdleProcesses;
use crate::job_error::JobError;
use crate::last_minute::LastMinute;
use crate::models::{CachedFolders, make_room, remove_half};
use crate::options::WorkerOptions;
use crate::packaging::package;
use crate::phase::Phase;
use crate::presence::Presence;
use crate::preview::serve_previews;
use crate::rendering::render;
use crate::scratch::Scratch;
use crate::slots::{Slot, Slots};
use crate::system;
use crate::traces::JobTrace;

/// Maximum number of renders with the same frames in one claim.
const MAX_GROUP_SIZE: usize = 16;
/// Pause after a failed attempt to claim work.
const ERROR_PAUSE: Duration = Duration::from_secs(2);
/// Time that previews have to end after [`WorkerOptions::grace`]. They end at once, unless the database does not respond.
const PREVIEWS_END_TIME: Duration = Duration::from_secs(5);
/// Minimum time limit of the probe at the start of a worker. Applies even if the time limit of renders is shorter.
const PROBE_TIME: Duration = Duration::from_mins(1);
/// Time limit of the probe after a job has failed. A driver may wait forever for a device that was lost.
const PROBE_AGAIN_TIME: Duration = Duration::from_mins(2);
/// Time limit of a test of the store. Access to a folder of another machine may have no time limit of its own.
const STORE_TEST_TIME: Duration = Duration::from_secs(15);
/// Time limit for reading the identity of the store from the database.
const STORE_ID_TIME: Duration = Duration::from_secs(4);
/// Default number of concurrent renders, first on a software driver, second on a graphics card. A software driver uses all
/// cores for one frame. On a graphics card, encoding limits the speed of a single job, so two jobs in parallel are faster.
const SLOTS: (usize, usize) = (1, 2);

/// Shared state of a worker.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) service: Service,
    pub(crate) options: WorkerOptions,
    pub(crate) scratch: Scratch,
    /// H.264 encoder to use on this machine.
    pub(crate) encoder: H264Encoder,
    /// Processes that have a model loaded and wait for its next render.
    pub(crate) idle_processes: IdleProcesses,
    /// The disk space of the running jobs.
    pub(crate) disks: Disks,
    full_disk: FullDisk,
    tests: Tests,
    /// State that the worker reports to the service.
    state: watch::Sender<WorkerState>,
    /// Number of models that are loaded for previews. The worker does not count as idle while this number is not 0.
    pub(crate) previews: AtomicUsize,
}

/// A claimed job.
enum Work {
    Render(Vec<Claim>),
    Package(Box<Claim>),
}

impl Work {
    const fn what(&self) -> &'static str {
        match self {
            Self::Render(_) => counters::RENDER,
            Self::Package(_) => counters::PACKAGE,
        }
    }

    fn claims(&self) -> &[Claim] {
        match self {
            Self::Render(claims) => claims,
            Self::Package(claim) => std::slice::from_ref(claim),
        }
    }
}

/// Runs renders and packagings until `stop` is cancelled, or until no work was queued for the time
/// [`WorkerOptions::exit_when_idle`]. Then ends previews, and waits at most [`WorkerOptions::grace`] for running jobs;
/// unfinished renders return to the queue. `phase` receives the state of the worker. Renders of dead workers are requeued by
/// [`Service::run_maintenance`], which runs in this process or in another process.
/// Errors: this system is not Linux, the scratch folder cannot be used, or this machine has no working adapter or no working
/// encoder.
pub async fn run(
    service: Service,
    options: WorkerOptions,
    stop: CancellationToken,
    phase: watch::Sender<Phase>,
) -> Result<(), WorkerError> {
    system::check()?;
    let folder = options.scratch.clone();
    let opened = tokio::task::spawn_blocking(move || {
        let folder = std::path::absolute(folder)?;
        std::fs::create_dir_all(&folder)?;
        Scratch::open(&folder)
    });
    let opened = opened.await.map_err(std::io::Error::from).and_then(|opened| opened);
    let scratch = opened.map_err(|source| WorkerError::Scratch { folder: options.scratch.clone(), source })?;
    // Requests for previews that arrive from now on wait until the machine is probed.
    let wanted = if options.takes.includes_previews() { service.take_previews() } else { None };
    let (state, reported) = watch::channel(WorkerState::Claiming);
    let (previews, idle_processes) = (AtomicUsize::new(0), IdleProcesses::default());
    let encoder = H264Encoder::default();
    let (disks, full_disk) = (Disks::new(CachedFolders::of(&scratch)), FullDisk::default());
    let tests = Tests::default();
    let mut node =
        Node { service, options, scratch, encoder, idle_processes, disks, full_disk, tests, state, previews };
    let (choice, time) = (node.options.encoder, node.options.timeout.max(PROBE_TIME));
    let Some(found) = node.probe(choice, time, &stop).await? else { return Ok(()) };
    for (encoder, reason) in found.encoder.failures() {
        tracing::info!(%encoder, reason, "a hardware encoder does not work and is not used");
    }
    node.encoder = found.encoder.encoder;
    // When the store is tested, the database may not respond.
    node.expected_store_id().await;
    let node = Arc::new(node);
    counters::create();
    let count = node.options.slots.map_or(if found.is_software { SLOTS.0 } else { SLOTS.1 }, usize::from);
    let slots = Slots::new(count);
    let (worker, pool) = (&node.options.name, &node.options.pool);
    tracing::info!(worker, pool, adapter = found.adapter, encoder = %node.encoder, slots = count, "the worker waits for renders");
    let presence = Presence::begin(&node, &found.adapter, count, reported);
    let (mut running, kill) = (JoinSet::new(), CancellationToken::new());
    phase.send_replace(Phase::Claiming);
    // Previews need a token of their own, because claiming also ends without `stop`: after the idle time `exit_when_idle`.
    let previews_stop = stop.child_token();
    let mut previews = JoinSet::new();
    if let Some(wanted) = wanted {
        previews.spawn(serve_previews(Arc::clone(&node), Arc::clone(&slots), wanted, previews_stop.clone()));
    }
    let listener = Arc::clone(&node);
    let listening = tokio::spawn(async move { listener.service.listen_for_work(&listener.options.takes).await });
    claim_until_stopped(&node, &slots, &mut running, &stop, &kill).await;
    phase.send_replace(Phase::Draining);
    node.state.send_replace(WorkerState::Draining);
    listening.abort();
    previews_stop.cancel();
    let grace = node.options.grace;
    tracing::info!(running = running.len(), grace_secs = grace.as_secs(), "the worker stops");
    let all = async { tokio::join!(drain(&mut running), drain(&mut previews)) };
    if timeout(grace, all).await.is_err() {
        kill.cancel();
        let late = timeout(PREVIEWS_END_TIME, drain(&mut previews));
        if tokio::join!(drain(&mut running), late).1.is_err() {
            tracing::warn!("previews could not be ended in time");
        }
    }
    node.idle_processes.end_all().await;
    presence.end().await;
    Ok(())
}

/// Claims jobs for free slots until `stop` is cancelled.
async fn claim_until_stopped(
    node: &Arc<Node>,
    slots: &Arc<Slots>,
    running: &mut JoinSet<()>,
    stop: &CancellationToken,
    kill: &CancellationToken,
) {
    let mut busy_until = Instant::now();
    let mut state = WorkerState::Claiming;
    while !stop.is_cancelled() {
        let mut pause = node.options.poll;
        let found = node.prepare(stop).await;
        if found != state {
            state = found;
            node.state.send_replace(state);
            log_state(node, state);
        }
        let claims = state == WorkerState::Claiming;
        if !claims {
            pause = ERROR_PAUSE;
            // Time in which the worker must not claim does not count as idle time, because there may be work in the queue.
            busy_until = Instant::now();
        }
        while claims && !stop.is_cancelled() {
            match node.take(slots).await {
                Ok(Some((work, slot))) => node.start(work, slot, running, kill),
                Ok(None) => break,
                Err(error) => {
                    tracing::error!(error = %error, cause = ?error.cause, "claiming jobs failed");
                    pause = ERROR_PAUSE;
                    // An error does not count as idle time, because there may be work in the queue.
                    busy_until = Instant::now();
                    break;
                }
            }
        }
        if !running.is_empty() || node.previews.load(Ordering::SeqCst) > 0 {
            busy_until = Instant::now();
        } else if let Some(limit) = node.options.exit_when_idle {
            let left = limit.saturating_sub(busy_until.elapsed());
            if left.is_zero() {
                tracing::info!("there is no work; the worker ends");
                return;
            }
            pause = pause.min(left);
        }
        let has_free_slot = slots.has_free_slot();
        tokio::select! {
            () = stop.cancelled() => {}
            ended = running.join_next(), if !running.is_empty() => log_panic(ended),
            () = slots.freed() => {}
            () = node.service.render_queued(), if has_free_slot && claims => {}
            () = sleep(jittered(pause)), if has_free_slot => {}
        }
    }
}

/// Logs the new state of a worker.
fn log_state(node: &Node, state: WorkerState) {
    let folder = node.options.scratch.display();
    match state {
        WorkerState::Claiming => tracing::info!(%folder, "the worker claims renders again"),
        WorkerState::DiskFull => {
            tracing::error!(%folder, "the disk is full; the worker claims nothing until there is room");
        }
        WorkerState::CannotRender => {
            tracing::error!("the worker claims nothing until this machine can render; it is tested every minute");
        }
        WorkerState::StoreUnreachable => {
            tracing::warn!(
                "the store cannot be used; the worker claims nothing until it can; it is tested every minute"
            );
        }
        WorkerState::Draining => {}
    }
}

/// Returns whether a failure may be due to the machine.
const fn may_be_of_machine(failure: &ChildFailure) -> bool {
    !failure.is_of_request
        && matches!(failure.code, FailureCode::RendererCrash | FailureCode::DisplayLost | FailureCode::EncodeFailed)
}

/// Returns whether a failure may be due to a store that does not respond.
const fn may_be_of_store(failure: &ChildFailure) -> bool {
    !failure.is_of_request
        && matches!(
            failure.code,
            FailureCode::ModelDownloadFailed
                | FailureCode::EnvDownloadFailed
                | FailureCode::OverlayDownloadFailed
                | FailureCode::UploadFailed
        )
}

async fn drain(running: &mut JoinSet<()>) {
    while let Some(ended) = running.join_next().await {
        log_panic(Some(ended));
    }
}

fn log_panic(ended: Option<Result<(), tokio::task::JoinError>>) {
    if let Some(Err(error)) = ended {
        // Nothing is reported for a job that panicked. Its leases expire, and its renders return to the queue.
        tracing::error!(error = %error, "a job panicked");
    }
}

/// Varies a pause randomly by up to a quarter, so that workers do not poll at the same moments.
pub(crate) fn jittered(pause: Duration) -> Duration {
    pause.mul_f64(0.75 + 0.5 * random() as f64 / u64::MAX as f64)
}

/// Returns a random number. `RandomState` is the only source of random numbers in the standard library.
pub(crate) fn random() -> u64 {
    RandomState::new().hash_one(0_u8)
}

/// What a worker does if its disk is full although the system reports free space.
#[derive(Debug, Default)]
struct FullDisk {
    /// Writing has failed.
    write_failure: LastMinute,
    /// Half of the cached models was removed.
    cache_halving: LastMinute,
}

/// The tests of the machine and of the store after the failure of a job. After one has failed, it is repeated every minute, and the
/// worker claims nothing until it has passed.
#[derive(Debug, Default)]
struct Tests {
    /// The machine could not render.
    machine_failure: LastMinute,
    /// The store did not respond, or did not belong to the database.
    store_failure: LastMinute,
    /// Identity of the store to which the database belongs. Empty until it was read from the database.
    store_id: OnceLock<String>,
}

impl Tests {
    /// Returns whether a test has failed and has not passed since then.
    fn have_failed(&self) -> bool {
        self.machine_failure.is_noted() || self.store_failure.is_noted()
    }
}

/// The result of a test of the machine or of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TestResult {
    Passed,
    Failed,
    /// The worker was stopped before the test had ended.
    Interrupted,
}

/// Returns how a job ends that has failed with `failure`, after the machine or the store was tested.
fn after_test(failure: ChildFailure, result: TestResult) -> JobError {
    match result {
        TestResult::Passed => JobError::Failed(failure),
        TestResult::Failed => JobError::Left,
        TestResult::Interrupted => JobError::Cancelled,
    }
}

impl Node {
    /// Returns whether the worker may claim previews: the disk has room, and the tests of the machine and of the store have not failed.
    pub(crate) fn may_claim_previews(&self) -> bool {
        self.has_room() && !self.tests.have_failed()
    }

    /// Returns whether the disk has room for a job, and writing to it has not failed recently.
    fn has_room(&self) -> bool {
        !self.full_disk.write_failure.is_recent(Instant::now()) && self.has_free_space()
    }

    fn has_free_space(&self) -> bool {
        self.scratch.has_room(self.options.room_bytes)
    }

    /// Prepares the disk for a job. A minute after a test of the machine or of the store has failed, repeats the test. Returns the state
    /// of the worker: whether it may claim jobs, and otherwise the reason.
    async fn prepare(&self, stop: &CancellationToken) -> WorkerState {
        if !self.prepare_disk().await {
            return WorkerState::DiskFull;
        }
        let Tests { machine_failure, store_failure, .. } = &self.tests;
        let is_due = |failure: &LastMinute| failure.is_noted() && !failure.is_recent(Instant::now());
        // Until a test has passed, its failure stays noted, so that no previews are claimed while it runs.
        if is_due(machine_failure) && self.test_machine(stop).await == TestResult::Passed {
            machine_failure.forget();
        }
        if machine_failure.is_noted() {
            return WorkerState::CannotRender;
        }
        if is_due(store_failure) && self.test_store(stop).await == TestResult::Passed {
            store_failure.forget();
        }
        if store_failure.is_noted() { WorkerState::StoreUnreachable } else { WorkerState::Claiming }
    }

    /// Tests whether this machine can still render, and notes if it cannot. Hardware encoders are not tested, because libx264 replaces
    /// those that fail.
    async fn test_machine(&self, stop: &CancellationToken) -> TestResult {
        match self.probe(EncoderChoice::default(), PROBE_AGAIN_TIME, stop).await {
            Ok(Some(_found)) => TestResult::Passed,
            Ok(None) => TestResult::Interrupted,
            Err(error) => {
                tracing::error!(error = failure_message(&error), "the test of this machine failed");
                self.tests.machine_failure.note(Instant::now());
                TestResult::Failed
            }
        }
    }

    /// Tests whether the store responds and belongs to the database, and notes if not.
    async fn test_store(&self, stop: &CancellationToken) -> TestResult {
        let problem = match stop.run_until_cancelled(timeout(STORE_TEST_TIME, Box::pin(self.store_problem()))).await {
            None => return TestResult::Interrupted,
            Some(Ok(None)) => return TestResult::Passed,
            Some(Ok(Some(problem))) => problem,
            Some(Err(_elapsed)) => "the time limit was reached".to_owned(),
        };
        tracing::warn!(error = problem, "the test of the store failed");
        self.tests.store_failure.note(Instant::now());
        TestResult::Failed
    }

    /// Returns the reason why the store cannot be used, or `None` if it can be used. If the identity of the store is known, only the
    /// object with it is read: it is missing in the empty folder that is left after a file system was unmounted, and reading it does not
    /// need the permission to list objects.
    async fn store_problem(&self) -> Option<String> {
        let Some(expected) = self.expected_store_id().await else {
            return self.service.store().ping().await.err().map(|error| failure_message(&error));
        };
        match self.service.store_id().await {
            Ok(Some(found)) if found == expected => None,
            Ok(Some(_other)) => Some("the store belongs to another database".to_owned()),
            Ok(None) => Some("the store has no identity; its file system may not be mounted (a server that starts writes a lost one)".to_owned()),
            Err(error) => Some(failure_message(&error)),
        }
    }

    /// Returns the identity of the store to which the database belongs. Reads it from the database until it is known. Returns `None` if
    /// the database has none yet, or does not respond.
    async fn expected_store_id(&self) -> Option<&str> {
        if let Some(known) = self.tests.store_id.get() {
            return Some(known);
        }
        match timeout(STORE_ID_TIME, self.service.expected_store_id()).await {
            Ok(Ok(found)) => found.map(|id| self.tests.store_id.get_or_init(|| id).as_str()),
            Ok(Err(error)) => {
                tracing::debug!(error = failure_message(&error), "the identity of the store cannot be read");
                None
            }
            Err(_elapsed) => None,
        }
    }

    /// Tests the store if it may be the reason why a file could not be fetched. It may also be the reason for a missing object, because
    /// its folder may not be mounted.
    pub(crate) async fn test_store_after(&self, error: &StoreError, stop: &CancellationToken) {
        if error.may_pass() || error.is_not_found() {
            self.test_store(stop).await;
        }
    }

    /// Returns whether a test of the store has failed and has not passed since then.
    pub(crate) fn has_lost_store(&self) -> bool {
        self.tests.store_failure.is_noted()
    }

    /// Removes cached models if the disk has too little room for a job. A minute after writing has failed, tries it again: if it still
    /// fails, the disk counts as full for another minute, because each job that is claimed on a full disk counts as lost. Returns
    /// whether the disk has room.
    async fn prepare_disk(&self) -> bool {
        if self.full_disk.write_failure.forget_past(Instant::now()) && self.has_free_space() {
            self.try_to_write().await;
            if !self.has_room() {
                self.halve_cache().await;
            }
        }
        if !self.has_free_space() {
            make_room(&self.scratch, self.options.room_bytes).await;
        }
        self.has_room()
    }

    /// Writes to the disk, and notes if this fails because the disk is full.
    async fn try_to_write(&self) {
        let folder = self.scratch.own().to_owned();
        let tried = tokio::task::spawn_blocking(move || lacks_room(&folder)).await;
        if tried.is_ok_and(|lacks_room| lacks_room) {
            self.full_disk.write_failure.note(Instant::now());
        }
    }

    /// Removes half of the cached models, at most once a minute.
    async fn halve_cache(&self) {
        let now = Instant::now();
        if !self.full_disk.cache_halving.is_recent(now) {
            self.full_disk.cache_halving.note(now);
            remove_half(&self.scratch).await;
        }
    }

    /// Returns how a failed job ends. It is left to other workers if the disk is full, if this machine cannot render any more, or if the
    /// store does not respond; this worker then claims nothing until this has changed. The machine and the store are tested for this,
    /// because the process of a job is not trusted. If `kill` is cancelled during a test, the job counts as cancelled.
    pub(crate) async fn judge(&self, failure: ChildFailure, kill: &CancellationToken) -> JobError {
        if self.is_of_full_disk(&failure) {
            tracing::error!(error = failure.message, "a job failed because the disk is full; it returns to the queue");
            self.make_room_after(&failure).await;
            return JobError::Left;
        }
        let (result, problem) = if may_be_of_store(&failure) {
            (self.test_store(kill).await, "a job failed because the store does not respond")
        } else if may_be_of_machine(&failure) {
            (self.test_machine(kill).await, "a job failed on this machine")
        } else {
            return JobError::Failed(failure);
        };
        if result == TestResult::Failed {
            tracing::error!(error = failure.message, "{problem}; it returns to the queue");
        }
        after_test(failure, result)
    }

    /// Returns whether a job failed because the disk is full. The job may have deleted its files since it noticed this.
    fn is_of_full_disk(&self, failure: &ChildFailure) -> bool {
        failure.is_of_full_disk || !self.has_free_space()
    }

    /// After a job has failed on a full disk: if the system reports free space nevertheless, as with an exhausted disk quota, cached
    /// models are removed. If this worker cannot write either, it claims nothing until it can. It tries this itself, because the
    /// process of a job is not trusted.
    async fn make_room_after(&self, failure: &ChildFailure) {
        if !failure.is_of_full_disk || !self.has_free_space() {
            return;
        }
        self.try_to_write().await;
        self.halve_cache().await;
    }

    /// Claims the next job for which a slot is free, and takes the slot. Returns `None` if there is no such job.
    async fn take(&self, slots: &Arc<Slots>) -> plinth_service::Result<Option<(Work, Slot)>> {
        let Self { service, options, .. } = self;
        let worker = || Worker { name: options.name.clone(), pool: options.pool.clone(), takes: options.takes.clone() };
        if let Some(slot) = slots.take_render() {
            let claims = service.claim_renders(worker(), MAX_GROUP_SIZE).await?;
            if !claims.is_empty() {
                counters::render_claims().increment(claims.len() as u64);
                return Ok(Some((Work::Render(claims), slot)));
            }
        }
        if let Some(slot) = slots.take_packaging()
            && let Some(claim) = service.claim_packaging(worker()).await?
        {
            counters::packaging_claims().increment(1);
            return Ok(Some((Work::Package(Box::new(claim)), slot)));
        }
        Ok(None)
    }

    fn start(self: &Arc<Self>, work: Work, mut slot: Slot, running: &mut JoinSet<()>, kill: &CancellationToken) {
        let (node, kill) = (Arc::clone(self), kill.clone());
        if matches!(&work, Work::Render(claims) if claims.iter().any(|claim| !claim.render.is_system_preview)) {
            slot.make_urgent();
        }
        let what = work.what();
        let Some(claim) = work.claims().first() else { return };
        let row = &claim.render;
        let span = tracing::info_span!("job", what, render.id = %row.id, render.attempt = row.attempt);
        let trace = span.in_scope(|| JobTrace::begin(what, work.claims(), &self.options));
        let traced = trace.span().clone();
        let job = async move {
            let counted = Running::begin(what);
            let begin = Instant::now();
            match &work {
                Work::Render(claims) => render(&node, claims, &mut slot, &kill).await,
                Work::Package(claim) => package(&node, claim, &kill).await,
            }
            tracing::info!(job.duration_secs = begin.elapsed().as_secs_f64(), "the job ended");
            drop((counted, trace, slot));
        };
        running.spawn(job.instrument(traced).instrument(span));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_claims_no_previews_after_a_failed_test_until_one_has_passed() {
        for is_of_store in [false, true] {
            let tests = Tests::default();
            assert!(!tests.have_failed());
            let failure = if is_of_store { &tests.store_failure } else { &tests.machine_failure };
            failure.note(Instant::now());
            // The test is repeated after a minute, and takes up to two more.
            assert!(!failure.is_recent(Instant::now() + Duration::from_mins(1)) && tests.have_failed());
            failure.forget();
            assert!(!tests.have_failed());
        }
    }

    #[test]
    fn a_job_whose_test_was_interrupted_ends_like_a_cancelled_one() {
        let failure = || ChildFailure::new(FailureCode::UploadFailed, "no connection".to_owned());
        assert!(matches!(after_test(failure(), TestResult::Passed), JobError::Failed(_)));
        assert!(matches!(after_test(failure(), TestResult::Failed), JobError::Left));
        assert!(matches!(after_test(failure(), TestResult::Interrupted), JobError::Cancelled));
    }
}
