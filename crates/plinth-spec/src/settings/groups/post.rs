//! Post effects.

use crate::named::named;
use crate::settings::declare::objects;
use crate::settings::field::{choice_or_default, flag, number, share};

named! {
    /// The look of the finished picture.
    Filter, default None {
        /// As rendered.
        None = "none",
        /// Brown tones.
        Sepia = "sepia",
        /// Black and white.
        Bw = "bw",
        /// Stronger colours.
        Vivid = "vivid",
        /// Toward amber.
        Warm = "warm",
        /// Toward blue.
        Cool = "cool",
        /// Lifted blacks, pale colours.
        Faded = "faded",
        /// Hard black and white.
        Noir = "noir",
        /// The grain of film.
        Grain = "grain",
        /// Banded light and ink outlines.
        Toon = "toon",
    }
}

objects! {
    /// Post effects.
    #[non_exhaustive]
    Post {
        filter: Filter = "filter", choice_or_default::<Filter>(), "Look of the finished picture.";
        bloom_enabled: bool = "bloomEnabled", flag(false), "Bright parts glow.";
        bloom_strength: f64 = "bloomStrength", number(0.0, 2.0).or(0.5), "How much they glow.";
        dof_enabled: bool = "dofEnabled", flag(false), "Depth of field.";
        dof_strength: f64 = "dofStrength", share().or(0.3), "How shallow it is.";
        occlusion_enabled: bool = "n8aoEnabled", flag(false), "Finer shading of crevices and contacts, cast as rays.";
        occlusion_intensity: f64 = "n8aoIntensity", number(0.5, 32.0).or(1.0), "How often it counts: 1 is as in nature, more is darker.";
        sway_enabled: bool = "swayEnabled", flag(false), "The camera moves as if held by hand.";
        sway_intensity: f64 = "swayIntensity", number(0.0, 2.0).or(1.0), "How much it moves.";
    }
}

impl Post {
    /// `bloomStrength` where bloom is on, else 0.
    pub const fn bloom(&self) -> f64 {
        if self.bloom_enabled { self.bloom_strength } else { 0.0 }
    }

    /// `dofStrength` where depth of field is on, else 0.
    pub const fn depth_of_field(&self) -> f64 {
        if self.dof_enabled { self.dof_strength } else { 0.0 }
    }

    /// `n8aoIntensity` where ambient occlusion is on.
    pub const fn occlusion(&self) -> Option<f64> {
        if self.occlusion_enabled { Some(self.occlusion_intensity) } else { None }
    }

    /// `swayIntensity` where sway is on, else 0.
    pub const fn sway(&self) -> f64 {
        if self.sway_enabled { self.sway_intensity } else { 0.0 }
    }
}
