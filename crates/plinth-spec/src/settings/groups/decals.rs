//! `decals`: images that are projected onto the model.

use super::path::VECTOR;
use crate::settings::declare::objects;
use crate::settings::field::{Field, number};
use crate::settings::shape::Shape;

/// A string that may be empty.
pub(super) const ANY_TEXT: Field = Field::of(Shape::Text { is_empty_allowed: true });
const ASPECT: Field = Field::of(Shape::Positive { max: 100.0 });
const SCALE: Field = Field::of(Shape::List { of: &Shape::Scale { min: 0.01, max: 20.0 }, min: 3, max: 3 });

objects! {
    /// An image that is projected onto the model. Lengths are in normalised units.
    #[non_exhaustive]
    Decal {
        /// Identifier that the client chooses.
        id: String = "id", ANY_TEXT.required();
        image: String = "imageAssetId", ANY_TEXT.required();
        /// Position of the centre of the image.
        position: [f64; 3] = "position", VECTOR.required();
        /// Normal of the surface at the centre of the image. It is zero if the normal is unknown.
        normal: [f64; 3] = "normal", VECTOR.required();
        /// Rotation as angles in radians about x, y and z. The angles have the same meaning as in the class `Euler` of
        /// three.js with the order XYZ.
        euler: [f64; 3] = "euler", VECTOR.required();
        /// Length of the longer side of the image. The projection reaches half this length above and below the surface.
        size: f64 = "size", number(1e-6, 100.0).required();
        /// Width divided by height. `None` uses the aspect ratio of the image file.
        aspect: Option<f64> = "imageAspect", ASPECT;
        /// Scale of the model at the time when the decal was placed. `None` uses the scale in the render settings.
        placement_scale: Option<[f64; 3]> = "placementScale", SCALE;
    }
}
