//! Settings of the camera motion.

use crate::named::named;
use crate::settings::declare::objects;
use crate::settings::field::{Field, Literal, flag, number, share};
use crate::settings::shape::Shape;

named! {
    /// Camera motion of a video.
    Effect, default Turntable {
        /// One turn around the model.
        Turntable = "turntable",
        /// A fast spin that slows down to a stop.
        HeroSpin = "hero-spin",
        /// A swing of the camera to both sides.
        Showcase = "showcase",
        /// An orbit that moves closer.
        ZoomOrbit = "zoom-orbit",
        /// The model grows while the camera orbits around it.
        Reveal = "reveal",
        /// A custom camera path.
        Keyframes = "keyframes",
    }
}

/// Default of `zoomEnd`.
pub const DEFAULT_ZOOM_END: f64 = 0.7;

/// The value of `effect` that makes the output a dataset.
pub const DATASET_EFFECT: &str = "dataset";

/// Accepted values of `effect`: all effects, and [`DATASET_EFFECT`].
const EFFECT_NAMES: [&str; Effect::NAMES.len() + 1] = {
    let mut names = [DATASET_EFFECT; Effect::NAMES.len() + 1];
    let mut i = 0;
    while i < Effect::NAMES.len() {
        names[i] = Effect::NAMES[i];
        i += 1;
    }
    names
};

const EFFECT: Field =
    Field::of(Shape::Choice { names: &EFFECT_NAMES, legacy: &[] }).or_literal(Literal::Text(Effect::DEFAULT.as_str()));

objects! {
    /// Settings of the camera motion.
    #[non_exhaustive]
    CameraMotion {
        effect: Effect = "effect", EFFECT, "Camera motion. The value `dataset` selects a dataset as output.";
        /// The angle in the request. If the request has none, [`Self::sweep_deg`] returns the default angle of the
        /// effect.
        own_sweep_deg: Option<f64> = "sweepAngle", number(10.0, 1080.0).unit("°"), "Angle that the camera travels. Default: 540 for hero-spin, 180 for reveal, otherwise 360.";
        ease_out_ratio: f64 = "easeOutRatio", share().or(0.6), "Fraction of a hero-spin during which the camera slows down.";
        amplitude_deg: f64 = "amplitude", number(5.0, 180.0).unit("°").or(60.0), "Angle by which the camera swings to each side in a showcase.";
        zoom_start: f64 = "zoomStart", number(0.1, 3.0).unit("×").or(1.0), "Orbit radius at the start of a zoom-orbit.";
        zoom_end: f64 = "zoomEnd", number(0.1, 3.0).unit("×").or(DEFAULT_ZOOM_END), "Orbit radius at the end of a zoom-orbit.";
        scale_from: f64 = "scaleFrom", share().unit("×").or(0.0), "Size of the model at the start of a reveal.";
        easing: bool = "easing", flag(true), "Motions with a start and an end accelerate and slow down smoothly. Paths have `easeInSeconds` and `easeOutSeconds` instead.";
        orbit_start_deg: f64 = "rotateY", number(-180.0, 180.0).unit("°").or(0.0), "Angle at which the camera starts. The model is not rotated. Not with `camera` or `keyframes`.";
        zoom: f64 = "zoom", number(0.5, 2.0).unit("×").or(1.0), "Zoom factor: the distance of the camera is divided by it. Not with `camera` or `keyframes`.";
    }
}

impl CameraMotion {
    /// Returns the angle in degrees that the camera travels: `sweepAngle` or, if it is unset, the default of the
    /// effect.
    pub fn sweep_deg(&self) -> f64 {
        self.own_sweep_deg.unwrap_or(self.effect.sweep_deg())
    }

    /// Returns whether the effect is a turntable that turns by a multiple of 360°. Such a video loops.
    pub fn makes_whole_turns(&self) -> bool {
        let turns = self.sweep_deg() / 360.0;
        self.effect == Effect::Turntable && (turns - turns.round()).abs() < 1e-9 && turns.round() >= 1.0
    }
}

impl Effect {
    /// Returns the angle in degrees that the camera travels by default.
    pub const fn sweep_deg(self) -> f64 {
        match self {
            Self::HeroSpin => 540.0,
            Self::Reveal => 180.0,
            Self::Turntable | Self::Showcase | Self::ZoomOrbit | Self::Keyframes => 360.0,
        }
    }

    /// Returns the index of the frame that the poster shows, in a video of `frames` frames.
    pub const fn poster_frame(self, frames: usize) -> usize {
        match self {
            // The model grows from the first to the last frame.
            Self::Reveal => frames.saturating_sub(1),
            Self::Turntable | Self::HeroSpin | Self::Showcase | Self::ZoomOrbit | Self::Keyframes => 0,
        }
    }
}
