//! Tests of the process that checks an uploaded file.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Place, processes_in};

#[test]
fn a_check_ends_with_its_server() {
    let place = Place::new();
    let pipe = place.file("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // A shell acts as the server.
    let program = env!("CARGO_BIN_EXE_plinth");
    let line = format!("'{program}' check-file --image --memory-bytes 1073741824 --seconds 600 '{pipe}' & wait");
    let mut server = Command::new("sh");
    let mut server = server.args(["-c", &line]).current_dir(place.folder.path()).stdout(Stdio::null()).spawn().unwrap();
    let mut file = OpenOptions::new().write(true).open(&pipe).unwrap();
    // A pipe cannot hold this many bytes, so the write ends only after the check has begun to read. By then, the check
    // is set to end with its server.
    file.write_all(&vec![0; 4 << 20]).unwrap();
    let checks = || {
        let lines = processes_in(place.folder.path()).into_values();
        lines.filter(|line| line.starts_with(program)).count()
    };
    assert_eq!(checks(), 1);
    server.kill().unwrap();
    server.wait().unwrap();
    let begin = Instant::now();
    while checks() > 0 {
        assert!(begin.elapsed() < Duration::from_mins(1), "the check is still running");
        std::thread::sleep(Duration::from_millis(10));
    }
}
