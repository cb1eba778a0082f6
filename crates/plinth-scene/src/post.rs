//! What happens to the finished picture.

use plinth_spec::settings::{Filter, RenderSettings};

/// What happens to the finished picture. Nothing, by default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PostLook {
    /// `filter`.
    pub filter: Filter,
    /// `vignette`: share of light that the corners lose.
    pub vignette: f32,
    /// `bloomStrength`: share of the light of what shines that is spread around it; 0 is off.
    pub bloom: f32,
    /// Diameter of the lens' aperture in world units; 0: everything is sharp.
    pub aperture: f32,
}

/// Diameter of the aperture at `dofStrength` 1, in world units: the model spans 2.
const WIDEST_APERTURE: f64 = 0.5;

impl PostLook {
    /// What the settings ask for.
    pub(crate) fn of(settings: &RenderSettings) -> Self {
        let post = settings.post();
        Self {
            filter: post.filter,
            vignette: settings.background().vignette.unwrap_or(0.0) as f32,
            bloom: post.bloom() as f32,
            aperture: (post.depth_of_field() * WIDEST_APERTURE) as f32,
        }
    }

    /// The picture is finished as it is.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Every colour of the picture may become another.
    pub fn changes_colors(&self) -> bool {
        self.filter != Filter::None || self.vignette > 0.0
    }

    /// Pixels far from the model may change.
    pub fn reaches_everywhere(&self) -> bool {
        self.changes_colors() || self.bloom > 0.0
    }

    /// What of it changes a colour into another, alike in every view and at every pixel.
    #[must_use]
    pub fn of_colors_only(self) -> Self {
        let filter = match self.filter {
            Filter::Grain | Filter::Toon => Filter::None,
            other => other,
        };
        Self { filter, ..Self::default() }
    }

    /// Where surfaces are has to be known.
    pub fn needs_surfaces(&self) -> bool {
        self.aperture > 0.0 || self.filter == Filter::Toon
    }
}
