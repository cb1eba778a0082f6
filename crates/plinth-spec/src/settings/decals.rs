//! `decals`: images stuck onto the model.

use serde_json::Value;

use super::nested::PLACE;
use super::shape::{Shape, number, optional, required, text, vector};
use crate::limits;

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

/// What `decals` may be.
pub(super) const DECALS: Shape = Shape::List(&DECAL, 0, limits::DECALS);
const DECAL: Shape = Shape::Object(&[
    required("id", Shape::Text),
    required("imageAssetId", Shape::Text),
    required("position", PLACE),
    required("normal", PLACE),
    required("euler", PLACE),
    required("size", Shape::Number(1e-6, 100.0)),
    optional("imageAspect", Shape::Positive(100.0)),
    optional("placementScale", Shape::List(&Shape::Scale(0.01, 20.0), 3, 3)),
]);

/// Reads a checked decal.
pub(super) fn decal(value: &Value) -> Decal {
    Decal {
        id: text(&value["id"]),
        image: text(&value["imageAssetId"]),
        position: vector(&value["position"]),
        normal: vector(&value["normal"]),
        euler: vector(&value["euler"]),
        size: number(&value["size"]),
        aspect: value["imageAspect"].as_f64(),
        placement_scale: value.get("placementScale").map(vector),
    }
}
