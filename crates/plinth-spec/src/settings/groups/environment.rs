//! Settings of image-based lighting.

use crate::named::named;
use crate::settings::declare::objects;
use crate::settings::field::{choice_or_default, color, number, share, text};

named! {
    /// Visibility of the environment.
    EnvironmentMode, default Lighting {
        /// Visible as a dome with a ground that the model stands on.
        Grounded = "grounded",
        /// Not visible. The environment only lights the model.
        Lighting = "lighting",
        /// Visible as a sphere around the model.
        Floating = "floating",
    }
}

objects! {
    /// Settings of image-based lighting.
    #[non_exhaustive]
    Environment {
        id: Option<String> = "envId", text(), "Environment asset that lights the model.";
        rotation_deg: f64 = "envRotation", number(-180.0, 180.0).unit("°").or(0.0), "Rotates the environment about the vertical axis.";
        exposure: f64 = "envExposure", number(0.0156, 4.0).unit("×").or(1.0), "Factor for the light of the environment.";
        mode: EnvironmentMode = "envMode", choice_or_default::<EnvironmentMode>(), "Visibility of the environment: with a ground below the model, only as light, or as a sphere around the model.";
        opacity: f64 = "envOpacity", share().or(1.0), "Opacity of a visible environment in front of the background.";
        blur: f64 = "envBlur", share().or(0.0), "Blur of a visible environment. Its light is not affected.";
        scale: f64 = "envScale", number(0.25, 4.0).unit("×").or(1.0), "Size of the dome of a grounded environment.";
        tint: Option<[u8; 3]> = "envTint", color(), "Colour by which the environment is multiplied.";
        tint_strength: f64 = "envTintStrength", share().or(1.0), "Strength of the tint.";
    }
}
