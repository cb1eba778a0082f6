//! Tests that run the real binary.
#![expect(clippy::unwrap_used, reason = "tests")]

mod assets;
mod check;
mod dataset;
mod encoder;
mod environment;
mod gallery;
mod glb;
mod info;
mod render;
mod serve;
mod stop;
mod tiers;
mod usage;
mod worker;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns the command of the program, with an ffmpeg that has all encoders and with the cache turned off.
fn program() -> Command {
    program_at(Path::new(env!("CARGO_BIN_EXE_plinth")))
}

/// Returns the command of another build of the program.
fn program_at(path: &Path) -> Command {
    let mut program = Command::new(path);
    program.env("PLINTH_FFMPEG", plinth_testkit::ffmpeg()).env("PLINTH_CACHE_MB", "0");
    program
}

/// Copies the program to a folder, where [`replace_program`] can replace it while it runs.
fn copy_of_program(folder: &Path) -> PathBuf {
    let copy = folder.join("plinth");
    // Another process copies the program, because a file that any process has open for writing cannot be run.
    assert!(Command::new("cp").arg(env!("CARGO_BIN_EXE_plinth")).arg(&copy).status().unwrap().success());
    copy
}

/// Replaces a program by a script that only fails, in the way in which package managers install another version.
fn replace_program(program: &Path) {
    let other = program.with_extension("new");
    std::fs::write(&other, "#!/bin/bash\nexit 1\n").unwrap();
    std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(&other, program).unwrap();
}

/// Runs the program to its end.
fn plinth(args: &[&str]) -> Output {
    program().args(args).output().unwrap()
}

/// Returns the command lines, by process ID, of all processes whose current folder is inside this folder.
fn processes_in(folder: &Path) -> BTreeMap<u32, String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    // A process that has ended in the meantime has no `cwd` any more.
    let inside =
        numbers.filter(|n| std::fs::read_link(format!("/proc/{n}/cwd")).is_ok_and(|at| at.starts_with(folder)));
    let line = |n| std::fs::read(format!("/proc/{n}/cmdline")).map(|line| text(&line).replace('\0', " "));
    inside.filter_map(|n| Some((n, line(n).ok()?))).collect()
}

/// Returns the nice value of a process.
fn niceness(process: &str) -> i32 {
    stat(process, 19)
}

/// Returns a number about a process: a field of proc_pid_stat(5), from the third one on.
fn stat(process: &str, field: usize) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    // The name of the program, in parentheses, may contain spaces.
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().collect();
    fields[field - 3].parse().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A temporary folder with `cube.glb`, and a second temporary folder for scripts.
struct Place {
    folder: tempfile::TempDir,
    other: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap(), other: tempfile::tempdir().unwrap() };
        std::fs::write(place.file("cube.glb"), glb::cube()).unwrap();
        place
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// Returns the sorted names of all files in the folder.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Writes a bash script into the folder for scripts. The script can call the real ffmpeg as `"$FFMPEG"`.
    fn script(&self, lines: &str) -> String {
        let path = self.other.path().join("script");
        std::fs::write(&path, format!("#!/bin/bash\n{}{lines}\n", plinth_testkit::ffmpeg_in_scripts())).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }
}
