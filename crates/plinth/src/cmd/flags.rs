//! Settings as flags, made from the settings table.

use clap::{Arg, ArgMatches};
use plinth_spec::settings::{Kind, Row, TABLE};
use serde_json::{Map, Value};

/// Settings that the short help shows, too.
const COMMON: [&str; 5] = ["quality", "aspect", "length", "effect", "bgColor"];

/// `--bg-color` for `bgColor`.
fn flag_name(key: &str) -> String {
    key.chars().fold(String::new(), |mut out, c| {
        if c.is_ascii_uppercase() {
            out.push('-');
        }
        out.push(c.to_ascii_lowercase());
        out
    })
}

/// Settings that are given as flags: all that are one value.
fn rows() -> impl Iterator<Item = &'static Row> {
    TABLE.iter().filter(|row| !matches!(row.kind, Kind::Nested(_) | Kind::TextList))
}

fn help(row: &Row) -> String {
    let unit = if row.unit.is_empty() { String::new() } else { format!(" {}", row.unit) };
    let takes = match row.kind {
        Kind::Number { min, max } | Kind::NonZero { min, max } => format!(" [{min} to {max}{unit}]"),
        Kind::Scale { min, max } => format!(" [±{min} to ±{max}]"),
        Kind::Choice(words) => format!(" [{}]", words.join(", ")),
        Kind::Flag => " [true, false]".to_owned(),
        Kind::Color => " [#rrggbb]".to_owned(),
        _ => String::new(),
    };
    let default = row.default.map_or_else(String::new, |d| format!(" [default: {}]", d.trim_matches('"')));
    format!("{}{takes}{default}", row.words)
}

/// A flag for each setting.
pub(crate) fn args() -> Vec<Arg> {
    rows()
        .map(|row| {
            Arg::new(row.key)
                .long(flag_name(row.key))
                .value_name("VALUE")
                .help(help(row))
                .help_heading("Settings")
                .hide_short_help(!COMMON.contains(&row.key))
                .allow_hyphen_values(true)
        })
        .collect()
}

/// The given flags as settings; values are checked with all others later.
pub(crate) fn sent(matches: &ArgMatches) -> Map<String, Value> {
    rows()
        .filter_map(|row| {
            let text = matches.get_one::<String>(row.key)?;
            let parsed = serde_json::from_str::<Value>(text).ok().filter(|v| v.is_number() || v.is_boolean());
            let is_text = matches!(row.kind, Kind::Choice(_) | Kind::Color | Kind::Text);
            let value = if is_text { None } else { parsed };
            Some((row.key.to_owned(), value.unwrap_or_else(|| Value::from(text.as_str()))))
        })
        .collect()
}
