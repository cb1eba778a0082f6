//! A job that was taken over: it tries to reach what it must not, and says what it reached.
//!
//! `hostile attack TARGETS [FENCE]` attacks, behind that fence where one is given. `hostile serve TARGETS [FENCE]` is a
//! server with a secret in its environment that leaves a file open and starts the attack; `hostile hide TARGETS` hides first.
#![expect(unsafe_code, reason = "attacks are system calls that no safe library makes")]
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a program for tests")]

mod files;
mod kernel;
mod processes;
mod targets;

use std::process::{Command, Stdio};

use plinth_fence::Fence;
use targets::Targets;

/// An attack: its name, and whether it succeeds.
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
        "attack" => attack(&Targets::parse(&targets), fence),
        other => unreachable!("{other}: not a role"),
    }
}

/// Prints what was reached.
fn attack(targets: &Targets, fence: Option<String>) {
    if let Some(fence) = fence {
        plinth_fence::close_inherited_files();
        rustix::process::setsid().ok();
        Fence::from_argument(&fence).unwrap().enter().unwrap();
    }
    let attacks = files::ATTACKS.iter().chain(processes::ATTACKS).chain(kernel::ATTACKS);
    let (reached, refused): (Vec<&Attack>, Vec<&Attack>) = attacks.partition(|(_name, attack)| attack(targets));
    let names = |attacks: Vec<&Attack>| attacks.iter().map(|(name, _attack)| *name).collect::<Vec<_>>().join(" ");
    println!("reached: {}; refused: {}", names(reached), names(refused));
}

fn serve(targets: &str, fence: Option<String>) {
    let left_open = std::fs::File::open(Targets::parse(targets).database).unwrap();
    // A duplicate is inherited by what is started.
    // SAFETY: the descriptor is open.
    assert!(unsafe { libc::dup(std::os::fd::AsRawFd::as_raw_fd(&left_open)) } > 2);
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.env_clear().arg("attack").arg(targets).args(fence).stdin(Stdio::null());
    assert!(child.status().unwrap().success());
}
