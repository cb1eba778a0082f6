//! An installation for tests: the real program with a temporary database and store.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use plinth_store::{LinkSigner, StoreOptions};
use plinth_testkit::{Client, Postgres, S3Server};
use serde_json::Value;
use tempfile::TempDir;

/// Database, store and configuration of an installation. Several servers can run on it one after another.
pub(crate) struct Installation {
    pub(crate) folder: TempDir,
    /// The build of the program that runs on this installation, if it is not the one under test.
    build: Option<PathBuf>,
    variables: Vec<(String, String)>,
    pub(crate) postgres: Option<Postgres>,
    s3: Option<S3Server>,
}

impl Installation {
    /// Creates an installation with SQLite and local files.
    pub(crate) fn with_sqlite() -> Self {
        let folder = TempDir::with_prefix("plinth-serve-").unwrap();
        Self { folder, build: None, variables: Vec::new(), postgres: None, s3: None }
    }

    /// Creates an installation with PostgreSQL and S3.
    pub(crate) async fn with_postgres_and_s3() -> Self {
        let (postgres, s3) = (Postgres::start(), S3Server::start().await);
        let (key, secret) = s3.credentials();
        let variables = [
            ("PLINTH_DATABASE_URL", postgres.address()),
            ("PLINTH_STORE_URL", format!("s3://{}/some/where", s3.bucket())),
            ("AWS_ENDPOINT_URL", s3.endpoint().to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", key.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", secret.to_owned()),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value)).to_vec();
        let folder = TempDir::with_prefix("plinth-serve-").unwrap();
        Self { folder, build: None, variables, postgres: Some(postgres), s3: Some(s3) }
    }

    pub(crate) fn database(&self) -> String {
        let file = || format!("sqlite://{}", self.folder.path().join("data/plinth.db").display());
        self.postgres.as_ref().map_or_else(file, Postgres::address)
    }

    /// Returns the options for opening the store.
    pub(crate) fn store(&self, signer: LinkSigner) -> StoreOptions {
        let value = |name: &str| self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let files = || format!("file://{}", self.folder.path().join("data/objects").display());
        let s3 = self.variables.iter().filter(|(name, _)| name.starts_with("AWS_")).cloned().collect();
        let address = value("PLINTH_STORE_URL").unwrap_or_else(files);
        StoreOptions { address, s3, s3_public_endpoint: None, signer }
    }

    /// Returns the folder that contains the objects of the store.
    pub(crate) fn objects(&self) -> PathBuf {
        let files = || self.folder.path().join("data/objects");
        self.s3.as_ref().map_or_else(files, |s3| s3.folder().join(s3.bucket()).join("some/where"))
    }

    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Moves the data folder below a file, where no user can access it. Tests may run as root, who may enter every folder.
    pub(crate) fn with_data_below_a_file(self) -> Self {
        let file = self.folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        self.set("PLINTH_DATA_DIR", file.join("data").to_str().unwrap())
    }

    /// Sets the build of the program that runs on this installation.
    pub(crate) fn with_build(mut self, program: Option<PathBuf>) -> Self {
        self.build = program;
        self
    }

    /// Returns the environment variables of the servers.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns the program, with the configuration of this installation as its only environment variables.
    pub(crate) fn program(&self) -> Command {
        let mut program = self.build.as_deref().map_or_else(crate::program, crate::program_at);
        program.current_dir(self.folder.path()).env("PLINTH_DATA_DIR", self.folder.path().join("data"));
        program.envs(self.variables.iter().map(|(name, value)| (name, value)));
        program
    }

    /// Runs `plinth admin` and returns its JSON.
    pub(crate) fn admin(&self, args: &[&str]) -> Value {
        let done = self.try_admin(args);
        assert!(done.status.success(), "{args:?}: {}", crate::text(&done.stderr));
        serde_json::from_slice(&done.stdout).unwrap()
    }

    pub(crate) fn try_admin(&self, args: &[&str]) -> Output {
        self.program().arg("admin").args(args).arg("--json").output().unwrap()
    }

    /// Creates an account and returns a key.
    pub(crate) fn account(&self, email: &str) -> String {
        self.admin(&["account", "create", email]);
        self.key(email, &[])
    }

    /// Creates another key of an account.
    pub(crate) fn key(&self, email: &str, more: &[&str]) -> String {
        let made = self.admin(&[&["key", "create", "--account", email], more].concat());
        made["token"].as_str().unwrap().to_owned()
    }

    /// Starts a server without a worker.
    pub(crate) fn serve(&self, args: &[&str]) -> Server {
        self.serve_by(self.program(), args)
    }

    /// Starts a server without a worker, with another program.
    pub(crate) fn serve_by(&self, mut program: Command, args: &[&str]) -> Server {
        let log = File::options().create(true).append(true).open(self.folder.path().join("log")).unwrap();
        program.args(["serve", "--listen", "127.0.0.1:0"]).args(args).stdout(Stdio::piped()).stderr(log);
        let mut child = program.spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut printed = String::new();
        let base = loop {
            let begin = printed.len();
            assert!(out.read_line(&mut printed).unwrap() > 0, "the server ended: {}", self.log());
            if let Some((_, address)) = printed[begin..].trim().split_once("serves at ") {
                break address.to_owned();
            }
        };
        Server { child, out: Some(out), base }
    }

    /// Returns the log of all servers of this installation.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

/// A running server, killed when dropped.
pub(crate) struct Server {
    child: Child,
    out: Option<BufReader<ChildStdout>>,
    pub(crate) base: String,
}

impl Server {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// Returns the peak memory of the server process in MB, without its child processes.
    pub(crate) fn peak_memory_mb(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
    }

    /// Reads the output of the server up to the line with this text, and returns it.
    pub(crate) fn read_until(&mut self, text: &str) -> String {
        let out = self.out.as_mut().unwrap();
        let mut printed = String::new();
        while !printed.contains(text) {
            assert!(out.read_line(&mut printed).unwrap() > 0, "no {text} in {printed}");
        }
        printed
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Stops the server. Returns the rest of its output and its exit code.
    pub(crate) fn end(mut self) -> (String, Option<i32>) {
        self.signal("TERM");
        let code = self.child.wait().unwrap().code();
        let rest = std::io::read_to_string(self.out.take().unwrap()).unwrap();
        (rest, code)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _waited = self.child.wait();
    }
}

/// An installation with a server and one account.
pub(crate) struct Served {
    pub(crate) client: Client,
    pub(crate) server: Server,
    pub(crate) installation: Installation,
}

/// Flags of a server without a worker, and with a rate limit that no test reaches.
const UNLIMITED: &[&str] = &["--no-worker", "--rate-limit-per-minute", "1000000"];
pub(crate) const EMAIL: &str = "ada@example.org";
/// Time after which a key or a link with the shortest lifetime, one second, has expired.
pub(crate) const LIFETIME: Duration = Duration::from_millis(1100);

impl Served {
    pub(crate) fn with_sqlite() -> Self {
        Self::on(Installation::with_sqlite())
    }

    pub(crate) async fn with_postgres_and_s3() -> Self {
        Self::on(Installation::with_postgres_and_s3().await)
    }

    /// Starts a server with a rate limit that no test reaches.
    pub(crate) fn on(installation: Installation) -> Self {
        let server = installation.serve(UNLIMITED);
        let client = Client::new(&server.base, &installation.account(EMAIL));
        Self { client, server, installation }
    }

    /// Restarts the server with a changed configuration.
    pub(crate) fn again(self, change: impl FnOnce(Installation) -> Installation) -> Self {
        let Self { client, server, installation } = self;
        server.end();
        let installation = change(installation);
        let server = installation.serve(UNLIMITED);
        Self { client: Client::new(&server.base, &client.token), server, installation }
    }

    /// Returns whether the installation uses SQLite and local files. If so, Plinth signs the links.
    pub(crate) const fn is_alone(&self) -> bool {
        self.installation.s3.is_none()
    }

    /// Returns a client of the same server with another key.
    pub(crate) fn client(&self, token: &str) -> Client {
        Client::new(&self.server.base, token)
    }
}
