//! `decals`: images stuck onto the model.

use super::path::VECTOR;
use crate::settings::declare::objects;
use crate::settings::field::{Field, number};
use crate::settings::shape::Shape;

/// A text that may be empty.
pub(super) const ANY_TEXT: Field = Field::of(Shape::Text { is_empty_allowed: true });
const ASPECT: Field = Field::of(Shape::Positive { max: 100.0 });
const SCALE: Field = Field::of(Shape::List { of: &Shape::Scale { min: 0.01, max: 20.0 }, min: 3, max: 3 });

objects! {
    /// One image on the model, in normalised units.
    #[non_exhaustive]
    Decal {
        /// The caller's own.
        id: String = "id", ANY_TEXT.required();
        image: String = "imageAssetId", ANY_TEXT.required();
        /// The middle of the image.
        position: [f64; 3] = "position", VECTOR.required();
        /// Normal of the surface there; zero where it is not known.
        normal: [f64; 3] = "normal", VECTOR.required();
        /// Angles in radians about x, y and z, as three.js' `Euler` of order XYZ.
        euler: [f64; 3] = "euler", VECTOR.required();
        /// The longer side of the image, and how deep it reaches.
        size: f64 = "size", number(1e-6, 100.0).required();
        /// Width by height; `None`: the image's own.
        aspect: Option<f64> = "imageAspect", ASPECT;
        /// The model's scale at which the decal was placed; `None`: the final one.
        placement_scale: Option<[f64; 3]> = "placementScale", SCALE;
    }
}
