//! Image-based light.

use crate::named::named;
use crate::settings::declare::objects;
use crate::settings::field::{choice_or_default, color, number, share, text};

named! {
    /// How an environment is seen.
    EnvironmentMode, default Lighting {
        /// As a dome with a ground that the model stands on.
        Grounded = "grounded",
        /// Not at all: it lights the model.
        Lighting = "lighting",
        /// As a sphere around the model.
        Floating = "floating",
    }
}

objects! {
    /// Image-based light.
    #[non_exhaustive]
    Environment {
        id: Option<String> = "envId", text(), "Environment asset that lights the model.";
        rotation_deg: f64 = "envRotation", number(-180.0, 180.0).unit("°").or(0.0), "Turns the environment about the vertical.";
        exposure: f64 = "envExposure", number(0.0156, 4.0).unit("×").or(1.0), "Multiplies the environment's light.";
        mode: EnvironmentMode = "envMode", choice_or_default::<EnvironmentMode>(), "Whether the environment is seen: as light only, as a sphere around, or with a ground under the model.";
        opacity: f64 = "envOpacity", share().or(1.0), "Fades a visible environment over the background.";
        blur: f64 = "envBlur", share().or(0.0), "Blurs a visible environment, not its light.";
        scale: f64 = "envScale", number(0.25, 4.0).unit("×").or(1.0), "Size of the grounded dome.";
        tint: Option<[u8; 3]> = "envTint", color(), "Colour that multiplies the environment.";
        tint_strength: f64 = "envTintStrength", share().or(1.0), "How much of the tint applies.";
    }
}
