//! The flags of render settings, which are generated from the declarations of the settings.

use clap::{Arg, ArgMatches};
use plinth_spec::settings::{Field, Shape, fields};
use serde_json::{Map, Value};

/// Settings whose flags are listed in the short help (`-h`). The long help (`--help`) lists the flags of all settings.
const COMMON: [&str; 5] = ["quality", "aspect", "length", "effect", "bgColor"];

/// Returns the flag of a setting, for example `bg-color` for `bgColor`.
pub(crate) fn flag_name(key: &str) -> String {
    key.chars().fold(String::new(), |mut out, c| {
        if c.is_ascii_uppercase() {
            out.push('-');
        }
        out.push(c.to_ascii_lowercase());
        out
    })
}

/// Returns the settings that have a flag, which are all settings with a single value.
fn scalars() -> impl Iterator<Item = &'static Field> {
    fields().filter(|field| field.shape.is_scalar())
}

fn help(field: &Field) -> String {
    let takes = match field.shape {
        Shape::Text { .. } => String::new(),
        _ => format!(" [{}]", field.takes().replace('`', "")),
    };
    let default = field.default.map_or_else(String::new, |default| format!(" [default: {default}]"));
    format!("{}{takes}{default}", field.description)
}

/// Returns one flag per setting.
pub(crate) fn args() -> Vec<Arg> {
    scalars()
        .map(|field| {
            Arg::new(field.key)
                .long(flag_name(field.key))
                .value_name("VALUE")
                .help(help(field))
                .help_heading("Settings")
                .hide_short_help(!COMMON.contains(&field.key))
                .allow_hyphen_values(true)
        })
        .collect()
}

/// Returns the settings that are given as flags. Their values are not validated here, but later, together with all
/// other settings.
pub(crate) fn sent(matches: &ArgMatches) -> Map<String, Value> {
    scalars()
        .filter_map(|field| {
            let text = matches.get_one::<String>(field.key)?;
            let parsed = serde_json::from_str::<Value>(text).ok().filter(|v| v.is_number() || v.is_boolean());
            let value = if field.shape.is_text() { None } else { parsed };
            Some((field.key.to_owned(), value.unwrap_or_else(|| Value::from(text.as_str()))))
        })
        .collect()
}
