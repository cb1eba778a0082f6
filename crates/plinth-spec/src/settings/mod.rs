//! Render settings. Each setting is declared once, in a group. The declaration contains its name in the API, type,
//! accepted values, default, unit and description. Validation, parser, JSON Schema, documentation and command-line
//! flags are generated from the declarations.

mod declare;
mod error;
mod field;
mod frames;
mod groups;
mod parse;
mod read;
mod reference;
mod shape;
mod unused;

pub use error::{SettingsError, SettingsErrorKind};
pub use field::{Field, Literal};
pub use groups::*;
pub use parse::{ParseOptions, replace_aliases};
pub use reference::{echoed_schema, markdown_table, schema};
pub use shape::Shape;
