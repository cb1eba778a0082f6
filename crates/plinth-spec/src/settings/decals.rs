//! `decals`: images stuck onto the model.

use serde_json::Value;

use super::error::SettingsError;
use super::nested::{list, member, number, object, only, text, vector};
use crate::limits;

type Result<T> = std::result::Result<T, SettingsError>;

/// One image on the model, in normalised units.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Decal {
    /// `id`, the caller's own.
    pub id: String,
    /// `imageAssetId`.
    pub image: String,
    /// `position`: the middle of the image.
    pub position: [f64; 3],
    /// `normal` of the surface there; zero where it is not known.
    pub normal: [f64; 3],
    /// `euler`: angles in radians about x, y and z, as three.js' `Euler` of order XYZ.
    pub euler: [f64; 3],
    /// `size`: the longer side of the image, and how deep it reaches.
    pub size: f64,
    /// `imageAspect`: width by height; `None`: the image's own.
    pub aspect: Option<f64>,
    /// `placementScale`: the model's scale at which it was placed; `None`: the final one.
    pub placement_scale: Option<[f64; 3]>,
}

const FIELDS: &[&str] = &["id", "imageAssetId", "position", "normal", "euler", "size", "imageAspect", "placementScale"];

/// Reads `decals`.
pub(super) fn decals(key: &str, value: &Value) -> Result<Vec<Decal>> {
    let items = list(key, value, 0, limits::DECALS)?;
    items.iter().enumerate().map(|(i, item)| decal(&format!("{key}[{i}]"), item)).collect()
}

fn decal(at: &str, value: &Value) -> Result<Decal> {
    let members = object(at, value)?;
    only(at, members, FIELDS)?;
    let words = |name: &str| text(&format!("{at}.{name}"), member(at, members, name)?);
    let place = |name: &str| vector(&format!("{at}.{name}"), member(at, members, name)?, 1000.0);
    let aspect = |value| number(&format!("{at}.imageAspect"), value, 1e-9, 100.0);
    Ok(Decal {
        id: words("id")?,
        image: words("imageAssetId")?,
        position: place("position")?,
        normal: place("normal")?,
        euler: place("euler")?,
        size: number(&format!("{at}.size"), member(at, members, "size")?, 1e-6, 100.0)?,
        aspect: members.get("imageAspect").map(aspect).transpose()?,
        placement_scale: members.get("placementScale").map(|value| scale(at, value)).transpose()?,
    })
}

fn scale(at: &str, value: &Value) -> Result<[f64; 3]> {
    let at = format!("{at}.placementScale");
    let scale = vector(&at, value, 20.0)?;
    if scale.iter().any(|s| s.abs() < 0.01) {
        return Err(SettingsError::invalid(at.as_str(), format!("{at} needs magnitudes from 0.01 to 20")));
    }
    Ok(scale)
}
