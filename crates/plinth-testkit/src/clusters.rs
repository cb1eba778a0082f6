//! Cached PostgreSQL clusters. Each test gets a copy of one of them. All test processes of a user share the cache, and
//! only this user can read it.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::postgres::{HELP, UNPRIVILEGED, as_unprivileged, bin, own, user};
use crate::sha256_hex;

/// Name of the folder that contains a cluster, inside its cache folder or the folder of its server.
const DATA: &str = "data";

/// Returns the path of a small empty cluster. If it does not exist, it is created, which takes a second.
pub(crate) fn empty() -> PathBuf {
    let cluster = path("small");
    if !cluster.exists() {
        let making = TempDir::with_prefix("plinth-pg-making-").expect("a temporary folder");
        own(making.path());
        let output = as_unprivileged(None, &bin("initdb"))
            .arg("-D")
            .arg(making.path().join(DATA))
            .args(["-A", "trust", "-U", UNPRIVILEGED, "-E", "UTF8", "--locale=C", "--no-sync", "--wal-segsize=1"])
            .output()
            .unwrap_or_else(|error| panic!("initdb cannot be started: {error}. {HELP}"));
        assert!(output.status.success(), "initdb failed: {}", String::from_utf8_lossy(&output.stderr));
        drop_templates(&making.path().join(DATA));
        keep(making.path(), &cluster);
    }
    cluster
}

/// Returns the path of a cluster that contains the tables of plinth-db. The cluster does not exist until a test has
/// created it. Its name contains a hash of the files that define the tables.
pub(crate) fn with_tables() -> PathBuf {
    let db = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../plinth-db"));
    let entries = fs::read_dir(db.join("migrations")).expect("the migrations");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a migration").path()).collect();
    files.push(db.join("src/migrate.rs"));
    files.sort();
    let sources: Vec<u8> = files.iter().flat_map(|file| fs::read(file).expect("a migration")).collect();
    path(&format!("tables-{}", sha256_hex(&sources)))
}

/// Copies the files of a cluster to a new folder. No server may be running on the cluster.
pub(crate) fn copy(cluster: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").arg("--reflink=auto").arg(cluster).arg(to).status();
    assert!(status.is_ok_and(|status| status.success()), "{} could not be copied", cluster.display());
}

/// Copies the cluster of a stopped server to the path `cluster` in the cache. If several processes create the same
/// cluster at the same time, the first cluster is kept.
pub(crate) fn keep(folder: &Path, cluster: &Path) {
    let home = cluster.parent().expect("a folder in the cache");
    let made = TempDir::with_prefix("plinth-pg-made-").expect("a temporary folder");
    copy(&folder.join(DATA), &made.path().join(DATA));
    if fs::rename(made.path(), home).is_ok() {
        // The folder was renamed, so it must not be deleted under its old name.
        let _moved = made.keep();
    }
}

/// Returns the path of a cluster in the cache.
fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("plinth-pg-{name}-{}-{}", version(), user())).join(DATA)
}

/// Removes the template databases, which make up two thirds of the files. The template databases are not needed,
/// because no test creates a database.
fn drop_templates(data: &Path) {
    let mut command = as_unprivileged(None, &bin("postgres"));
    command.args(["--single", "-D"]).arg(data).arg("postgres");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut server = command.spawn().unwrap_or_else(|error| panic!("postgres cannot be started: {error}. {HELP}"));
    let script = "UPDATE pg_database SET datistemplate = false\nDROP DATABASE template0\nDROP DATABASE template1\n";
    server.stdin.take().expect("its input").write_all(script.as_bytes()).expect("a running server");
    let output = server.wait_with_output().expect("the end of postgres");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !log.contains("ERROR"), "the templates cannot be dropped: {log}");
}

fn version() -> String {
    let output = Command::new(bin("postgres")).arg("--version").output();
    let output = output.unwrap_or_else(|error| panic!("postgres cannot be started: {error}. {HELP}"));
    String::from_utf8_lossy(&output.stdout).chars().filter(|c| c.is_ascii_alphanumeric() || *c == '.').collect()
}
