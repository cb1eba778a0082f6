//! The form of all render settings, generated from their declarations in `plinth-spec`.

mod changed;
mod control;
mod label;
mod read;
#[cfg(test)]
mod script_settings;

pub(crate) use changed::{ChangedSetting, changed_settings};
pub(crate) use control::{Assets, Kind, SettingsGroup, groups, named};
pub(crate) use label::{setting_of, with_label};
pub(crate) use read::read_settings;
