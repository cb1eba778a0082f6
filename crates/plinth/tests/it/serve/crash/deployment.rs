//! A server and its workers. Each is a process that tests can kill and restart.

use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::Instant;

use plinth_testkit::{Answer, Client};
use tokio::task::block_in_place;
use tokio::time::sleep;

use super::check::Remains;
use super::clients::{Clients, PAUSE, TIMEOUT, whole_answer};
use crate::processes_in;
use crate::serve::server::{EMAIL, Installation, Server};

pub(super) const WORKERS: usize = 2;
/// Lease time in seconds. With a shorter time, leases would expire on a busy machine.
pub(super) const LEASE_SECS: u64 = 2;
/// Credits that are granted to the account. They suffice for all renders of a round.
pub(super) const CREDITS: i64 = 1_000_000;

pub(super) struct Deployment {
    pub(super) installation: Installation,
    client: Client,
    /// Base URL of the server. The port changes with each restart.
    base: RwLock<String>,
    server: Mutex<Option<Server>>,
    /// Number of starts and ends of database restarts. It is odd during a restart.
    outages: AtomicUsize,
    workers: [Mutex<Option<Worker>>; WORKERS],
}

/// A model and its free preview.
pub(super) struct Uploaded {
    pub(super) id: String,
    pub(super) preview: String,
}

/// A worker process, killed when dropped.
struct Worker(Child);

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Deployment {
    pub(super) fn open(installation: Installation) -> Self {
        let token = installation.account(EMAIL);
        installation.admin(&["credits", "grant", EMAIL, &CREDITS.to_string()]);
        let workers = std::array::from_fn(|_| Mutex::new(None));
        let deployment = Self {
            client: Client::new("", &token),
            installation,
            base: RwLock::default(),
            server: Mutex::new(None),
            outages: AtomicUsize::new(0),
            workers,
        };
        deployment.start_server();
        (0..WORKERS).for_each(|worker| deployment.start_worker(worker));
        deployment
    }

    pub(super) fn start_server(&self) {
        let server = block_in_place(|| self.installation.serve(&["--no-worker"]));
        self.base.write().unwrap_or_else(PoisonError::into_inner).clone_from(&server.base);
        *self.server.lock().unwrap_or_else(PoisonError::into_inner) = Some(server);
    }

    pub(super) fn kill_server(&self) {
        drop(self.server.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    pub(super) fn signal_server(&self, signal: &str) {
        self.server.lock().unwrap_or_else(PoisonError::into_inner).as_ref().unwrap().signal(signal);
    }

    /// Restarts the database in the middle of transactions. Returns false if the database is a SQLite file, which
    /// cannot be restarted.
    pub(super) fn restart_database(&self) -> bool {
        let Some(postgres) = &self.installation.postgres else { return false };
        self.outages.fetch_add(1, Ordering::SeqCst);
        block_in_place(|| postgres.restart());
        self.outages.fetch_add(1, Ordering::SeqCst);
        true
    }

    pub(super) fn start_worker(&self, number: usize) {
        let log = File::options().create(true).append(true).open(self.installation.folder.path().join("log")).unwrap();
        let mut program = self.installation.program();
        program.args(["worker", "--worker-slots", "1"]).stdout(Stdio::null()).stderr(log);
        *self.worker(number) = Some(Worker(program.spawn().unwrap()));
    }

    pub(super) fn kill_worker(&self, number: usize) {
        drop(self.worker(number).take());
    }

    /// Tells a worker to stop, and waits until it has released its renders.
    pub(super) fn stop_worker(&self, number: usize) {
        self.signal_worker(number, "TERM");
        block_in_place(|| drop(self.worker(number).take().unwrap().0.wait()));
    }

    pub(super) fn signal_worker(&self, number: usize, signal: &str) {
        let pid = self.worker(number).as_ref().unwrap().0.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
    }

    fn worker(&self, number: usize) -> std::sync::MutexGuard<'_, Option<Worker>> {
        self.workers[number].lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn upload(&self, name: &str) -> Uploaded {
        let answer = self.client().upload(name, None).await;
        Uploaded { id: answer.text("modelId"), preview: answer.text("renderId") }
    }

    /// Returns the database, objects and log for the checks at the end of a round.
    pub(super) fn remains(&self) -> Remains {
        Remains {
            database: self.installation.database(),
            objects: self.installation.objects(),
            log: self.installation.log(),
            granted: CREDITS,
        }
    }

    /// Ends all processes. Asserts that no job and no encoder survives.
    pub(super) fn close(&self) {
        self.kill_server();
        (0..WORKERS).for_each(|worker| self.kill_worker(worker));
        let begin = Instant::now();
        loop {
            let left = processes_in(self.installation.folder.path());
            if left.is_empty() {
                return;
            }
            assert!(begin.elapsed() < TIMEOUT, "{left:?} survived their worker");
            std::thread::sleep(PAUSE);
        }
    }
}

impl Clients for Deployment {
    fn client(&self) -> Client {
        let base = self.base.read().unwrap_or_else(PoisonError::into_inner).clone();
        Client { base, ..self.client.clone() }
    }

    fn log(&self) -> String {
        self.installation.log()
    }

    async fn answer(&self, request: impl Fn(&Client) -> reqwest::RequestBuilder) -> (Answer, usize) {
        let begin = Instant::now();
        let mut sent = 0;
        loop {
            sent += 1;
            let outages = self.outages.load(Ordering::SeqCst);
            let answer = match request(&self.client()).send().await {
                Ok(response) => whole_answer(response).await,
                Err(_broken) => None,
            };
            // Requests that fail during a restart of the database may have been executed or not.
            let is_outage = outages % 2 == 1 || self.outages.load(Ordering::SeqCst) != outages;
            if let Some(answer) = answer.filter(|answer| answer.status < 500 || !is_outage) {
                assert!(answer.status < 500, "{answer:?}\n{}", self.installation.log());
                return (answer, sent);
            }
            assert!(begin.elapsed() < TIMEOUT, "no answer\n{}", self.installation.log());
            sleep(PAUSE).await;
        }
    }
}
