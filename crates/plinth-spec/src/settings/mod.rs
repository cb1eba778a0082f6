//! Render settings: one table of fields, from which parsing, schema and documentation derive.

mod decals;
mod error;
mod frames;
mod groups;
mod material_edits;
mod nested;
mod parse;
mod reference;
mod shape;
mod table;

pub use decals::Decal;
pub use error::{SettingsError, SettingsErrorKind};
pub use groups::*;
pub use material_edits::{AlphaChoice, Faces, MaterialEdit, material_edit_fields};
pub use parse::ParseOptions;
pub use reference::{echoed_schema, markdown_table, schema};
pub use table::{Group, Kind, Row, TABLE, row};
