//! Settings of the shadow and the reflection on the floor.

use crate::named::named;
use crate::settings::declare::objects;
use crate::settings::field::{choice_or_default, flag, number, share};

named! {
    /// The method that computes the shadow on the floor.
    ShadowMode, default Shader {
        /// Computed from the shadow map. The shadow gets softer with the distance from the object that casts it.
        Shader = "shader",
        /// A uniform silhouette with a soft edge.
        Flat = "flat",
        /// The mean of many shadows, each cast by another point of the light.
        Accumulated = "accumulated",
    }
}

objects! {
    /// Settings of the shadow and the reflection on the floor.
    #[non_exhaustive]
    Shadow {
        enabled: bool = "shadows", flag(true), "The key light casts a shadow on the model and on the floor, and the sun of the environment casts one on the floor.";
        mode: ShadowMode = "shadowMode", choice_or_default::<ShadowMode>(), "Kind of the key light's shadow: `shader` gets softer with distance, `flat` is a uniform silhouette, `accumulated` is the mean of many shadows.";
        darkness: f64 = "shadowDarkness", number(0.0, 5.0).unit("×").or(1.0), "Darkness of the shadow on the floor. The weaker the key light, the weaker is its shadow.";
        softness: f64 = "shadowSoftness", share().or(0.5), "Softness of the edge of the key light's shadow.";
        has_reflector: bool = "reflector", flag(false), "The floor reflects the model.";
        reflector_mix: f64 = "reflectorMix", share().or(0.5), "Strength of the reflection.";
        reflector_fade: f64 = "reflectorFade", number(0.05, 5.0).or(1.0), "Height above the floor over which the reflection fades.";
        reflector_depth_blur: f64 = "reflectorDepthBlur", number(0.0, 10.0).or(1.0), "Strength with which the blur of the reflection grows with the height above the floor.";
    }
}
