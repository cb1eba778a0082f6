//! Tests which attacks of a hostile job succeed with and without the sandbox.

use plinth_fence::{FenceMode, FenceOptions, JobUser, Support, runs_as_root};

use super::place::{NOBODY, Place};

/// Attacks that need no privileges. Without a sandbox, they succeed on any kernel and in any container.
const POSSIBLE: &[&str] = &[
    "open-database",
    "write-database",
    "truncate-database",
    "chmod-database",
    "touch-database",
    "link-database",
    "move-database",
    "database-by-symlink",
    "symlink-as-output",
    "pipe-as-output",
    "database-by-open-file",
    "database-by-shell",
    "list-other-job",
    "read-other-job",
    "watch-other-job",
    "write-other-job",
    "change-own-model",
    "link-own-model-to-writable",
    "write-outside",
    "write-outside-by-shell",
    "write-shared-memory",
    "read-passwords",
    "start-own-program",
    "parent-environment",
    "parent-command-line",
    "parent-open-files",
    "parent-memory",
    "read-parent-memory",
    "signal-parent",
    "leave-session",
    "limit-parent",
    "raise-own-limit",
    "renice-parent",
    "pin-parent",
    "forget-parent",
    "program-in-memory",
    "thread-with-own-files",
    "unshare-files",
    "socket-inet",
    "socket-unix",
    "socket-netlink",
    "shared-memory",
    "personality",
];

fn fence(place: &Place, options: &FenceOptions) -> String {
    options.fence(vec![place.path("own/out")], vec![place.path("own")], Vec::new()).unwrap().to_argument().unwrap()
}

/// Asserts that this kernel supports the whole sandbox. Otherwise a test could pass because an attack would fail even
/// without a sandbox.
fn assert_supported() {
    assert_eq!(Support::probe().lacks(false), Vec::<String>::new());
}

#[test]
fn a_fenced_job_reaches_nothing() {
    assert_supported();
    let place = Place::new();
    let options = FenceOptions { mode: FenceMode::Required, ..FenceOptions::default() };
    let reached = place.reached(Some(fence(&place, &options)));
    assert!(reached.is_empty(), "{reached:?}");
    let own: Vec<_> =
        std::fs::read_dir(place.path("own/out")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(own.iter().any(|name| name == "program"), "the job could not write to its own folder: {own:?}");
}

#[test]
fn a_fenced_job_of_a_user_without_rights_reaches_nothing() {
    assert_supported();
    let place = Place::of_nobody();
    let reached = place.reached(Some(fence(&place, &FenceOptions::default())));
    assert!(reached.is_empty(), "{reached:?}");
}

#[test]
fn a_fenced_job_reads_its_own_program_after_an_upgrade_has_deleted_it() {
    assert_supported();
    let place = Place::new();
    let reached = place.reached_from("delete", Some(fence(&place, &FenceOptions::default())));
    assert!(reached.contains("own-program"));
}

#[test]
fn a_single_process_starts_no_others() {
    assert_supported();
    let place = Place::of_nobody();
    let starts = ["start-process", "start-process-by-vfork", "start-program"];
    let free = place.reached_from("single", None);
    assert!(starts.iter().all(|attack| free.contains(*attack)), "these attacks prove nothing: {free:?}");
    // A job may start processes, because it starts ffmpeg.
    let job = place.reached_from("single", Some(fence(&place, &FenceOptions::default())));
    assert_eq!(job.iter().map(String::as_str).collect::<Vec<_>>(), starts);
    let single = FenceOptions::default().fence_of_single_process().unwrap().to_argument().unwrap();
    let reached = place.reached_from("single", Some(single));
    assert!(reached.is_empty(), "{reached:?}");
}

#[test]
fn attacks_succeed_without_a_fence() {
    let reached = Place::of_nobody().reached(None);
    let missed: Vec<_> = POSSIBLE.iter().filter(|attack| !reached.contains(**attack)).collect();
    assert!(missed.is_empty(), "these attacks prove nothing: {missed:?}");
}

#[test]
fn hide_from_others_protects_a_server_even_without_a_fence() {
    let place = Place::of_nobody();
    let into_parent =
        ["parent-environment", "parent-open-files", "parent-memory", "read-parent-memory", "trace-parent"];
    let seen = place.reached_from("hide", None);
    let reached: Vec<_> = into_parent.iter().filter(|attack| seen.contains(**attack)).collect();
    assert!(reached.is_empty() && seen.contains("open-database"), "{seen:?}");
}

#[test]
fn a_job_of_another_user_reaches_nothing() {
    // Only root can switch to another user.
    if !runs_as_root() {
        return;
    }
    let place = Place::new();
    place.open_to_all();
    std::os::unix::fs::chown(place.path("own/out"), Some(NOBODY), Some(NOBODY)).unwrap();
    let user = JobUser::find("nobody").unwrap();
    let options = FenceOptions { mode: FenceMode::Required, user: Some(user), ..FenceOptions::default() };
    let reached = place.reached(Some(fence(&place, &options)));
    assert!(reached.is_empty(), "{reached:?}");
}

#[test]
fn root_and_unknown_users_cannot_be_the_job_user() {
    for (name, problem) in [("root", "must not run as root"), ("no-such-user-here", "does not exist")] {
        let error = JobUser::find(name).unwrap_err().to_string();
        assert!(error.contains(problem) && error.contains(name), "{error}");
    }
}
