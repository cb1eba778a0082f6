//! Fields with structure: lists and objects checked member by member.

use serde_json::{Map, Value};

use super::error::{SettingsError, shown};
use super::groups::{BasePose, KeyEasing, Keyframe};
use super::parse::{hex_color, nearest};
use super::table::Nested;
use crate::limits;

type Result<T> = std::result::Result<T, SettingsError>;

/// Checks a nested field completely.
pub(super) fn check(key: &str, kind: Nested, value: &Value) -> Result<()> {
    match kind {
        Nested::Gradient => gradient(key, value),
        Nested::MaterialEdits => material_edits(key, value),
        Nested::Decals => decals(key, value),
        Nested::Keyframes => keyframes(key, value).map(drop),
        Nested::Camera => camera(key, value).map(drop),
    }
}

fn object<'a>(at: &str, value: &'a Value) -> Result<&'a Map<String, Value>> {
    value.as_object().ok_or_else(|| SettingsError::invalid(at, format!("{at} must be an object, not {}", shown(value))))
}

fn list<'a>(at: &str, value: &'a Value, min: usize, max: usize) -> Result<&'a Vec<Value>> {
    let items = value
        .as_array()
        .ok_or_else(|| SettingsError::invalid(at, format!("{at} must be a list, not {}", shown(value))))?;
    if (min..=max).contains(&items.len()) {
        Ok(items)
    } else {
        let words = format!("{at} must have {min} to {max} entries, not {}", items.len());
        Err(SettingsError::invalid(at, words))
    }
}

/// Refuses members that are not in the list.
fn only(at: &str, members: &Map<String, Value>, known: &[&str]) -> Result<()> {
    for key in members.keys() {
        if !known.contains(&key.as_str()) {
            let hint =
                nearest(key, known.iter().copied()).map_or_else(String::new, |n| format!("; did you mean '{n}'?"));
            return Err(SettingsError::invalid(at, format!("{at} has no field '{key}'{hint}")));
        }
    }
    Ok(())
}

fn number(at: &str, value: &Value, min: f64, max: f64) -> Result<f64> {
    value.as_f64().filter(|v| (min..=max).contains(v)).ok_or_else(|| {
        SettingsError::invalid(at, format!("{at} must be a number from {min} to {max}, not {}", shown(value)))
    })
}

fn member<'a>(at: &str, members: &'a Map<String, Value>, key: &str) -> Result<&'a Value> {
    members.get(key).ok_or_else(|| SettingsError::invalid(at, format!("{at} needs '{key}'")))
}

fn vector(at: &str, value: &Value, limit: f64) -> Result<[f64; 3]> {
    let items = list(at, value, 3, 3)?;
    Ok([
        number(at, &items[0], -limit, limit)?,
        number(at, &items[1], -limit, limit)?,
        number(at, &items[2], -limit, limit)?,
    ])
}

fn text<'a>(at: &str, value: &'a Value) -> Result<&'a str> {
    value.as_str().filter(|t| t.chars().count() <= limits::NAME_CHARS).ok_or_else(|| {
        SettingsError::invalid(at, format!("{at} must be a text of at most {} characters", limits::NAME_CHARS))
    })
}

fn choice(at: &str, value: &Value, words: &[&str]) -> Result<()> {
    match value.as_str() {
        Some(word) if words.contains(&word) => Ok(()),
        _ => Err(SettingsError::invalid(at, format!("{at} must be one of {}, not {}", words.join(", "), shown(value)))),
    }
}

fn color(at: &str, value: &Value) -> Result<()> {
    value.as_str().and_then(hex_color).map(drop).ok_or_else(|| {
        SettingsError::invalid(at, format!("{at} must be a colour such as #1a2b3c, not {}", shown(value)))
    })
}

fn flag(at: &str, value: &Value) -> Result<()> {
    value
        .as_bool()
        .map(drop)
        .ok_or_else(|| SettingsError::invalid(at, format!("{at} must be true or false, not {}", shown(value))))
}

fn gradient(key: &str, value: &Value) -> Result<()> {
    let members = object(key, value)?;
    only(key, members, &["stops", "angle"])?;
    number(&format!("{key}.angle"), member(key, members, "angle")?, 0.0, 359.0)?;
    for (i, stop) in list(&format!("{key}.stops"), member(key, members, "stops")?, 2, 8)?.iter().enumerate() {
        let at = format!("{key}.stops[{i}]");
        let stop = object(&at, stop)?;
        only(&at, stop, &["color"])?;
        color(&format!("{at}.color"), member(&at, stop, "color")?)?;
    }
    Ok(())
}

/// What a member of a material edit takes.
enum Edit {
    Color,
    Number(f64, f64),
    Flag,
    Choice(&'static [&'static str]),
    Text,
    Toggles,
}

const EDITS: &[(&str, Edit)] = &[
    ("color", Edit::Color),
    ("roughness", Edit::Number(0.0, 1.0)),
    ("metalness", Edit::Number(0.0, 1.0)),
    ("opacity", Edit::Number(0.0, 1.0)),
    ("alphaMode", Edit::Choice(&["OPAQUE", "MASK", "BLEND"])),
    ("emissive", Edit::Color),
    ("emissiveIntensity", Edit::Number(0.0, 100.0)),
    ("aoMapIntensity", Edit::Number(0.0, 1.0)),
    ("envMapIntensity", Edit::Number(0.0, 16.0)),
    ("side", Edit::Choice(&["front", "back", "double"])),
    ("flatShading", Edit::Flag),
    ("wireframe", Edit::Flag),
    ("normalScale", Edit::Number(-10.0, 10.0)),
    ("bumpScale", Edit::Number(-10.0, 10.0)),
    ("displacementScale", Edit::Number(-10.0, 10.0)),
    ("transmission", Edit::Number(0.0, 1.0)),
    ("clearcoat", Edit::Number(0.0, 1.0)),
    ("clearcoatRoughness", Edit::Number(0.0, 1.0)),
    ("sheen", Edit::Number(0.0, 1.0)),
    ("sheenRoughness", Edit::Number(0.0, 1.0)),
    ("sheenColor", Edit::Color),
    ("iridescence", Edit::Number(0.0, 1.0)),
    ("iridescenceIOR", Edit::Number(1.0, 2.5)),
    ("specularIntensity", Edit::Number(0.0, 1.0)),
    ("specularColor", Edit::Color),
    ("thickness", Edit::Number(0.0, 100.0)),
    ("ior", Edit::Number(1.0, 2.5)),
    ("attenuationColor", Edit::Color),
    ("textureMaps", Edit::Toggles),
    ("mapAssetId", Edit::Text),
];

fn material_edits(key: &str, value: &Value) -> Result<()> {
    let members = object(key, value)?;
    if members.len() > limits::MATERIAL_EDITS {
        let words = format!("{key} may have at most {} keys, not {}", limits::MATERIAL_EDITS, members.len());
        return Err(SettingsError::invalid(key, words));
    }
    let bytes = value.to_string().len();
    if bytes > limits::MATERIAL_EDITS_BYTES {
        let words = format!("{key} may take at most {} bytes, not {bytes}", limits::MATERIAL_EDITS_BYTES);
        return Err(SettingsError::invalid(key, words));
    }
    let known: Vec<&str> = EDITS.iter().map(|(name, _)| *name).collect();
    for (material, edits) in members {
        let at = format!("{key}.{material}");
        let edits = object(&at, edits)?;
        only(&at, edits, &known)?;
        for (name, edit) in EDITS {
            if let Some(value) = edits.get(*name) {
                check_edit(&format!("{at}.{name}"), edit, value)?;
            }
        }
    }
    Ok(())
}

fn check_edit(at: &str, edit: &Edit, value: &Value) -> Result<()> {
    match edit {
        Edit::Color => color(at, value),
        Edit::Number(min, max) => number(at, value, *min, *max).map(drop),
        Edit::Flag => flag(at, value),
        Edit::Choice(words) => choice(at, value, words),
        Edit::Text => text(at, value).map(drop),
        Edit::Toggles => {
            for (name, toggle) in object(at, value)? {
                flag(&format!("{at}.{name}"), toggle)?;
            }
            Ok(())
        }
    }
}

fn decals(key: &str, value: &Value) -> Result<()> {
    let known = ["id", "imageAssetId", "position", "normal", "euler", "size", "imageAspect", "placementScale"];
    for (i, decal) in list(key, value, 0, limits::DECALS)?.iter().enumerate() {
        let at = format!("{key}[{i}]");
        let members = object(&at, decal)?;
        only(&at, members, &known)?;
        for name in ["id", "imageAssetId"] {
            text(&format!("{at}.{name}"), member(&at, members, name)?)?;
        }
        for name in ["position", "normal", "euler"] {
            vector(&format!("{at}.{name}"), member(&at, members, name)?, 1000.0)?;
        }
        number(&format!("{at}.size"), member(&at, members, "size")?, 1e-6, 100.0)?;
        if let Some(aspect) = members.get("imageAspect") {
            number(&format!("{at}.imageAspect"), aspect, 1e-9, 100.0)?;
        }
        if let Some(scale) = members.get("placementScale") {
            let at = format!("{at}.placementScale");
            if vector(&at, scale, 20.0)?.iter().any(|s| s.abs() < 0.01) {
                return Err(SettingsError::invalid(at.as_str(), format!("{at} needs magnitudes from 0.01 to 20")));
            }
        }
    }
    Ok(())
}

/// Reads `keyframes`.
pub(super) fn keyframes(key: &str, value: &Value) -> Result<Vec<Keyframe>> {
    list(key, value, 1, limits::KEYFRAMES)?
        .iter()
        .enumerate()
        .map(|(i, frame)| {
            let at = format!("{key}[{i}]");
            let members = object(&at, frame)?;
            only(&at, members, &["pose", "dwell", "easing"])?;
            let place = format!("{at}.pose");
            let pose = object(&place, member(&at, members, "pose")?)?;
            only(&place, pose, &["position", "lookAt", "fov"])?;
            let easing = match members.get("easing") {
                None => KeyEasing::default(),
                Some(value) => key_easing(&format!("{at}.easing"), value)?,
            };
            Ok(Keyframe {
                position: vector(&format!("{place}.position"), member(&place, pose, "position")?, 1000.0)?,
                look_at: vector(&format!("{place}.lookAt"), member(&place, pose, "lookAt")?, 1000.0)?,
                fov_deg: number(&format!("{place}.fov"), member(&place, pose, "fov")?, 1.0, 170.0)?,
                dwell_secs: members.get("dwell").map_or(Ok(0.0), |d| number(&format!("{at}.dwell"), d, 0.0, 120.0))?,
                easing,
            })
        })
        .collect()
}

fn key_easing(at: &str, value: &Value) -> Result<KeyEasing> {
    choice(at, value, &["linear", "ease-in", "ease-out", "ease-in-out"])?;
    Ok(match value.as_str() {
        Some("ease-in") => KeyEasing::In,
        Some("ease-out") => KeyEasing::Out,
        Some("ease-in-out") => KeyEasing::InOut,
        _ => KeyEasing::Linear,
    })
}

/// Reads `camera`.
pub(super) fn camera(key: &str, value: &Value) -> Result<BasePose> {
    let members = object(key, value)?;
    only(key, members, &["target", "radius", "theta", "phi", "fov"])?;
    let read = |name: &str, min, max| number(&format!("{key}.{name}"), member(key, members, name)?, min, max);
    Ok(BasePose {
        target: vector(&format!("{key}.target"), member(key, members, "target")?, 1000.0)?,
        radius: read("radius", 0.01, 1000.0)?,
        theta_deg: read("theta", -3600.0, 3600.0)?,
        phi_deg: read("phi", 0.0, 180.0)?,
        fov_deg: read("fov", 1.0, 170.0)?,
    })
}
