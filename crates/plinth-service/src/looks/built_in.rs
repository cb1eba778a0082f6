//! The looks that the program contains. `looks.json` declares the looks; `scripts/gallery/looks.py` draws their pictures.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::Look;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Declaration {
    id: String,
    name: String,
    description: String,
    settings: Map<String, Value>,
}

#[expect(clippy::expect_used, reason = "the file is a constant, and a test parses it")]
static LOOKS: LazyLock<Vec<Look>> = LazyLock::new(|| {
    let declared: Vec<Declaration> =
        serde_json::from_str(include_str!("../../looks/looks.json")).expect("a list of looks");
    let look = |Declaration { id, name, description, settings }| Look {
        id,
        name,
        description,
        settings,
        is_built_in: true,
        updated_at: None,
    };
    declared.into_iter().map(look).collect()
});

/// Returns the looks that the program contains.
pub(super) fn all() -> &'static [Look] {
    &LOOKS
}

/// Finds a look that the program contains.
pub(super) fn find(id: &str) -> Option<&'static Look> {
    LOOKS.iter().find(|look| look.id == id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use plinth_spec::id::is_well_formed;
    use plinth_spec::settings::{Literal, ParseOptions, field};
    use plinth_spec::{RenderSettings, limits};

    use super::*;

    #[test]
    fn every_look_has_valid_settings_that_fit_any_model() {
        assert_eq!(all().len(), 12);
        for look in all() {
            let settings = Value::Object(look.settings.clone());
            RenderSettings::from_json(&settings, ParseOptions::default())
                .unwrap_or_else(|e| panic!("{}: {e}", look.id));
            // A look has no setting that belongs to one model or workspace, and none that changes the price.
            for key in
                ["materialEdits", "decals", "hiddenMeshNames", "animation", "envId", "bgImageId", "quality", "length"]
            {
                assert!(field(key).is_some() && !look.settings.contains_key(key), "{}: {key}", look.id);
            }
        }
    }

    #[test]
    fn no_setting_of_a_look_equals_its_default() {
        for look in all() {
            for (key, value) in &look.settings {
                let default = field(key).and_then(|field| field.default).map(Literal::json);
                let is_same = default.is_some_and(|d| d == *value || d.is_number() && d.as_f64() == value.as_f64());
                assert!(!is_same, "{}: {key} is {value} anyway", look.id);
            }
        }
    }

    #[test]
    fn identifiers_differ_from_each_other_and_from_those_of_saved_looks() {
        let ids: BTreeSet<&str> = all().iter().map(|look| look.id.as_str()).collect();
        let names: BTreeSet<&str> = all().iter().map(|look| look.name.as_str()).collect();
        assert_eq!((ids.len(), names.len()), (all().len(), all().len()));
        assert!(all().iter().all(|look| !is_well_formed(&look.id) && look.name.len() <= limits::LOOK_NAME_CHARS));
    }
}
