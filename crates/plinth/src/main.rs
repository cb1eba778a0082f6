//! The plinth command.
#![expect(clippy::print_stderr, reason = "a command speaks on the terminal")]

mod cmd;
mod config;
mod logs;
mod metrics;
mod signals;
mod stop;

use std::io::Write as _;
use std::panic::PanicHookInfo;
use std::process::ExitCode;

/// Exit code of a failure.
const FAILED: u8 = 1;
/// Exit code of wrong usage, also clap's.
const WRONG_USAGE: u8 = 2;

fn main() -> ExitCode {
    // One clear line instead of a backtrace.
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map_or_else(String::new, |l| format!(" ({}:{})", l.file(), l.line()));
        eprintln!(
            "plinth: internal error{place}: {}; please report this line, and the model if there was one",
            message(info)
        );
    }));
    ask_no_display_server();
    let matches = cmd::command().get_matches();
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut out = std::io::stdout().lock();
        let outcome = match matches.subcommand() {
            Some(("render", args)) => cmd::render::run(args, &mut out),
            Some(("render-child", args)) => cmd::render_child::run(args, &mut out),
            Some(("inspect", args)) => cmd::inspect::run(args, &mut out),
            Some(("doctor", args)) => cmd::doctor::run(args, &mut out),
            Some(("settings", args)) => cmd::settings::run(args, &mut out),
            Some(("serve", args)) => cmd::serve::run(args, &mut out),
            Some(("worker", args)) => cmd::worker::run(args),
            Some(("admin", args)) => cmd::admin::run(args, &mut out),
            Some(("check-file", args)) => cmd::check_file::run(args, &mut out),
            Some(("openapi", _args)) => cmd::openapi::run(&mut out),
            _ => Ok(()),
        };
        outcome.and(out.flush().map_err(Into::into))
    }));
    match outcome {
        Ok(Ok(())) => ExitCode::SUCCESS,
        // Whoever reads the output has read enough, as `head` does.
        Ok(Err(error)) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            eprintln!("plinth: {}", cmd::one_line(&error));
            if let Some(stopped) = error.downcast_ref::<stop::Stopped>() {
                ExitCode::from(stopped.exit_code)
            } else if error.is::<cmd::Usage>() {
                ExitCode::from(WRONG_USAGE)
            } else {
                ExitCode::from(FAILED)
            }
        }
        Err(_panic) => ExitCode::from(FAILED),
    }
}

/// Returns the message of a panic, on one line.
fn message(info: &PanicHookInfo<'_>) -> String {
    info.payload_as_str().unwrap_or("no message").lines().collect::<Vec<_>>().join("; ")
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Switches off Mesa's layer that asks a display server which of several cards to take, and complains on stderr where
/// there is no such server. Plinth chooses its card itself.
#[expect(unsafe_code, reason = "the layer hears nothing but this variable")]
fn ask_no_display_server() {
    // SAFETY: this is the first act of the program, and no other thread lives that could read the environment.
    unsafe { std::env::set_var("NODEVICE_SELECT", "1") };
}
