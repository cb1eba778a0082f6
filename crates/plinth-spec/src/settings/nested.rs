//! Fields with structure: lists and objects checked member by member.

use serde_json::{Map, Value};

use super::decals::decals;
use super::error::{SettingsError, shown};
use super::groups::{BasePose, Gradient, KeyEasing, Keyframe};
use super::material_edits::material_edits;
use super::parse::{hex_color, nearest};
use super::table::Nested;
use crate::limits;

type Result<T> = std::result::Result<T, SettingsError>;

/// Checks a nested field completely.
pub(super) fn check(key: &str, kind: Nested, value: &Value) -> Result<()> {
    match kind {
        Nested::Gradient => gradient(key, value).map(drop),
        Nested::MaterialEdits => material_edits(key, value).map(drop),
        Nested::Decals => decals(key, value).map(drop),
        Nested::Keyframes => keyframes(key, value).map(drop),
        Nested::Camera => camera(key, value).map(drop),
    }
}

pub(super) fn object<'a>(at: &str, value: &'a Value) -> Result<&'a Map<String, Value>> {
    value.as_object().ok_or_else(|| SettingsError::invalid(at, format!("{at} must be an object, not {}", shown(value))))
}

pub(super) fn list<'a>(at: &str, value: &'a Value, min: usize, max: usize) -> Result<&'a Vec<Value>> {
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
pub(super) fn only(at: &str, members: &Map<String, Value>, known: &[&str]) -> Result<()> {
    for key in members.keys() {
        if !known.contains(&key.as_str()) {
            let hint =
                nearest(key, known.iter().copied()).map_or_else(String::new, |n| format!("; did you mean '{n}'?"));
            return Err(SettingsError::invalid(at, format!("{at} has no field '{key}'{hint}")));
        }
    }
    Ok(())
}

pub(super) fn number(at: &str, value: &Value, min: f64, max: f64) -> Result<f64> {
    value.as_f64().filter(|v| (min..=max).contains(v)).ok_or_else(|| {
        SettingsError::invalid(at, format!("{at} must be a number from {min} to {max}, not {}", shown(value)))
    })
}

pub(super) fn member<'a>(at: &str, members: &'a Map<String, Value>, key: &str) -> Result<&'a Value> {
    members.get(key).ok_or_else(|| SettingsError::invalid(at, format!("{at} needs '{key}'")))
}

pub(super) fn vector(at: &str, value: &Value, limit: f64) -> Result<[f64; 3]> {
    let items = list(at, value, 3, 3)?;
    Ok([
        number(at, &items[0], -limit, limit)?,
        number(at, &items[1], -limit, limit)?,
        number(at, &items[2], -limit, limit)?,
    ])
}

pub(super) fn text(at: &str, value: &Value) -> Result<String> {
    value.as_str().filter(|t| t.chars().count() <= limits::NAME_CHARS).map(str::to_owned).ok_or_else(|| {
        SettingsError::invalid(at, format!("{at} must be a text of at most {} characters", limits::NAME_CHARS))
    })
}

/// The place of a word in a list.
pub(super) fn choice(at: &str, value: &Value, words: &[&str]) -> Result<usize> {
    let place = value.as_str().and_then(|word| words.iter().position(|known| *known == word));
    place.ok_or_else(|| {
        SettingsError::invalid(at, format!("{at} must be one of {}, not {}", words.join(", "), shown(value)))
    })
}

pub(super) fn color(at: &str, value: &Value) -> Result<[u8; 3]> {
    value.as_str().and_then(hex_color).ok_or_else(|| {
        SettingsError::invalid(at, format!("{at} must be a colour such as #1a2b3c, not {}", shown(value)))
    })
}

pub(super) fn flag(at: &str, value: &Value) -> Result<bool> {
    value
        .as_bool()
        .ok_or_else(|| SettingsError::invalid(at, format!("{at} must be true or false, not {}", shown(value))))
}

/// Reads `bgGradient`.
pub(super) fn gradient(key: &str, value: &Value) -> Result<Gradient> {
    let members = object(key, value)?;
    only(key, members, &["stops", "angle"])?;
    let angle_deg = number(&format!("{key}.angle"), member(key, members, "angle")?, 0.0, 359.0)?;
    let stops = list(&format!("{key}.stops"), member(key, members, "stops")?, 2, limits::GRADIENT_STOPS)?
        .iter()
        .enumerate()
        .map(|(i, stop)| {
            let at = format!("{key}.stops[{i}]");
            let stop = object(&at, stop)?;
            only(&at, stop, &["color"])?;
            color(&format!("{at}.color"), member(&at, stop, "color")?)
        })
        .collect::<Result<_>>()?;
    Ok(Gradient { stops, angle_deg })
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
    let known = [KeyEasing::Linear, KeyEasing::In, KeyEasing::Out, KeyEasing::InOut];
    choice(at, value, &["linear", "ease-in", "ease-out", "ease-in-out"]).map(|i| known[i])
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
