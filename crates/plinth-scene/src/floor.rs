//! What the floor shows of the model: its shadow and its mirror image.

use plinth_spec::settings::{Shadow, ShadowMode};

/// How a mirroring floor looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReflectorLook {
    /// `reflectorMix`: share of light that is mirrored where the model touches the floor.
    pub mix: f32,
    /// `reflectorFade`: height above the floor, in world units, of what is mirrored with 1/e of that.
    pub fade: f32,
    /// `reflectorDepthBlur`: how much it blurs with that height.
    pub depth_blur: f32,
}

impl ReflectorLook {
    /// What the settings ask for; `None` where the floor does not mirror.
    pub(crate) fn of(settings: &Shadow) -> Option<Self> {
        settings.has_reflector.then_some(Self {
            mix: settings.reflector_mix as f32,
            fade: settings.reflector_fade as f32,
            depth_blur: settings.reflector_depth_blur as f32,
        })
    }
}

/// How the key light's shadow looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShadowLook {
    /// `shadowMode`.
    pub mode: ShadowMode,
    /// `shadowDarkness`: 0 none, 1 as lit, more is darker.
    pub darkness: f32,
    /// `shadowSoftness`, 0..=1: 0 hard, 1 very soft.
    pub softness: f32,
}

impl ShadowLook {
    /// What the settings ask for; `None` where there are no shadows.
    pub(crate) fn of(settings: &Shadow) -> Option<Self> {
        settings.enabled.then_some(Self {
            mode: settings.mode,
            darkness: settings.darkness as f32,
            softness: settings.softness as f32,
        })
    }
}
