//! Programs that tests call. `scripts/find.sh` decides which, so that no test depends on what comes first on PATH;
//! `make test` has asked it already and tells by variables.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// An ffmpeg with all encoders that the product can use.
pub fn ffmpeg() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| find("PLINTH_FFMPEG", &["ffmpeg", "libx264", "prores_ks"]))
}

/// The first line of a Bash script that calls that ffmpeg: as `"$FFMPEG"`.
pub fn ffmpeg_in_scripts() -> String {
    format!("FFMPEG='{}'\n", ffmpeg().display())
}

/// An ffprobe.
pub fn ffprobe() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| find("PLINTH_TEST_FFPROBE", &["ffprobe"]))
}

/// A Python that has what `scripts/python.txt` lists.
pub fn python() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| find("PLINTH_TEST_PYTHON", &["python"]))
}

/// The folder of PostgreSQL's programs.
pub fn postgres() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| find("PLINTH_TEST_POSTGRES", &["postgres"]))
}

/// An AWS CLI, which is not needed to run the tests.
pub fn aws() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let look = || {
        let done = find_script(&["aws"]);
        done.status.success().then(|| PathBuf::from(OsString::from_vec(done.stdout.trim_ascii_end().to_vec())))
    };
    FOUND.get_or_init(look).as_deref()
}

fn find(variable: &str, words: &[&str]) -> PathBuf {
    if let Some(told) = std::env::var_os(variable).filter(|told| !told.is_empty()) {
        return PathBuf::from(told);
    }
    let done = find_script(words);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "this test needs more; `make setup` installs it: {}", said.trim());
    PathBuf::from(OsString::from_vec(done.stdout.trim_ascii_end().to_vec()))
}

fn find_script(words: &[&str]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/find.sh");
    let done = Command::new(&script).args(words).output();
    done.unwrap_or_else(|error| panic!("{} does not start: {error}", script.display()))
}
