//! Temporary databases. Each is either a SQLite file or a PostgreSQL server whose cluster is in a temporary folder. The
//! folder is in memory if there is enough space.
//!
//! The PostgreSQL server listens only on a socket in its folder, and does not sync to disk. It ends with the test
//! process, even if the test process is killed.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Sender};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::{Host, Network, clusters, tools};

/// User as which the server runs if the tests run as root. PostgreSQL refuses to run as root.
pub(crate) const UNPRIVILEGED: &str = "postgres";
pub(crate) const HELP: &str = "PostgreSQL is needed for this test: run `make setup`, or `apt-get install postgresql`";

/// A temporary database.
pub struct TestDatabase {
    address: String,
    _kept: Kept,
}

enum Kept {
    Sqlite(#[expect(dead_code, reason = "dropping it removes the folder")] TempDir),
    Postgres(#[expect(dead_code, reason = "dropping it ends the server")] Postgres),
}

impl TestDatabase {
    /// Creates a SQLite database.
    pub fn sqlite() -> Self {
        let folder = TempDir::with_prefix("plinth-db-").expect("a temporary folder");
        let address = format!("sqlite://{}", folder.path().join("plinth.db").display());
        Self { address, _kept: Kept::Sqlite(folder) }
    }

    /// Creates a PostgreSQL database.
    pub fn postgres() -> Self {
        Self::of(Postgres::start())
    }

    /// Creates a PostgreSQL database that contains the tables of plinth-db. `migrate` creates the tables. The result is
    /// cached, because creating it takes longer than most tests.
    pub async fn postgres_with_tables(migrate: impl AsyncFnOnce(&str)) -> Self {
        let cached = clusters::with_tables();
        if !cached.exists() {
            let server = Postgres::start();
            migrate(&server.address()).await;
            server.shut_down();
            clusters::keep(server.folder.path(), &cached);
        }
        Self::of(Postgres::start_at(None, &[], "", &cached))
    }

    fn of(server: Postgres) -> Self {
        Self { address: server.address(), _kept: Kept::Postgres(server) }
    }

    /// Returns the database URL.
    pub fn address(&self) -> &str {
        &self.address
    }
}

/// A temporary PostgreSQL server.
pub struct Postgres {
    folder: TempDir,
    /// PostgreSQL settings that override the defaults of test servers, each as `name=value`.
    settings: Vec<String>,
    /// Simulated host on which the server runs; `None` for the host of this process.
    host: Option<Host>,
    server: Mutex<Child>,
}

impl Postgres {
    /// Starts a server.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with PostgreSQL settings that override the defaults of test servers. Each is written as
    /// `name=value`.
    pub fn start_with(settings: &[&str]) -> Self {
        Self::start_at(None, settings, "", &clusters::empty())
    }

    /// Starts a server on a simulated host. The server listens on its socket and on port 5432 of the host, where it
    /// accepts connections from the whole network.
    pub fn start_on(network: &Network, host: Host, settings: &[&str]) -> Self {
        let listen = format!("listen_addresses={}", host.address());
        let access = format!("host all all {} trust\n", network.range());
        Self::start_at(Some(host), &[&[listen.as_str()], settings].concat(), &access, &clusters::empty())
    }

    /// Copies a cluster, and starts a server on the copy.
    fn start_at(host: Option<Host>, settings: &[&str], access: &str, cluster: &Path) -> Self {
        let folder = new_folder(settings);
        let data = folder.path().join("data");
        clusters::copy(cluster, &data);
        let mut rules = fs::File::options().append(true).open(data.join("pg_hba.conf")).expect("the access rules");
        rules.write_all(access.as_bytes()).expect("the access rules");
        own(folder.path());
        let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let server = Mutex::new(spawn(host.as_ref(), folder.path(), &settings));
        let started = Self { folder, settings, host, server };
        started.wait();
        started
    }

    /// Shuts the server down and starts it again. All connections end, and their transactions are aborted.
    pub fn restart(&self) {
        self.restart_after("-INT");
    }

    /// Stops the server without a proper shutdown and starts it again, so that it must recover from its write-ahead
    /// log.
    pub fn crash(&self) {
        self.restart_after("-QUIT");
    }

    fn restart_after(&self, name: &str) {
        {
            let mut server = self.server();
            assert!(signal(&server, name), "postgres is not running");
            server.wait().expect("the end of postgres");
            *server = spawn(self.host.as_ref(), self.folder.path(), &self.settings);
        }
        self.wait();
    }

    /// Shuts the server down, so that all its data is on disk.
    fn shut_down(&self) {
        let mut server = self.server();
        assert!(signal(&server, "-INT"), "postgres is not running");
        server.wait().expect("the end of postgres");
    }

    /// Returns the id of the server's main process.
    pub fn pid(&self) -> u32 {
        self.server().id()
    }

    fn server(&self) -> MutexGuard<'_, Child> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the database URL.
    pub fn address(&self) -> String {
        format!("postgres://{UNPRIVILEGED}@localhost/postgres?host={}", self.folder.path().display())
    }

    /// Returns the database URL with which other hosts reach the server.
    pub fn remote_address(&self) -> String {
        let host = self.host.as_ref().expect("a server on a host");
        format!("postgres://{UNPRIVILEGED}@{}/postgres", host.address())
    }

    fn wait(&self) {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let ready = Command::new(bin("pg_isready")).arg("-q").arg("-h").arg(self.folder.path()).status();
            if ready.is_ok_and(|status| status.success()) {
                return;
            }
            let ended = self.server().try_wait().expect("the state of postgres");
            if ended.is_some() || Instant::now() > deadline {
                let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
                panic!("postgres did not become ready:\n{log}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // The data is not needed, so the server receives SIGQUIT, which stops it immediately. SIGKILL would leave
        // shared memory segments behind, of which a system has only a few thousand.
        let mut server = self.server();
        let has_ended = server.try_wait().is_ok_and(|status| status.is_some());
        if !has_ended && !signal(&server, "-QUIT") {
            let _gone = server.kill();
        }
        let _waited = server.wait();
    }
}

/// Creates the folder of a server. The folder is in memory, where copying and deleting a cluster is faster. It is on
/// disk if `settings` contain `fsync=on`, or if `/dev/shm` has less than 1 GiB of free space.
fn new_folder(settings: &[&str]) -> TempDir {
    const MEMORY: &str = "/dev/shm";
    const ROOM: u64 = 1 << 30;
    let has_room = || rustix::fs::statvfs(MEMORY).is_ok_and(|disk| disk.f_bavail * disk.f_frsize >= ROOM);
    let folder = if !settings.contains(&"fsync=on") && has_room() {
        TempDir::with_prefix_in("plinth-pg-", MEMORY)
    } else {
        TempDir::with_prefix("plinth-pg-")
    };
    folder.expect("a temporary folder")
}

/// Starts a PostgreSQL server for the cluster in `folder`.
fn spawn(host: Option<&Host>, folder: &Path, settings: &[String]) -> Child {
    let mut command = as_unprivileged(host, &bin("postgres"));
    command
        .arg("-D")
        .arg(folder.join("data"))
        .arg("-k")
        .arg(folder)
        .args(["-c", "listen_addresses=", "-c", "fsync=off", "-c", "full_page_writes=off"])
        .args(["-c", "synchronous_commit=off", "-c", "shared_buffers=16MB", "-c", "max_connections=60"])
        // If a setting is given several times, the last value is used.
        .args(settings.iter().flat_map(|setting| ["-c", setting.as_str()]))
        .stdout(Stdio::null())
        .stderr(fs::File::options().create(true).append(true).open(folder.join("log")).expect("a log file"));
    spawn_in_lasting_thread(command).unwrap_or_else(|error| panic!("postgres cannot be started: {error}. {HELP}"))
}

/// Starts a program in a thread that lives as long as this process. The kernel kills the program when the thread that
/// started it ends, so the thread of a test must not start the program.
fn spawn_in_lasting_thread(command: Command) -> io::Result<Child> {
    type Order = (Command, Sender<io::Result<Child>>);
    static ORDERS: LazyLock<Mutex<Sender<Order>>> = LazyLock::new(|| {
        let (orders, received) = mpsc::channel::<Order>();
        std::thread::spawn(move || {
            for (mut command, answer) in received {
                let _gone = answer.send(command.spawn());
            }
        });
        Mutex::new(orders)
    });
    let (answer, answered) = mpsc::channel();
    let order = ORDERS.lock().unwrap_or_else(PoisonError::into_inner).send((command, answer));
    order.expect("the thread that starts programs");
    answered.recv().expect("the thread that starts programs")
}

/// Sends a signal to a process. Returns false if the process does not exist.
fn signal(server: &Child, name: &str) -> bool {
    let sent = Command::new("kill").arg(name).arg(server.id().to_string()).status();
    sent.is_ok_and(|status| status.success())
}

pub(crate) fn bin(name: &str) -> PathBuf {
    tools::postgres().join(name)
}

/// Returns the id of the current user.
pub(crate) fn user() -> u32 {
    fs::metadata("/proc/self").map_or(u32::MAX, |me| std::os::unix::fs::MetadataExt::uid(&me))
}

fn is_root() -> bool {
    user() == 0
}

/// Builds a command that runs a program as a user that PostgreSQL accepts. The program ends when this process ends.
pub(crate) fn as_unprivileged(host: Option<&Host>, program: &Path) -> Command {
    let mut command = match host {
        None => Command::new("setpriv"),
        Some(host) => {
            let mut command = host.command();
            command.arg("setpriv");
            command
        }
    };
    command.args(["--pdeathsig", "QUIT"]);
    if is_root() {
        command.args(["--reuid", UNPRIVILEGED, "--regid", UNPRIVILEGED, "--clear-groups"]);
    }
    command.arg(program).process_group(0);
    command
}

pub(crate) fn own(folder: &Path) {
    if is_root() {
        let status = Command::new("chown").arg("-R").arg(format!("{UNPRIVILEGED}:{UNPRIVILEGED}")).arg(folder).status();
        assert!(
            status.is_ok_and(|s| s.success()),
            "{} could not be given to the user {UNPRIVILEGED}. {HELP}",
            folder.display()
        );
    }
}
