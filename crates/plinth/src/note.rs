//! Prints lines to stderr.

use std::fmt::Arguments;
use std::io::Write as _;

/// Prints a line to stderr, like `eprintln!`. Ignores errors: `eprintln!` panics if the reader of a pipe has ended, or
/// if the output goes to a file on a full disk, but messages are not worth ending a render.
macro_rules! note {
    ($($text:tt)*) => {
        $crate::note::print(format_args!($($text)*))
    };
}

pub(crate) use note;

/// Prints a line. Callers use [`note!`].
pub(crate) fn print(text: Arguments<'_>) {
    // The line is written with one call, so that lines of several processes are not mixed.
    drop(std::io::stderr().write_all(format!("{text}\n").as_bytes()));
}
