//! The `plinth` command.

mod cmd;
mod config;
mod health;
mod listener;
mod logs;
mod metrics;
mod note;
mod signals;
mod stop;
mod system;
mod traces;

use std::io::Write as _;
use std::panic::PanicHookInfo;
use std::process::ExitCode;

use note::note;

/// Exit code of a failure.
const FAILED: u8 = 1;
/// Exit code of an invalid command line. clap uses the same code.
const WRONG_USAGE: u8 = 2;

fn main() -> ExitCode {
    // A panic prints one line instead of a backtrace.
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map_or_else(String::new, |l| format!(" ({}:{})", l.file(), l.line()));
        note!(
            "plinth: internal error{place}: {}; please report this line, and the model if there was one",
            message(info)
        );
    }));
    disable_device_select_layer();
    let matches = cmd::command().try_get_matches().unwrap_or_else(|error| cmd::without_hidden(error).exit());
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut out = std::io::stdout().lock();
        let outcome = match matches.subcommand() {
            Some(("render", args)) => cmd::render::run(args, &mut out),
            Some(("render-child", args)) => cmd::render_child::run(args, &mut out),
            Some(("inspect", args)) => cmd::inspect::run(args, &mut out),
            Some(("environment", args)) => cmd::environment::run(args, &mut out),
            Some(("doctor", args)) => cmd::doctor::run(args, &mut out),
            Some(("settings", args)) => cmd::settings::run(args, &mut out),
            Some(("serve", args)) => cmd::serve::run(args, &mut out),
            Some(("worker", args)) => cmd::worker::run(args),
            Some(("migrate", args)) => cmd::migrate::run(args, &mut out),
            Some(("admin", args)) => cmd::admin::run(args, &mut out),
            Some(("check-file", args)) => cmd::check_file::run(args, &mut out),
            Some(("package-files", args)) => cmd::package_files::run(args),
            Some(("openapi", _args)) => cmd::openapi::run(&mut out),
            _ => Ok(()),
        };
        outcome.and(out.flush().map_err(Into::into))
    }));
    match outcome {
        Ok(Ok(())) => ExitCode::SUCCESS,
        // A broken pipe is no failure: it means that the reader of the output, for example `head`, needs no more lines.
        Ok(Err(error)) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            note!("plinth: {}", cmd::one_line(&error));
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

/// Turns off the device-select layer of Mesa. The layer asks a display server for the preferred graphics card, and
/// prints errors if no display server runs. Plinth chooses the card itself.
#[expect(unsafe_code, reason = "the layer can only be configured by this variable")]
fn disable_device_select_layer() {
    // SAFETY: this is the first call of the program. No other thread exists that could read the environment at the same
    // time.
    unsafe { std::env::set_var("NODEVICE_SELECT", "1") };
}
