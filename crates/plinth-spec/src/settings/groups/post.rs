//! Settings of post-processing effects.

use crate::named::named;
use crate::settings::declare::objects;
use crate::settings::field::{choice_or_default, flag, number, share};

named! {
    /// Colour filter of the finished frame.
    Filter, default None {
        /// No filter.
        None = "none",
        /// Brown tones.
        Sepia = "sepia",
        /// Black and white.
        Bw = "bw",
        /// Stronger colours.
        Vivid = "vivid",
        /// Colours shifted to amber.
        Warm = "warm",
        /// Colours shifted to blue.
        Cool = "cool",
        /// Black becomes grey, and colours become pale.
        Faded = "faded",
        /// High-contrast black and white.
        Noir = "noir",
        /// Film grain.
        Grain = "grain",
        /// Banded light and ink outlines.
        Toon = "toon",
    }
}

objects! {
    /// Settings of post-processing effects.
    #[non_exhaustive]
    Post {
        filter: Filter = "filter", choice_or_default::<Filter>(), "Colour filter of the finished picture.";
        bloom_enabled: bool = "bloomEnabled", flag(false), "Bloom, which makes bright parts glow.";
        bloom_strength: f64 = "bloomStrength", number(0.0, 2.0).or(0.5), "Strength of the bloom.";
        dof_enabled: bool = "dofEnabled", flag(false), "Depth of field, which blurs parts in front of the focus and behind it.";
        dof_strength: f64 = "dofStrength", share().or(0.3), "Strength of the blur.";
        occlusion_enabled: bool = "n8aoEnabled", flag(false), "More detailed ambient occlusion, with more rays in crevices and near contacts.";
        occlusion_intensity: f64 = "n8aoIntensity", number(0.5, 32.0).or(1.0), "Strength of ambient occlusion. 1 is physically correct; higher values are darker.";
        sway_enabled: bool = "swayEnabled", flag(false), "The camera sways as if it were held by hand.";
        sway_intensity: f64 = "swayIntensity", number(0.0, 2.0).or(1.0), "Strength of the sway.";
    }
}

impl Post {
    /// Returns `bloomStrength` if bloom is on, otherwise 0.
    pub const fn bloom(&self) -> f64 {
        if self.bloom_enabled { self.bloom_strength } else { 0.0 }
    }

    /// Returns `dofStrength` if depth of field is on, otherwise 0.
    pub const fn depth_of_field(&self) -> f64 {
        if self.dof_enabled { self.dof_strength } else { 0.0 }
    }

    /// Returns `n8aoIntensity` if detailed ambient occlusion is on, otherwise `None`.
    pub const fn occlusion(&self) -> Option<f64> {
        if self.occlusion_enabled { Some(self.occlusion_intensity) } else { None }
    }

    /// Returns `swayIntensity` if sway is on, otherwise 0.
    pub const fn sway(&self) -> f64 {
        if self.sway_enabled { self.sway_intensity } else { 0.0 }
    }
}
