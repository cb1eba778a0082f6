//! The floor below the model, which shows the model's shadow and reflection.

use plinth_spec::settings::{Shadow, ShadowMode};

/// Settings of a reflecting floor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReflectorLook {
    /// `reflectorMix`: reflectivity where the model touches the floor.
    pub mix: f32,
    /// `reflectorFade`: height above the floor at which the reflection has faded to 1/e, in world units.
    pub fade: f32,
    /// `reflectorDepthBlur`: how much the blur of the reflection increases with the height of the reflected point.
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

/// Settings of the shadow that the key light casts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShadowLook {
    /// `shadowMode`: how the shadow is drawn.
    pub mode: ShadowMode,
    /// `shadowDarkness`: exponent of the light that remains in the shadow. At 0 there is no shadow, and at 1 the floor lacks the
    /// share of the light that is blocked.
    pub darkness: f32,
    /// `shadowSoftness`: from 0 (hard) to 1 (very soft).
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
