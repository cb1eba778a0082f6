//! Paths of the programs that tests call. The script `scripts/find.sh` selects each program, so tests do not depend on
//! the order of PATH. `make test` calls the script before the tests start, and passes the paths in environment
//! variables.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Returns the path of an ffmpeg with all encoders that Plinth can use.
pub fn ffmpeg() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| find("PLINTH_FFMPEG", &["ffmpeg", "libx264", "prores_ks"]))
}

/// Returns a line of Bash that sets `FFMPEG` to the path of ffmpeg. Test scripts begin with this line, and call ffmpeg
/// as `"$FFMPEG"`.
pub fn ffmpeg_in_scripts() -> String {
    format!("FFMPEG='{}'\n", ffmpeg().display())
}

/// Returns the path of ffprobe.
pub fn ffprobe() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| find("PLINTH_TEST_FFPROBE", &["ffprobe"]))
}

/// Returns the path of a Python interpreter with the packages of `scripts/python.txt`.
pub fn python() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| find("PLINTH_TEST_PYTHON", &["python"]))
}

/// Returns the folder of PostgreSQL's programs.
pub fn postgres() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| find("PLINTH_TEST_POSTGRES", &["postgres"]))
}

/// Returns the path of the AWS CLI. Tests that need it are skipped if it is not installed.
pub fn aws() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let look = || {
        let done = find_script(&["aws"]);
        done.status.success().then(|| PathBuf::from(OsString::from_vec(done.stdout.trim_ascii_end().to_vec())))
    };
    FOUND.get_or_init(look).as_deref()
}

fn find(variable: &str, arguments: &[&str]) -> PathBuf {
    if let Some(path) = std::env::var_os(variable).filter(|path| !path.is_empty()) {
        return PathBuf::from(path);
    }
    let done = find_script(arguments);
    let problem = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "this test needs a program that `make setup` installs: {}", problem.trim());
    PathBuf::from(OsString::from_vec(done.stdout.trim_ascii_end().to_vec()))
}

fn find_script(arguments: &[&str]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/find.sh");
    let done = Command::new(&script).args(arguments).output();
    done.unwrap_or_else(|error| panic!("{} cannot be started: {error}", script.display()))
}
