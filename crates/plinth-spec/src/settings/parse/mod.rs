//! From JSON to checked settings, by the table.

use serde_json::{Map, Value};

use super::decals::decal;
use super::error::{SettingsError, SettingsErrorKind, shown};
use super::groups::{
    Align, Background, CameraMotion, ClipChoice, Dataset, Effect, Environment, EnvironmentMode, Filter, Light,
    ModelPose, Output, Path, Post, Reflector, RenderSettings, Shadow, ShadowMode, Video,
};
use super::material_edits::material_edits;
use super::nested;
use super::table::{Kind, Row, TABLE, row};
use crate::limits;
use crate::quality::{Aspect, DatasetQuality, Quality};

type Result<T> = std::result::Result<T, SettingsError>;

/// How strictly settings are read.
#[derive(Clone, Copy, Debug, Default)]
pub struct ParseOptions {
    /// Lengths beyond the tier's are accepted (administrators).
    pub uncapped_length: bool,
}

/// Other names of fields.
pub(super) const ALIASES: &[(&str, &str)] = &[("videoLength", "length")];
/// Keys that only the server sets.
pub(super) const STAMPED: &[&str] = &["preview", "thumbOnly"];
/// Legacy nine-point alignments.
pub(super) const NINE_POINTS: &[(&str, &str)] = &[
    ("top-left", "left"),
    ("top", "center"),
    ("top-center", "center"),
    ("top-right", "right"),
    ("center-left", "left"),
    ("center-center", "center"),
    ("center-right", "right"),
    ("middle-left", "left"),
    ("middle-center", "center"),
    ("middle-right", "right"),
    ("bottom-left", "left"),
    ("bottom", "center"),
    ("bottom-center", "center"),
    ("bottom-right", "right"),
];

impl RenderSettings {
    /// Checks settings.
    /// Errors: the first field that is unknown or holds what it must not.
    pub fn from_json(value: &Value, options: ParseOptions) -> Result<Self> {
        let Value::Object(members) = value else {
            return Err(SettingsError::invalid(
                "renderSettings",
                format!("settings must be an object, not {}", shown(value)),
            ));
        };
        let sent = canonical(members)?;
        for (key, value) in &sent {
            if let Some(row) = row(key) {
                check(row, value)?;
            }
        }
        let settings = typed(sent);
        check_length(&settings, options)?;
        Ok(settings)
    }

    /// Checks settings given as JSON text.
    /// Errors: text that is not JSON, and as [`Self::from_json`].
    pub fn from_text(text: &str, options: ParseOptions) -> Result<Self> {
        let value: Value = serde_json::from_str(text)
            .map_err(|e| SettingsError::invalid("renderSettings", format!("settings are not valid JSON: {e}")))?;
        Self::from_json(&value, options)
    }
}

impl Default for RenderSettings {
    fn default() -> Self {
        // The table's own defaults pass its own checks; a test holds this.
        typed(Map::new())
    }
}

/// Resolves aliases and refuses unknown keys.
fn canonical(members: &Map<String, Value>) -> Result<Map<String, Value>> {
    let mut out = Map::new();
    for (key, value) in members {
        if STAMPED.contains(&key.as_str()) {
            return Err(SettingsError::invalid(key, format!("'{key}' is set by the server and cannot be sent")));
        }
        let name = ALIASES.iter().find(|(alias, _)| alias == key).map_or(key.as_str(), |(_, name)| *name);
        if row(name).is_none() {
            let hint = nearest(name, TABLE.iter().map(|r| r.key));
            let hint = hint.map_or_else(String::new, |n| format!("; the nearest is '{n}'"));
            return Err(SettingsError::invalid(key, format!("there is no setting '{key}'{hint}")));
        }
        if out.insert(name.to_owned(), value.clone()).is_some() {
            return Err(SettingsError::invalid(name, format!("'{name}' is given twice, once by an alias")));
        }
    }
    if out.get("effect").and_then(Value::as_str) == Some("dataset") {
        out.remove("effect");
        out.insert("output".to_owned(), Value::from("dataset"));
    }
    if let Some(Value::String(align)) = out.get_mut("bgAlign")
        && let Some((_, token)) = NINE_POINTS.iter().find(|(legacy, _)| legacy == align)
    {
        (*token).clone_into(align);
    }
    Ok(out)
}

/// The known word that is most like this one.
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|k| (strsim::jaro_winkler(&word.to_lowercase(), &k.to_lowercase()), k))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, k)| k)
}

/// `#rrggbb` as bytes.
pub(super) fn hex_color(text: &str) -> Option<[u8; 3]> {
    let digits = text.strip_prefix('#').filter(|d| d.len() == 6 && d.bytes().all(|b| b.is_ascii_hexdigit()))?;
    let value = u32::from_str_radix(digits, 16).ok()?;
    let [_, r, g, b] = value.to_be_bytes();
    Some([r, g, b])
}

/// Checks one value against its row.
fn check(row: &Row, value: &Value) -> Result<()> {
    let key = row.key;
    let refuse = |wanted: String| SettingsError::invalid(key, format!("{key} must be {wanted}, not {}", shown(value)));
    let unit = if row.unit.is_empty() { String::new() } else { format!(" {}", row.unit) };
    let finite = value.as_f64().filter(|v| v.is_finite());
    match row.kind {
        Kind::Number { min, max } => match finite {
            Some(v) if (min..=max).contains(&v) => Ok(()),
            _ => Err(refuse(format!("a number from {min} to {max}{unit}"))),
        },
        Kind::NonZero { min, max } => match finite {
            Some(v) if (min..=max).contains(&v) && v != 0.0 => Ok(()),
            _ => Err(refuse(format!("a number from {min} to {max}{unit}, not 0"))),
        },
        Kind::Scale { min, max } => match finite {
            Some(v) if (min..=max).contains(&v.abs()) => Ok(()),
            _ => Err(refuse(format!("a number of magnitude {min} to {max}{unit}"))),
        },
        Kind::Length => match finite {
            Some(_) => Ok(()),
            None => Err(refuse("a number of seconds".to_owned())),
        },
        Kind::Flag => value.as_bool().map(drop).ok_or_else(|| refuse("true or false".to_owned())),
        Kind::Choice(words) => match value.as_str() {
            Some(word) if words.contains(&word) => Ok(()),
            _ => Err(refuse(format!("one of {}", words.join(", ")))),
        },
        Kind::Color => {
            value.as_str().and_then(hex_color).map(drop).ok_or_else(|| refuse("a colour such as #1a2b3c".to_owned()))
        }
        Kind::Text => match value.as_str() {
            Some(text) if (1..=limits::NAME_CHARS).contains(&text.chars().count()) => Ok(()),
            _ => Err(refuse(format!("a text of 1 to {} characters", limits::NAME_CHARS))),
        },
        Kind::TextList => check_names(key, value),
        Kind::Nested(kind) => nested::check(key, kind, value),
    }
}

fn check_names(key: &str, value: &Value) -> Result<()> {
    let wanted = || {
        let words = format!(
            "{key} must be a list of at most {} texts of at most {} characters",
            limits::HIDDEN_MESH_NAMES,
            limits::HIDDEN_MESH_NAME_CHARS
        );
        SettingsError::invalid(key, words)
    };
    let names = value.as_array().filter(|names| names.len() <= limits::HIDDEN_MESH_NAMES).ok_or_else(wanted)?;
    let fits = |n: &Value| n.as_str().is_some_and(|n| n.chars().count() <= limits::HIDDEN_MESH_NAME_CHARS);
    if names.iter().all(fits) { Ok(()) } else { Err(wanted()) }
}

fn check_length(settings: &RenderSettings, options: ParseOptions) -> Result<()> {
    let video = settings.video();
    let max = if options.uncapped_length { f64::MAX } else { video.quality.max_length_secs() };
    if video.length_secs > 0.0 && video.length_secs <= max {
        return Ok(());
    }
    Err(SettingsError {
        kind: SettingsErrorKind::InvalidLength,
        field: "length".to_owned(),
        message: format!(
            "length must be above 0 and at most {} s for quality {}, not {}",
            video.quality.max_length_secs(),
            video.quality.name(),
            video.length_secs
        ),
    })
}

/// Reads values by the table, its defaults where nothing was sent.
struct Values<'a>(&'a Map<String, Value>);

impl Values<'_> {
    fn get(&self, key: &str) -> Option<Value> {
        let default = || row(key)?.default.and_then(|text| serde_json::from_str(text).ok());
        self.0.get(key).cloned().or_else(default)
    }

    fn number(&self, key: &str) -> f64 {
        self.maybe_number(key).unwrap_or(0.0)
    }

    fn maybe_number(&self, key: &str) -> Option<f64> {
        self.get(key)?.as_f64()
    }

    fn flag(&self, key: &str) -> bool {
        self.get(key).and_then(|v| v.as_bool()).unwrap_or(false)
    }

    fn text(&self, key: &str) -> Option<String> {
        self.get(key)?.as_str().map(str::to_owned)
    }

    fn list(&self, key: &str) -> Vec<Value> {
        self.get(key).and_then(|value| value.as_array().cloned()).unwrap_or_default()
    }

    fn color(&self, key: &str) -> Option<[u8; 3]> {
        hex_color(&self.text(key)?)
    }
}

/// Reads what was checked.
fn typed(sent: Map<String, Value>) -> RenderSettings {
    let v = Values(&sent);
    let is = |key: &str, word: &str| v.text(key).as_deref() == Some(word);
    let aspect = v.text("aspect").and_then(|a| Aspect::NAMES.iter().position(|n| *n == a)).map(|i| Aspect::ALL[i]);
    let video = Video {
        quality: v.text("quality").and_then(|q| Quality::from_name(&q)).unwrap_or_default(),
        output: if is("output", "dataset") { Output::Dataset } else { Output::Video },
        aspect: aspect.unwrap_or_default(),
        length_secs: v.number("length"),
        strict_credits: v.flag("strictCredits"),
    };
    RenderSettings {
        video,
        camera: camera(&v),
        path: path(&v),
        model: model(&v),
        background: background(&v),
        environment: environment(&v),
        light: Light {
            spot: v.number("spotlightIntensity"),
            lights: v.number("lightsIntensity"),
            ambient: v.number("ambientIntensity"),
            gloss: v.number("glossIntensity"),
            key_color: v.color("keyLightColor").unwrap_or([255; 3]),
            fill_color: v.color("fillLightColor").unwrap_or([255; 3]),
        },
        shadow: shadow(&v),
        post: post(&v),
        material_edits: v.get("materialEdits").as_ref().map(material_edits).unwrap_or_default(),
        decals: v.list("decals").iter().map(decal).collect(),
        dataset: Dataset {
            quality: v.text("datasetQuality").and_then(|q| DatasetQuality::from_name(&q)),
            whole_sphere: is("coverage", "sphere"),
        },
        sent,
    }
}

fn background(v: &Values<'_>) -> Background {
    Background {
        color: v.color("bgColor").unwrap_or([255; 3]),
        gradient: v.get("bgGradient").as_ref().map(nested::gradient),
        image: v.text("bgImageId"),
        align: match v.text("bgAlign").as_deref() {
            Some("center") => Align::Center,
            Some("right") => Align::Right,
            _ => Align::Left,
        },
    }
}

fn environment(v: &Values<'_>) -> Environment {
    Environment {
        id: v.text("envId"),
        rotation_deg: v.number("envRotation"),
        exposure: v.number("envExposure"),
        mode: match v.text("envMode").as_deref() {
            Some("floating") => EnvironmentMode::Floating,
            Some("grounded") => EnvironmentMode::Grounded,
            _ => EnvironmentMode::Lighting,
        },
        opacity: v.number("envOpacity"),
        blur: v.number("envBlur"),
        scale: v.number("envScale"),
        tint: v.color("envTint"),
        tint_strength: v.number("envTintStrength"),
    }
}

fn camera(v: &Values<'_>) -> CameraMotion {
    let effect = match v.text("effect").as_deref() {
        Some("hero-spin") => Effect::HeroSpin,
        Some("showcase") => Effect::Showcase,
        Some("zoom-orbit") => Effect::ZoomOrbit,
        Some("reveal") => Effect::Reveal,
        Some("keyframes") => Effect::Keyframes,
        _ => Effect::Turntable,
    };
    let own_sweep = match effect {
        Effect::HeroSpin => 540.0,
        Effect::Reveal => 180.0,
        _ => 360.0,
    };
    CameraMotion {
        effect,
        sweep_deg: v.maybe_number("sweepAngle").unwrap_or(own_sweep),
        ease_out_ratio: v.number("easeOutRatio"),
        amplitude_deg: v.number("amplitude"),
        zoom_start: v.number("zoomStart"),
        zoom_end: v.number("zoomEnd"),
        scale_from: v.number("scaleFrom"),
        easing: v.flag("easing"),
        orbit_start_deg: v.number("rotateY"),
        zoom: v.number("zoom"),
    }
}

fn path(v: &Values<'_>) -> Path {
    let pair = |start: &str, end: &str, unset: f64| {
        let from = v.maybe_number(start).unwrap_or(unset);
        (from, v.maybe_number(end).unwrap_or(from))
    };
    Path {
        keyframes: v.list("keyframes").iter().map(nested::keyframe).collect(),
        camera: v.get("camera").as_ref().map(nested::camera),
        angle_deg: pair("startAngle", "endAngle", 0.0),
        tilt_deg: pair("startTilt", "endTilt", 0.0),
        zoom: pair("startZoom", "endZoom", 1.0),
        fov_deg: (v.maybe_number("startFov"), v.maybe_number("endFov")),
        ease_in_secs: v.number("easeInSeconds"),
        ease_out_secs: v.number("easeOutSeconds"),
        segment_secs: v.number("kfSegmentDuration"),
        loops: v.flag("loop"),
    }
}

fn shadow(v: &Values<'_>) -> Shadow {
    Shadow {
        enabled: v.flag("shadows"),
        mode: match v.text("shadowMode").as_deref() {
            Some("flat") => ShadowMode::Flat,
            Some("accumulated") => ShadowMode::Accumulated,
            _ => ShadowMode::Shader,
        },
        darkness: v.number("shadowDarkness"),
        softness: v.number("shadowSoftness"),
        reflector: v.flag("reflector").then(|| Reflector {
            mix: v.number("reflectorMix"),
            fade: v.number("reflectorFade"),
            depth_blur: v.number("reflectorDepthBlur"),
        }),
    }
}

fn post(v: &Values<'_>) -> Post {
    let filter = v.text("filter").and_then(|name| Filter::NAMES.iter().position(|n| *n == name));
    let switched = |switch: &str, strength: &str| v.flag(switch).then(|| v.number(strength));
    Post {
        filter: filter.map_or_else(Filter::default, |i| Filter::ALL[i]),
        vignette: v.number("vignette"),
        bloom: switched("bloomEnabled", "bloomStrength").unwrap_or(0.0),
        depth_of_field: switched("dofEnabled", "dofStrength").unwrap_or(0.0),
        occlusion: switched("n8aoEnabled", "n8aoIntensity"),
        sway: switched("swayEnabled", "swayIntensity").unwrap_or(0.0),
    }
}

fn model(v: &Values<'_>) -> ModelPose {
    ModelPose {
        yaw_deg: v.number("panX"),
        pitch_deg: v.number("tiltX"),
        roll_deg: v.number("rollZ"),
        scale: ["scaleX", "scaleY", "scaleZ"].map(|key| v.number(key)),
        translate: ["translateX", "translateY", "translateZ"].map(|key| v.number(key)),
        clip: v.text("animation").map(|name| if name == "*" { ClipChoice::First } else { ClipChoice::Named(name) }),
        clip_speed: v.number("animationSpeed"),
        hidden_mesh_names: v.list("hiddenMeshNames").iter().filter_map(|n| n.as_str().map(str::to_owned)).collect(),
    }
}

#[cfg(test)]
mod tests;
