//! Prints lines to stderr.

use std::fmt::Arguments;
use std::io::Write as _;

/// Prints a line to stderr, like `eprintln!`. Ignores errors, where `eprintln!` would panic: a closed pipe or a full
/// disk must not end a render.
macro_rules! note {
    ($($text:tt)*) => {
        $crate::note::print(format_args!($($text)*))
    };
}

pub(crate) use note;

/// Prints a line to stderr. Callers use [`note!`].
pub(crate) fn print(text: Arguments<'_>) {
    // The line is written with one call, so that lines of several processes are not mixed.
    drop(std::io::stderr().write_all(format!("{text}\n").as_bytes()));
}
