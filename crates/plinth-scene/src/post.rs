//! Post-processing settings of a scene.

use plinth_spec::settings::{Filter, RenderSettings};

/// Post-processing effects of a frame. The default has none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PostLook {
    /// `filter`: the colour filter.
    pub filter: Filter,
    /// `vignette`: fraction by which the corners are darkened.
    pub vignette: f32,
    /// `bloomStrength`: fraction of the light of bright surfaces that is spread around them; 0 is off.
    pub bloom: f32,
    /// Diameter of the lens aperture in world units; 0 means that everything is in focus.
    pub aperture: f32,
}

/// Diameter of the aperture at `dofStrength` 1, in world units (the model spans 2).
const WIDEST_APERTURE: f64 = 0.5;

impl PostLook {
    /// The effects that the settings ask for.
    pub(crate) fn of(settings: &RenderSettings) -> Self {
        let post = settings.post();
        Self {
            filter: post.filter,
            vignette: settings.background().vignette.unwrap_or(0.0) as f32,
            bloom: post.bloom() as f32,
            aperture: (post.depth_of_field() * WIDEST_APERTURE) as f32,
        }
    }

    /// Whether there are no effects at all.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the colour of any pixel can change.
    pub fn changes_colors(&self) -> bool {
        self.filter != Filter::None || self.vignette > 0.0
    }

    /// Whether pixels far from the model can change.
    pub fn reaches_everywhere(&self) -> bool {
        self.changes_colors() || self.bloom > 0.0
    }

    /// Only those effects that map each colour to another, alike in every view and at every pixel.
    #[must_use]
    pub fn of_colors_only(self) -> Self {
        let filter = match self.filter {
            Filter::Grain | Filter::Toon => Filter::None,
            other => other,
        };
        Self { filter, ..Self::default() }
    }

    /// Whether the effects need the depth of surfaces.
    pub fn needs_surfaces(&self) -> bool {
        self.aperture > 0.0 || self.filter == Filter::Toon
    }
}
