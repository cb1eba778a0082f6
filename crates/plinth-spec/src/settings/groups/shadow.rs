//! Shadow and reflection on the floor.

use crate::named::named;
use crate::settings::declare::objects;
use crate::settings::field::{choice_or_default, flag, number, share};

named! {
    /// How the shadow on the floor is made.
    ShadowMode, default Shader {
        /// From the shadow map, softer with the distance from what casts it.
        Shader = "shader",
        /// An even silhouette with a soft edge.
        Flat = "flat",
        /// The mean of many shadows from all over the lamp.
        Accumulated = "accumulated",
    }
}

objects! {
    /// Shadow and reflection on the floor.
    #[non_exhaustive]
    Shadow {
        enabled: bool = "shadows", flag(true), "The key light casts a shadow on the model and a floor.";
        mode: ShadowMode = "shadowMode", choice_or_default::<ShadowMode>(), "How the shadow is made.";
        darkness: f64 = "shadowDarkness", number(0.0, 5.0).unit("×").or(1.0), "How dark the shadow is.";
        softness: f64 = "shadowSoftness", share().or(0.5), "How soft its edge is.";
        has_reflector: bool = "reflector", flag(false), "The floor mirrors the model.";
        reflector_mix: f64 = "reflectorMix", share().or(0.5), "Strength of the mirror image.";
        reflector_fade: f64 = "reflectorFade", number(0.05, 5.0).or(1.0), "How soon the mirror image fades.";
        reflector_depth_blur: f64 = "reflectorDepthBlur", number(0.0, 10.0).or(1.0), "How much it blurs with distance.";
    }
}
