//! The floor below the model, which shows its shadow and its reflection.

use plinth_spec::settings::{Shadow, ShadowMode};

/// Settings of a reflecting floor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReflectorLook {
    /// `reflectorMix`: reflectivity where the model touches the floor.
    pub mix: f32,
    /// `reflectorFade`: height above the floor, in world units, at which the reflection has faded to 1/e.
    pub fade: f32,
    /// `reflectorDepthBlur`: how strongly the reflection blurs with the height of the reflected point.
    pub depth_blur: f32,
}

impl ReflectorLook {
    /// The reflector of the settings; `None` if it is off.
    pub(crate) fn of(settings: &Shadow) -> Option<Self> {
        settings.has_reflector.then_some(Self {
            mix: settings.reflector_mix as f32,
            fade: settings.reflector_fade as f32,
            depth_blur: settings.reflector_depth_blur as f32,
        })
    }
}

/// Settings of the key light's shadow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShadowLook {
    /// `shadowMode`.
    pub mode: ShadowMode,
    /// `shadowDarkness`: 0 hides the shadow, 1 is physically correct, more is darker.
    pub darkness: f32,
    /// `shadowSoftness`, 0..=1: 0 hard, 1 very soft.
    pub softness: f32,
}

impl ShadowLook {
    /// The shadow of the settings; `None` if shadows are off.
    pub(crate) fn of(settings: &Shadow) -> Option<Self> {
        settings.enabled.then_some(Self {
            mode: settings.mode,
            darkness: settings.darkness as f32,
            softness: settings.softness as f32,
        })
    }
}
