//! The floor below the model, which shows the model's shadow and reflection.

use plinth_spec::settings::{Shadow, ShadowMode};

/// Settings of a reflecting floor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReflectorLook {
    /// `reflectorMix`: reflectivity where the model touches the floor.
    pub mix: f32,
    /// `reflectorFade`: height in world units at which the reflection of a point has faded to 1/e.
    pub fade: f32,
    /// `reflectorDepthBlur`: how much the blur of the reflection increases with the height of the reflected point above
    /// the floor.
    pub depth_blur: f32,
}

impl ReflectorLook {
    /// Returns the reflector of the settings, or `None` if it is off.
    pub(crate) fn of(settings: &Shadow) -> Option<Self> {
        settings.has_reflector.then_some(Self {
            mix: settings.reflector_mix as f32,
            fade: settings.reflector_fade as f32,
            depth_blur: settings.reflector_depth_blur as f32,
        })
    }
}

/// Settings of the shadows on the floor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShadowLook {
    /// `shadowMode`: how the shadow of the key light is drawn.
    pub mode: ShadowMode,
    /// `shadowDarkness`: exponent that is applied to the fraction of light that remains in the shadow. At 0 there is no
    /// shadow. At 1, the floor loses exactly the fraction of its light that the model blocks.
    pub darkness: f32,
    /// `shadowSoftness`: softness of the key light's shadow, from 0 (hard) to 1 (very soft).
    pub softness: f32,
}

impl ShadowLook {
    /// Returns the shadow of the settings, or `None` if shadows are off.
    pub(crate) fn of(settings: &Shadow) -> Option<Self> {
        settings.enabled.then_some(Self {
            mode: settings.mode,
            darkness: settings.darkness as f32,
            softness: settings.softness as f32,
        })
    }
}
