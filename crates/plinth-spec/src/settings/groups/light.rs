//! Settings of the lights.

use crate::settings::declare::objects;
use crate::settings::field::{Field, Literal, color, number};

const WHITE: Field = color().or_literal(Literal::Text("#ffffff"));

objects! {
    /// Settings of the lights.
    #[non_exhaustive]
    Light {
        spot: f64 = "spotlightIntensity", number(0.0, 32.0).unit("×").or(1.0), "Intensity of the key spotlight, which casts the shadow.";
        lights: f64 = "lightsIntensity", number(0.0, 32.0).unit("×").or(1.0), "Intensity of the fill and rim lights.";
        ambient: f64 = "ambientIntensity", number(0.0, 16.0).unit("×").or(1.0), "Intensity of the ambient light, a weak light from all directions.";
        gloss: f64 = "glossIntensity", number(0.0, 16.0).unit("×").or(1.0), "Intensity of reflections of the environment.";
        key_color: [u8; 3] = "keyLightColor", WHITE, "Colour of the key spotlight.";
        fill_color: [u8; 3] = "fillLightColor", WHITE, "Colour of the fill and rim lights.";
    }
}
