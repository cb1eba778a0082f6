//! Settings of the background.

use crate::limits;
use crate::settings::declare::objects;
use crate::settings::field::{Field, Literal, color, number, share, text};
use crate::settings::shape::Shape;
use crate::wire::Alignment;

/// Alignments of earlier versions, and the alignments that replace them. Earlier versions had nine alignments, but only
/// their horizontal component has an effect.
const NINE_POINTS: &[(&str, &str)] = &[
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

const ALIGN: Field = Field::of(Shape::Choice { names: Alignment::NAMES, legacy: NINE_POINTS })
    .or_literal(Literal::Text(Alignment::DEFAULT.as_str()));
const GRADIENT: Field = Field::of(Shape::Object(Gradient::FIELDS));
const STOPS: Field =
    Field::of(Shape::List { of: &Shape::Object(GradientStop::FIELDS), min: 2, max: limits::GRADIENT_STOPS });

objects! {
    /// One colour of a gradient.
    #[derive(Copy)]
    GradientStop {
        /// Colour in sRGB.
        color: [u8; 3] = "color", color().required();
    }

    /// A linear gradient with evenly spaced colours.
    Gradient {
        stops: Vec<GradientStop> = "stops", STOPS.required();
        /// Direction in degrees, as in CSS: 0 points up, 90 points right.
        angle_deg: f64 = "angle", number(0.0, 359.0).required();
    }

    /// Settings of the background, and the vignette.
    #[non_exhaustive]
    Background {
        color: [u8; 3] = "bgColor", color().or_literal(Literal::Text("#ffffff")), "Colour behind the model.";
        image: Option<String> = "bgImageId", text(), "Overlay image behind the model; overrides bgGradient and bgColor.";
        align: Alignment = "bgAlign", ALIGN, "The part of a background image that remains visible if the image is wider than the picture.";
        gradient: Option<Gradient> = "bgGradient", GRADIENT, "Gradient behind the model: 2 to 8 `stops` of one `color` each and an `angle` (0 upward, 90 to the right); overrides bgColor.";
        vignette: Option<f64> = "vignette", share(), "Darkens the corners.";
    }
}
