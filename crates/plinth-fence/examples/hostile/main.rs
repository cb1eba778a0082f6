//! A test program that acts like a compromised job. It attempts forbidden actions, and prints which of them succeeded.
//!
//! - `hostile attack TARGETS [FENCE]` attempts all attacks, inside the sandbox `FENCE` if it is given.
//! - `hostile single TARGETS [FENCE]` does the same, and also attempts to start processes.
//! - `hostile serve TARGETS [FENCE]` acts as the server. Its environment contains a secret, and it leaves a file open.
//!   It starts the attacks as a child process.
//! - `hostile hide TARGETS` does the same, but first hides its environment and memory.
//! - `hostile delete TARGETS FENCE` deletes its own program, and then reads it inside the sandbox `FENCE`.
#![expect(unsafe_code, reason = "attacks are system calls that no safe library makes")]
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a program for tests")]

mod files;
mod kernel;
mod processes;
mod targets;

use std::process::{Command, Stdio};

use plinth_fence::Fence;
use targets::Targets;

/// Name of an attack, and a function that attempts it and returns whether it succeeded.
type Attack = (&'static str, fn(&Targets) -> bool);

fn main() {
    let mut args = std::env::args().skip(1);
    let (role, targets, fence) = (args.next().unwrap(), args.next().unwrap(), args.next());
    match role.as_str() {
        "serve" => serve(&targets, fence),
        "hide" => {
            plinth_fence::hide_from_others();
            serve(&targets, fence);
        }
        "attack" => attack(&Targets::parse(&targets), fence, &[]),
        "single" => attack(&Targets::parse(&targets), fence, processes::STARTS),
        "delete" => delete(&fence.unwrap()),
        other => unreachable!("{other} is not a role"),
    }
}

/// Attempts the general attacks and those in `more`, and prints which of them succeeded and which failed.
fn attack(targets: &Targets, fence: Option<String>, more: &[Attack]) {
    if let Some(fence) = fence {
        plinth_fence::close_inherited_files();
        rustix::process::setsid().ok();
        Fence::from_argument(&fence).unwrap().enter().unwrap();
        // Model readers start threads, so every sandbox must allow this.
        std::thread::spawn(|| ()).join().unwrap();
    }
    let attacks = files::ATTACKS.iter().chain(processes::ATTACKS).chain(kernel::ATTACKS).chain(more);
    let (reached, refused): (Vec<&Attack>, Vec<&Attack>) = attacks.partition(|(_name, attack)| attack(targets));
    let names = |attacks: Vec<&Attack>| attacks.iter().map(|(name, _attack)| *name).collect::<Vec<_>>().join(" ");
    println!("reached: {}; refused: {}", names(reached), names(refused));
}

fn delete(fence: &str) {
    std::fs::remove_file(std::env::current_exe().unwrap()).unwrap();
    Fence::from_argument(fence).unwrap().enter().unwrap();
    let is_reached = std::fs::File::open("/proc/self/exe").is_ok();
    println!("reached: {}; refused: ", if is_reached { "own-program" } else { "" });
}

fn serve(targets: &str, fence: Option<String>) {
    let left_open = std::fs::File::open(Targets::parse(targets).database).unwrap();
    // Child processes inherit a duplicate of a descriptor.
    // SAFETY: the descriptor is open.
    assert!(unsafe { libc::dup(std::os::fd::AsRawFd::as_raw_fd(&left_open)) } > 2);
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.env_clear().arg("attack").arg(targets).args(fence).stdin(Stdio::null());
    assert!(child.status().unwrap().success());
}
