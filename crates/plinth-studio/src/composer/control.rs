//! The controls of the composer's form: one for each setting.

use plinth_service::access::Caller;
use plinth_service::{Result, Service};
use plinth_spec::settings::{DATASET_EFFECT, Field, SettingsGroup as Declared, Shape, setting_groups};
use plinth_spec::wire::{Layer, ModelDetail};
use serde_json::{Map, Value};

use super::label::{capitalized, label, name_label};
use crate::setting_pictures::{SettingPicture, picture_of};

/// A group of settings.
pub(crate) struct SettingsGroup {
    pub(crate) name: &'static str,
    pub(crate) title: String,
    pub(crate) help: &'static str,
    pub(crate) controls: Vec<Control>,
    /// Number of settings that differ from their defaults.
    pub(crate) changed: usize,
}

/// A setting with its value, as a template shows it.
pub(crate) struct Control {
    pub(crate) key: &'static str,
    pub(crate) label: String,
    /// The description of the setting in one sentence, without backticks.
    pub(crate) help: String,
    pub(crate) unit: &'static str,
    pub(crate) kind: Kind,
    /// The current value as text; empty if the setting is unset.
    pub(crate) value: String,
    /// The default value as text; empty if the setting has no default.
    pub(crate) default: String,
    /// Picture that shows the effect of several values.
    pub(crate) picture: Option<SettingPicture>,
}

/// The kind of a control.
pub(crate) enum Kind {
    /// A number. The text of a bound is empty if there is no such bound.
    Number { min: String, max: String },
    /// A switch.
    Flag,
    /// A colour that is always set.
    Color,
    /// A colour that may be unset.
    MaybeColor,
    /// One of several values. Each value has a label.
    Choice(Vec<(String, String)>),
    /// A text.
    Text,
    /// Any number of the listed names. The flag tells whether a name is chosen.
    Names(Vec<(String, bool)>),
    /// JSON. A script replaces its text field by controls.
    Json,
}

impl Control {
    /// Returns whether the value differs from the default.
    pub(crate) fn is_changed(&self) -> bool {
        match &self.kind {
            Kind::Names(names) => names.iter().any(|(_name, is_chosen)| *is_chosen),
            _ => self.value != self.default,
        }
    }
}

/// Everything that settings can refer to: assets of the workspace, and parts of the model.
pub(crate) struct Assets {
    environments: Vec<(String, String)>,
    /// Images for the background. The API also accepts other images as background, but the composer does not offer
    /// them.
    backgrounds: Vec<(String, String)>,
    other_images: Vec<(String, String)>,
    clips: Vec<(String, String)>,
    meshes: Vec<String>,
    /// Whether the caller may order videos of any length.
    has_any_length: bool,
    /// Identifiers and names of the images for decals.
    pub(crate) decals: Vec<(String, String)>,
    /// Identifiers and names of the images for materials.
    pub(crate) textures: Vec<(String, String)>,
}

impl Assets {
    /// Finds everything that the settings for a model can refer to.
    pub(crate) async fn of(service: &Service, caller: &Caller, model: &ModelDetail) -> Result<Self> {
        let environments = service.list_envs(caller).await?.data;
        let textures = service.list_textures(caller).await?.data;
        let mut overlays = service.list_overlays(caller, None).await?.data;
        let mut of_layer = |layer: Layer| -> Vec<(String, String)> {
            overlays.extract_if(.., |row| row.layer == layer).map(|row| named(row.id.to_string(), row.name)).collect()
        };
        let (decals, backgrounds, in_texture_layer) =
            (of_layer(Layer::Decal), of_layer(Layer::Background), of_layer(Layer::Texture));
        let others = of_layer(Layer::Foreground);
        let mut clips: Vec<_> = model.animations.iter().map(|clip| (clip.name.clone(), clip.name.clone())).collect();
        if !clips.is_empty() {
            clips.insert(0, ("*".to_owned(), "The first one".to_owned()));
        }
        Ok(Self {
            environments: environments.into_iter().map(|env| named(env.id, env.name)).collect(),
            other_images: [others.as_slice(), &decals, &in_texture_layer].concat(),
            backgrounds,
            decals,
            textures: textures.into_iter().map(|row| named(row.id, row.name)).chain(in_texture_layer).collect(),
            clips,
            meshes: model.mesh_names.clone().unwrap_or_default(),
            // Spec: administrators may order videos of any length.
            has_any_length: caller.is_admin,
        })
    }

    /// Returns the values from which the user can choose, if `key` is one of the settings in [`VALUES`]; otherwise
    /// `None`.
    fn values_of(&self, key: &str) -> Option<&[(String, String)]> {
        VALUES.iter().find(|(known, _values)| *known == key).map(|(_known, values)| values(self))
    }
}

/// Returns a list of assets: identifiers and names.
type AssetList = fn(&Assets) -> &[(String, String)];

/// The settings whose values are chosen from a list of assets.
const VALUES: [(&str, AssetList); 3] = [
    ("envId", |assets| &assets.environments),
    ("bgImageId", |assets| &assets.backgrounds),
    ("animation", |assets| &assets.clips),
];

/// Returns an identifier and its label, which is the name, or the identifier if the name is empty.
pub(crate) fn named(id: String, name: String) -> (String, String) {
    if name.is_empty() { (id.clone(), id) } else { (id, name) }
}

/// Builds the groups of controls for the form of settings.
pub(crate) fn groups(settings: &Map<String, Value>, assets: &Assets) -> Vec<SettingsGroup> {
    let group = |declared: &Declared| {
        let controls: Vec<Control> =
            declared.fields.iter().map(|field| control(field, settings.get(field.key), assets)).collect();
        SettingsGroup {
            name: declared.name,
            title: capitalized(declared.name),
            help: declared.description,
            changed: controls.iter().filter(|control| control.is_changed()).count(),
            controls,
        }
    };
    setting_groups().iter().map(group).collect()
}

fn control(field: &Field, value: Option<&Value>, assets: &Assets) -> Control {
    let default = field.default.map(|default| text(&default.json())).unwrap_or_default();
    let value_text = value.map_or_else(|| default.clone(), text);
    let kind = match field.shape {
        Shape::Text { .. } => match assets.values_of(field.key) {
            Some(known) => Kind::Choice(with_current(known, &assets.other_images, &value_text)),
            None => Kind::Text,
        },
        Shape::Texts { .. } => Kind::Names(names(value, &assets.meshes)),
        Shape::Length if assets.has_any_length => Kind::Number { min: "0".to_owned(), max: String::new() },
        _ => kind_of(field),
    };
    Control {
        key: field.key,
        label: label(field.key),
        help: field.description.replace('`', ""),
        unit: field.unit,
        kind,
        value: value_text,
        default,
        picture: picture_of(field.key),
    }
}

fn kind_of(field: &Field) -> Kind {
    let number = |min: Option<f64>, max: Option<f64>| {
        let bound = |bound: Option<f64>| bound.map(|bound| bound.to_string()).unwrap_or_default();
        Kind::Number { min: bound(min), max: bound(max) }
    };
    match field.shape {
        Shape::Number { min, max } | Shape::NonZero { min, max } => number(Some(min), Some(max)),
        Shape::Positive { max } => number(None, Some(max)),
        Shape::Scale { max, .. } => number(Some(-max), Some(max)),
        Shape::Length => number(Some(0.0), Some(plinth_spec::limits::VIDEO_LENGTH_SECS)),
        Shape::Flag => Kind::Flag,
        Shape::Color if field.default.is_some() => Kind::Color,
        Shape::Color => Kind::MaybeColor,
        Shape::Choice { names, .. } => {
            let names = names.iter().filter(|name| field.key != "effect" || **name != DATASET_EFFECT);
            Kind::Choice(names.map(|name| ((*name).to_owned(), name_label(name))).collect())
        }
        Shape::Text { .. } | Shape::Texts { .. } => Kind::Text,
        Shape::ChoiceOrFlag { .. } | Shape::List { .. } | Shape::Object(_) | Shape::Map { .. } => Kind::Json,
    }
}

/// Returns the choices of a setting: «None», then the known values. If the current value is not among them, adds it at
/// the end, with its name in `others` or marked as not found.
fn with_current(known: &[(String, String)], others: &[(String, String)], current: &str) -> Vec<(String, String)> {
    let mut values = vec![(String::new(), "None".to_owned())];
    values.extend_from_slice(known);
    if !values.iter().any(|(value, _label)| value == current) {
        let other = others.iter().find(|(value, _label)| value == current);
        values.push(other.cloned().unwrap_or_else(|| (current.to_owned(), format!("{current} (not found)"))));
    }
    values
}

/// Returns all names in the model, then chosen names that the model does not contain. The flag tells whether a name is
/// chosen.
fn names(chosen: Option<&Value>, known: &[String]) -> Vec<(String, bool)> {
    let chosen: Vec<&str> = chosen.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let of_model = known.iter().map(|name| (name.clone(), chosen.contains(&name.as_str())));
    let others = chosen.iter().filter(|name| !known.iter().any(|known| known == *name));
    of_model.chain(others.map(|name| ((*name).to_owned(), true))).collect()
}

/// Returns a value as the text in its control.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), |number| number.to_string()),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_settings_with_lists_of_values_exist() {
        for (key, _values) in VALUES {
            assert!(plinth_spec::settings::field(key).is_some(), "{key}");
        }
    }

    fn assets() -> Assets {
        let pair = |id: &str, name: &str| (id.to_owned(), name.to_owned());
        Assets {
            environments: vec![pair("e1", "Garden")],
            backgrounds: Vec::new(),
            clips: Vec::new(),
            meshes: vec!["Seat".to_owned()],
            has_any_length: false,
            other_images: vec![pair("o1", "Logo")],
            decals: Vec::new(),
            textures: Vec::new(),
        }
    }

    #[test]
    fn each_setting_has_one_control_with_its_default() {
        let groups = groups(&Map::new(), &assets());
        let keys: Vec<&str> = groups.iter().flat_map(|group| &group.controls).map(|control| control.key).collect();
        let known: Vec<&str> = plinth_spec::settings::fields().map(|field| field.key).collect();
        assert_eq!(keys, known);
        assert!(groups.iter().all(|group| group.changed == 0));
    }

    #[test]
    fn what_differs_from_its_default_is_changed() {
        let settings =
            json!({"zoom": 1.0, "length": 7, "envId": "gone", "hiddenMeshNames": ["Seat", "Leg"], "shadows": false});
        let groups = groups(settings.as_object().unwrap(), &assets());
        let controls: Vec<&Control> = groups.iter().flat_map(|group| &group.controls).collect();
        let changed: Vec<&str> = controls.iter().filter(|one| one.is_changed()).map(|one| one.key).collect();
        assert_eq!(changed, ["length", "hiddenMeshNames", "envId", "shadows"]);
        let kind = |key: &str| controls.iter().find(|one| one.key == key).map(|one| &one.kind);
        assert!(
            matches!(kind("envId"), Some(Kind::Choice(values)) if values.len() == 3 && values[2].1 == "gone (not found)")
        );
        let shown = with_current(&[], &assets().other_images, "o1");
        assert_eq!(shown[1], ("o1".to_owned(), "Logo".to_owned()));
        assert!(
            matches!(kind("hiddenMeshNames"), Some(Kind::Names(names)) if *names == [("Seat".to_owned(), true), ("Leg".to_owned(), true)])
        );
        assert!(
            matches!(kind("effect"), Some(Kind::Choice(values)) if values.iter().all(|(value, _)| value != "dataset"))
        );
    }
}
