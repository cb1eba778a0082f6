//! Parses the render settings of a request.

use plinth_spec::RenderSettings;
use plinth_spec::settings::ParseOptions;
use serde_json::Value;

use crate::access::Caller;
use crate::error::Result;

/// Parses and validates render settings. If the settings are missing or null, returns the defaults.
pub(crate) fn parse_settings(caller: &Caller, value: Option<&Value>) -> Result<RenderSettings> {
    let options = ParseOptions { uncapped_length: caller.is_admin };
    Ok(match value.filter(|value| !value.is_null()) {
        Some(value) => RenderSettings::from_json(value, options)?,
        None => RenderSettings::default(),
    })
}
