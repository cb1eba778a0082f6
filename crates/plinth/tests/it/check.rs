//! Tests of the process that checks an uploaded file.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use plinth_testkit::glb_with_sphere;

use crate::{Place, plinth, processes_in, stat, text};

const PROGRAM: &str = env!("CARGO_BIN_EXE_plinth");

/// A check that waits for the rest of its file, which is a pipe. A shell acts as the server.
struct WaitingCheck {
    server: Child,
    _pipe: File,
}

impl WaitingCheck {
    /// Starts a check with a time limit of 600 s. Returns when the check waits. By then, it has set all its limits, and is
    /// set to end with its server.
    fn start(place: &Place) -> Self {
        let pipe = place.file("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let line = format!("'{PROGRAM}' check-file --image --memory-bytes 1073741824 --seconds 600 '{pipe}' & wait");
        let mut server = Command::new("sh");
        let server = server.args(["-c", &line]).current_dir(place.folder.path()).stdout(Stdio::null()).spawn().unwrap();
        let mut file = OpenOptions::new().write(true).open(&pipe).unwrap();
        // A pipe cannot hold this many bytes, so the write ends only after the check has begun to read.
        file.write_all(&vec![0; 4 << 20]).unwrap();
        Self { server, _pipe: file }
    }
}

/// Returns the processes of checks.
fn checks(place: &Place) -> Vec<u32> {
    let lines = processes_in(place.folder.path()).into_iter();
    lines.filter(|(_id, line)| line.starts_with(PROGRAM)).map(|(id, _line)| id).collect()
}

#[test]
fn a_check_ends_with_its_server() {
    let place = Place::new();
    let mut waiting = WaitingCheck::start(&place);
    assert_eq!(checks(&place).len(), 1);
    waiting.server.kill().unwrap();
    waiting.server.wait().unwrap();
    let begin = Instant::now();
    while !checks(&place).is_empty() {
        assert!(begin.elapsed() < Duration::from_mins(1), "the check is still running");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_check_has_its_own_session_and_resource_limits() {
    let place = Place::new();
    let _waiting = WaitingCheck::start(&place);
    let [check] = checks(&place).try_into().unwrap();
    let group_and_session = [5, 6].map(|field| stat(&check.to_string(), field));
    assert_eq!(group_and_session, [i32::try_from(check).unwrap(); 2]);
    let limits = std::fs::read_to_string(format!("/proc/{check}/limits")).unwrap();
    for (name, expected) in [
        // After twice its time limit, a check gets SIGXCPU, and five seconds later SIGKILL.
        ("Max cpu time", ["1200", "1205", "seconds"]),
        ("Max data size", ["1073741824", "1073741824", "bytes"]),
        ("Max file size", ["4294967296", "4294967296", "bytes"]),
        ("Max core file size", ["0", "0", "bytes"]),
        ("Max open files", ["1024", "1024", "files"]),
    ] {
        let line = limits.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        assert_eq!(line.split_whitespace().collect::<Vec<_>>(), expected, "{name}: {limits}");
    }
}

/// A time limit of zero seconds allows no processor time, so the kernel ends the check at the next tick of its clock.
#[test]
fn a_check_that_uses_too_much_processor_time_is_ended() {
    /// Signal of the limit of processor time.
    const SIGXCPU: i32 = 24;
    let place = Place::new();
    let file = place.file("sphere.glb");
    std::fs::write(&file, glb_with_sphere(600)).unwrap();
    for (seconds, signal) in [("600", None), ("0", Some(SIGXCPU))] {
        let done = plinth(&["check-file", "--memory-bytes", "4294967296", "--seconds", seconds, &file]);
        let has_report = text(&done.stdout).starts_with(r#"{"Model":"#);
        assert_eq!((done.status.signal(), has_report), (signal, signal.is_none()), "{}", text(&done.stderr));
    }
}
