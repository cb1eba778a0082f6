//! Render settings. Each setting is declared once, in a group: its name in the API, its type, what it takes, its default,
//! unit and description. The typed struct, the check, the reader, the JSON Schema, the reference and the command-line
//! flags are made from that declaration.

mod declare;
mod error;
mod field;
mod frames;
mod groups;
mod parse;
mod read;
mod reference;
mod shape;

pub use error::{SettingsError, SettingsErrorKind};
pub use field::{Field, Literal};
pub use groups::*;
pub use parse::ParseOptions;
pub use reference::{echoed_schema, markdown_table, schema};
pub use shape::Shape;
