//! Settings of the post-processing effects of a scene.

use plinth_spec::settings::{Filter, RenderSettings};

/// Settings of the post-processing effects. By default, there are no effects.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PostLook {
    /// `filter`: the colour filter.
    pub filter: Filter,
    /// `vignette`: fraction by which the corners are darkened.
    pub vignette: f32,
    /// `bloomStrength`: fraction of the light of bright surfaces that bloom spreads around them; 0 means no bloom.
    pub bloom: f32,
    /// Diameter of the lens aperture in world units; 0 means that everything is in focus.
    pub aperture: f32,
}

/// Diameter of the lens aperture at `dofStrength` 1, in world units. The model spans 2 units.
const WIDEST_APERTURE: f64 = 0.5;

impl PostLook {
    /// Returns the post-processing effects that the settings select.
    pub(crate) fn of(settings: &RenderSettings) -> Self {
        let post = settings.post();
        Self {
            filter: post.filter,
            vignette: settings.background().vignette.unwrap_or(0.0) as f32,
            bloom: post.bloom() as f32,
            aperture: (post.depth_of_field() * WIDEST_APERTURE) as f32,
        }
    }

    /// Returns whether there are no post-processing effects.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether a filter or a vignette changes the colours of the frame.
    pub fn changes_colors(&self) -> bool {
        self.filter != Filter::None || self.vignette > 0.0
    }

    /// Returns whether the effects can change pixels that are far from the model.
    pub fn reaches_everywhere(&self) -> bool {
        self.changes_colors() || self.bloom > 0.0
    }

    /// Returns only the effects that map a pixel's colour to another colour, independently of the camera and of the
    /// position of the pixel.
    #[must_use]
    pub fn of_colors_only(self) -> Self {
        let filter = match self.filter {
            Filter::Grain | Filter::Toon => Filter::None,
            other => other,
        };
        Self { filter, ..Self::default() }
    }

    /// Returns only the effects that map a pixel's colour to another colour, independently of the camera. These effects
    /// may depend on the position of the pixel.
    #[must_use]
    pub(crate) fn of_colors_and_places(self) -> Self {
        Self { vignette: self.vignette, ..self.of_colors_only() }
    }

    /// Returns whether the effects need the depth of surfaces.
    pub fn needs_surfaces(&self) -> bool {
        self.aperture > 0.0 || self.filter == Filter::Toon
    }
}
