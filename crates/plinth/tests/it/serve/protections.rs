//! Tests of the warnings about protections that jobs lack.

use std::process::Command;

use plinth_fence::runs_as_root;
use plinth_testkit::python;
use serde_json::Value;

use super::server::Installation;
use crate::text;

const AS_ROOT: &str = "jobs run as root; start the server as a dedicated user";
const NO_LANDLOCK: &str = "the fence of jobs is incomplete: the kernel has no Landlock";

/// Starts a program as on a kernel without Landlock: with a seccomp filter, the system call `landlock_create_ruleset` fails with
/// ENOSYS. Its number is the same on all architectures.
const WITHOUT_LANDLOCK: &str = r#"
import ctypes, errno, os, struct, sys
prctl = ctypes.CDLL(None).prctl
prctl.argtypes = [ctypes.c_int] + 4 * [ctypes.c_ulong]
load, unless, deny, allow = (0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x50000 | errno.ENOSYS), (0x06, 0, 0, 0x7FFF0000)
steps = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in (load, unless, deny, allow)))
program = ctypes.create_string_buffer(struct.pack("@HP", 4, ctypes.addressof(steps)))
# PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP with SECCOMP_MODE_FILTER
if prctl(38, 1, 0, 0, 0) or prctl(22, 2, ctypes.addressof(program), 0, 0):
    sys.exit("seccomp filters are not supported")
os.execv(sys.argv[1], sys.argv[1:])
"#;

/// Returns the program of an installation, for which the kernel has no Landlock.
fn without_landlock(installation: &Installation) -> Command {
    let program = installation.program();
    let mut command = Command::new(python());
    command.args(["-c", WITHOUT_LANDLOCK]).arg(program.get_program()).current_dir(installation.folder.path());
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

/// Runs `plinth serve`, and then `plinth worker`, each until its end. Returns how often they have logged a warning.
fn count_warnings(warning: &str, program: fn(&Installation) -> Command) -> [usize; 2] {
    let installation = Installation::with_sqlite().set("PLINTH_ADAPTER", "cpu");
    let (_printed, code) = installation.serve_by(program(&installation), &["--no-worker"]).end();
    assert_eq!(code, Some(0), "{}", installation.log());
    let worker = program(&installation).args(["worker", "--exit-when-idle"]).output().unwrap();
    let logs = [installation.log(), text(&worker.stderr)];
    assert!(worker.status.success(), "{}", logs[1]);
    logs.map(|log| log.lines().filter(|line| line.contains(" WARN ") && line.contains(warning)).count())
}

#[test]
fn a_server_and_a_worker_that_run_as_root_warn_of_it_once() {
    let expected = usize::from(runs_as_root());
    assert_eq!(count_warnings(AS_ROOT, Installation::program), [expected; 2]);
    // Only root can choose a user for jobs.
    if runs_as_root() {
        let installation = Installation::with_sqlite();
        installation.serve(&["--no-worker", "--job-user", "nobody"]).end();
        assert!(!installation.log().contains(AS_ROOT), "{}", installation.log());
    }
}

#[test]
fn a_server_and_a_worker_without_landlock_warn_of_it_once() {
    assert_eq!(count_warnings(NO_LANDLOCK, Installation::program), [0; 2], "this kernel has Landlock");
    assert_eq!(count_warnings(NO_LANDLOCK, without_landlock), [1; 2]);
}

#[test]
fn without_landlock_doctor_says_so_and_a_server_that_requires_the_fence_does_not_start() {
    let installation = Installation::with_sqlite().set("PLINTH_ADAPTER", "cpu");
    let doctor = without_landlock(&installation).args(["doctor", "--json"]).output().unwrap();
    let json: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let warnings = json["fence"]["warnings"].as_array().unwrap();
    let of_landlock = warnings.iter().filter(|warning| warning.as_str().unwrap().starts_with(NO_LANDLOCK)).count();
    assert_eq!((&json["fence"]["landlockAbi"], of_landlock), (&Value::Null, 1), "{json}");
    let required = ["serve", "--no-worker", "--listen", "127.0.0.1:0", "--fence", "required"];
    let server = without_landlock(&installation).args(required).output().unwrap();
    let stderr = text(&server.stderr);
    assert_eq!(server.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("the fence is incomplete, because the kernel has no Landlock"), "{stderr}");
}
