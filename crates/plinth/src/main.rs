//! The plinth command.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command speaks on the terminal")]

mod cmd;

use std::process::ExitCode;

/// Exit code of a failure.
const FAILED: u8 = 1;
/// Exit code of a command stopped by Ctrl-C, as shells report it.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    // One clear line instead of a backtrace.
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map_or_else(String::new, |l| format!(" ({}:{})", l.file(), l.line()));
        eprintln!("plinth: internal error{place}; please report it with the model");
    }));
    let matches = cmd::command().get_matches();
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| match matches.subcommand() {
        Some(("render", args)) => cmd::render::run(args),
        Some(("inspect", args)) => cmd::inspect::run(args),
        Some(("doctor", args)) => cmd::doctor::run(args),
        Some(("settings", args)) => cmd::settings::run(args),
        _ => Ok(()),
    }));
    match outcome {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) if error.downcast_ref::<cmd::Interrupted>().is_some() => {
            eprintln!("plinth: cancelled");
            ExitCode::from(INTERRUPTED)
        }
        Ok(Err(error)) => {
            eprintln!("plinth: {}", cmd::one_line(&error));
            ExitCode::from(FAILED)
        }
        Err(_panic) => ExitCode::from(FAILED),
    }
}
