//! A deployment on several hosts: servers, workers, a database, and a store behind a proxy.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use plinth_testkit::{Answer, Client, FaultyProxy, Host, Network, Postgres, S3Server};
use reqwest::StatusCode;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::node::{Node, PORT};
use crate::serve::crash::check::Remains;
use crate::serve::crash::clients::{Clients, PAUSE, TIMEOUT, whole_answer};
use crate::serve::server::EMAIL;

/// Lease time in seconds. With a shorter lease, a worker on a busy machine might not renew it in time.
pub(super) const LEASE_SECS: u64 = 4;
/// Credits of the account. All renders together cost less.
const CREDITS: i64 = 1_000_000;
/// Timeout of a request. After it, the client sends the request again.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time between two readiness checks of a server by the load balancer.
const BETWEEN_CHECKS: Duration = Duration::from_millis(250);
/// Settings with their PostgreSQL defaults, which other tests override. A database that crashes must not lose committed
/// transactions.
const DATABASE_SETTINGS: [&str; 2] = ["max_connections=100", "synchronous_commit=on"];
const STORE_PORT: u16 = 9000;

/// A deployment on several hosts. It also acts as the load balancer of the servers.
pub(super) struct Fleet {
    pub(super) nodes: Vec<Node>,
    pub(super) database: Postgres,
    pub(super) store: FaultyProxy,
    pub(super) hosts: Hosts,
    client: Client,
    /// Whether each of `nodes` is ready for requests; always false for workers.
    ready: Vec<AtomicBool>,
    next: AtomicUsize,
    /// Descriptions of responses with a 5xx status, and of requests without a complete response.
    pub(super) failed: Mutex<Vec<String>>,
    /// Number of refused connections.
    pub(super) refused: AtomicUsize,
    /// Messages about processes that ended by themselves.
    pub(super) ended: Mutex<Vec<String>>,
    /// Locked while a fault is injected into the database.
    pub(super) database_strike: tokio::sync::Mutex<()>,
    /// Locked while a fault is injected into the store.
    pub(super) store_strike: tokio::sync::Mutex<()>,
    s3: S3Server,
    folder: TempDir,
    // The last field, because the network is removed after everything that uses it.
    _network: Network,
}

/// The hosts on which neither servers nor workers run.
pub(super) struct Hosts {
    pub(super) database: Host,
    pub(super) store: Host,
    pub(super) clients: Host,
}

/// Configuration of a fleet.
pub(super) struct Plan<'a> {
    pub(super) servers: usize,
    /// Additional arguments of servers.
    pub(super) server_args: &'a [&'a str],
    /// Additional arguments of each worker.
    pub(super) workers: Vec<Vec<&'a str>>,
    pub(super) variables: &'a [(&'a str, &'a str)],
    /// The program that all nodes run at first.
    pub(super) program: PathBuf,
}

impl Fleet {
    /// Creates the hosts and starts the servers. Workers are started by the caller.
    pub(super) async fn open(plan: Plan<'_>) -> Arc<Self> {
        let mut network = Network::create();
        let folder = TempDir::with_prefix("plinth-fleet-").unwrap();
        let hosts =
            Hosts { database: network.add("database"), store: network.add("store"), clients: network.own_host() };
        let database = Postgres::start_on(&network, hosts.database.clone(), &DATABASE_SETTINGS);
        let s3 = S3Server::start().await;
        let server = s3.endpoint().trim_start_matches("http://").parse().unwrap();
        let store = FaultyProxy::start(hosts.store.listen(STORE_PORT).unwrap(), server);
        let variables = variables(&database, &s3, &hosts, plan.variables);
        let mut nodes = Vec::new();
        for number in 1..=plan.servers {
            let host = network.add(&format!("server{number}"));
            let listen = format!("{}:{PORT}", host.address());
            let args = [&["serve", "--no-worker", "--listen", &listen], plan.server_args].concat();
            nodes.push(Node::new(host, folder.path(), &args, &variables));
        }
        for (number, args) in (1..).zip(&plan.workers) {
            let name = format!("worker{number}");
            let host = network.add(&name);
            let listen = format!("{}:{PORT}", host.address());
            let own = ["worker", "--worker-slots", "1", "--health-listen", &listen, "--worker-name", &name];
            let args = [&own, args.as_slice()].concat();
            nodes.push(Node::new(host, folder.path(), &args, &variables));
        }
        for node in &nodes {
            node.use_program(&plan.program);
        }
        let admin = |args: &[&str]| admin(&folder, &variables, args);
        admin(&["account", "create", EMAIL]);
        admin(&["credits", "grant", EMAIL, &CREDITS.to_string()]);
        let key = admin(&["key", "create", "--account", EMAIL]);
        let fleet = Arc::new(Self {
            ready: nodes.iter().map(|_node| AtomicBool::new(false)).collect(),
            nodes,
            database,
            store,
            hosts,
            client: Client::new("", key["token"].as_str().unwrap()),
            next: AtomicUsize::new(0),
            failed: Mutex::default(),
            refused: AtomicUsize::new(0),
            ended: Mutex::default(),
            database_strike: tokio::sync::Mutex::default(),
            store_strike: tokio::sync::Mutex::default(),
            s3,
            folder,
            _network: network,
        });
        fleet.servers().for_each(Node::start);
        fleet.balance();
        fleet
    }

    pub(super) fn servers(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.is_server())
    }

    pub(super) fn workers(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| !node.is_server())
    }

    /// Checks the readiness of servers until the fleet is dropped.
    fn balance(self: &Arc<Self>) {
        for number in (0..self.nodes.len()).filter(|number| self.nodes[*number].is_server()) {
            let (fleet, http) = (Arc::downgrade(self), self.client.http.clone());
            let url = format!("{}/readyz", self.base(number));
            tokio::spawn(async move {
                loop {
                    let response = timeout(BETWEEN_CHECKS * 4, http.get(&url).send()).await;
                    let is_ready = response.is_ok_and(|sent| sent.is_ok_and(|sent| sent.status().is_success()));
                    let Some(fleet) = fleet.upgrade() else { break };
                    fleet.ready[number].store(is_ready, Ordering::SeqCst);
                    drop(fleet);
                    sleep(BETWEEN_CHECKS).await;
                }
            });
        }
    }

    /// Restarts processes that end by themselves, as an orchestrator does. Ends when the returned task is aborted.
    pub(super) fn supervise(self: &Arc<Self>) -> JoinHandle<()> {
        let fleet = Arc::clone(self);
        tokio::spawn(async move {
            loop {
                for node in &fleet.nodes {
                    if let Some(status) = node.restart_if_ended() {
                        let log = node.log();
                        let last = log.lines().next_back().unwrap_or_default().to_owned();
                        let message = format!("{}: {status}: {last}", node.host.name());
                        fleet.ended.lock().unwrap_or_else(PoisonError::into_inner).push(message);
                    }
                }
                sleep(BETWEEN_CHECKS * 4).await;
            }
        })
    }

    fn base(&self, number: usize) -> String {
        format!("http://{}:{PORT}", self.nodes[number].host.address())
    }

    /// Returns whether the readiness endpoint of a node responds with 503.
    pub(super) async fn is_draining(&self, node: &Node) -> bool {
        let url = format!("http://{}:{PORT}/readyz", node.host.address());
        let response = timeout(BETWEEN_CHECKS * 4, self.client.http.get(&url).send()).await;
        response.is_ok_and(|sent| sent.is_ok_and(|sent| sent.status() == StatusCode::SERVICE_UNAVAILABLE))
    }

    /// Returns the index of a server in round-robin order. Skips servers that are not ready, unless none is ready.
    fn choose(&self) -> usize {
        let servers: Vec<usize> = (0..self.nodes.len()).filter(|number| self.nodes[*number].is_server()).collect();
        let ready = servers.iter().copied().filter(|number| self.ready[*number].load(Ordering::SeqCst));
        let ready: Vec<usize> = ready.collect();
        let those = if ready.is_empty() { &servers } else { &ready };
        those[self.next.fetch_add(1, Ordering::SeqCst) % those.len()]
    }

    /// Waits until all servers are ready.
    pub(super) async fn until_ready(&self) {
        let begin = Instant::now();
        let servers = || (0..self.nodes.len()).filter(|number| self.nodes[*number].is_server());
        while !servers().all(|number| self.ready[number].load(Ordering::SeqCst)) {
            assert!(begin.elapsed() < TIMEOUT, "a server does not become ready\n{}", self.log());
            sleep(PAUSE).await;
        }
    }

    /// Sends a request once. Returns `None` if there is no complete response. A refused connection is not a failure,
    /// because the service has not received the request, and a load balancer would send it to another server.
    async fn try_once(&self, request: reqwest::RequestBuilder) -> Option<Answer> {
        let sent = request.send().await;
        if sent.as_ref().is_err_and(reqwest::Error::is_connect) {
            self.refused.fetch_add(1, Ordering::SeqCst);
            return None;
        }
        let (answer, failure) = match sent {
            Ok(response) => (whole_answer(response).await, "the response was cut off".to_owned()),
            Err(broken) => (None, format!("{broken:?}")),
        };
        if answer.as_ref().is_none_or(|answer| answer.status >= 500) {
            let failure = answer.as_ref().map_or(failure, |answer| format!("{answer:?}"));
            self.failed.lock().unwrap_or_else(PoisonError::into_inner).push(failure);
        }
        answer
    }

    /// Ends all processes and removes the network, as soon as no task uses the fleet any more.
    pub(super) async fn close(mut self: Arc<Self>) {
        while let Err(shared) = Arc::try_unwrap(self) {
            self = shared;
            sleep(PAUSE).await;
        }
    }

    /// Returns the database, objects, log and granted credits for the checks of the crash tests.
    pub(super) fn remains(&self) -> Remains {
        let objects = self.s3.folder().join(self.s3.bucket()).join("some/where");
        Remains { database: self.database.address(), objects, log: self.log(), granted: CREDITS }
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Clients for Fleet {
    fn client(&self) -> Client {
        Client { base: self.base(self.choose()), ..self.client.clone() }
    }

    fn log(&self) -> String {
        let logs: Vec<String> =
            self.nodes.iter().map(|node| format!("== {}\n{}", node.host.name(), node.log())).collect();
        logs.concat()
    }

    async fn answer(&self, request: impl Fn(&Client) -> reqwest::RequestBuilder) -> (Answer, usize) {
        let begin = Instant::now();
        let mut sent = 0;
        loop {
            sent += 1;
            let answer = self.try_once(request(&self.client()).timeout(PATIENCE)).await;
            if let Some(answer) = answer.filter(|answer| answer.status < 500 && answer.status != 429) {
                return (answer, sent);
            }
            assert!(begin.elapsed() < TIMEOUT, "no answer\n{}", self.log());
            sleep(PAUSE * 4).await;
        }
    }
}

fn variables(database: &Postgres, s3: &S3Server, hosts: &Hosts, more: &[(&str, &str)]) -> Vec<(String, String)> {
    let (key, secret) = s3.credentials();
    let variables = [
        ("PLINTH_DATABASE_URL", database.remote_address()),
        ("PLINTH_STORE_URL", format!("s3://{}/some/where", s3.bucket())),
        ("AWS_ENDPOINT_URL", format!("http://{}:{STORE_PORT}", hosts.store.address())),
        ("AWS_REGION", "us-east-1".to_owned()),
        ("AWS_ACCESS_KEY_ID", key.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", secret.to_owned()),
        ("PLINTH_ADAPTER", "cpu".to_owned()),
        ("PLINTH_LEASE_SECONDS", LEASE_SECS.to_string()),
        ("PLINTH_FREE_UPLOADS_PER_DAY", "1000000".to_owned()),
        ("PLINTH_RATE_LIMIT_PER_MINUTE", "1000000".to_owned()),
    ];
    let variables = variables.into_iter().map(|(name, value)| (name.to_owned(), value));
    variables.chain(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))).collect()
}

fn admin(folder: &TempDir, variables: &[(String, String)], args: &[&str]) -> serde_json::Value {
    let mut program = Command::new(super::program());
    program.current_dir(folder.path()).envs(variables.iter().map(|(name, value)| (name, value)));
    let done = program.arg("admin").args(args).arg("--json").output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", crate::text(&done.stderr));
    serde_json::from_slice(&done.stdout).unwrap()
}
