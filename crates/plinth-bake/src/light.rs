//! Light values at a sample point, as used during the bake.

use std::ops::{Add, Mul};

use glam::{Vec3, Vec4};

use crate::gather::GatherResult;
use crate::types::GatheredLight;

/// The light at a sample point, in a form that can be added and scaled, for example to compute means. The fields are
/// those of [`GatheredLight`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct LightValue {
    pub(crate) direct: Vec3,
    pub(crate) indirect: Vec3,
    pub(crate) visibility: Vec4,
    pub(crate) blocked: Vec4,
}

impl LightValue {
    pub(crate) fn new(gathered: &GatherResult, indirect: Vec3, blocked: Vec4) -> Self {
        Self { direct: gathered.direct_share(), indirect, visibility: gathered.visibility, blocked }
    }
}

impl LightValue {
    /// Sets negative components of `direct` and `indirect` to zero. Subtracting light values can make them negative.
    pub(crate) fn non_negative(self) -> Self {
        Self { direct: self.direct.max(Vec3::ZERO), indirect: self.indirect.max(Vec3::ZERO), ..self }
    }
}

impl Add for LightValue {
    type Output = Self;

    fn add(self, o: Self) -> Self {
        Self {
            direct: self.direct + o.direct,
            indirect: self.indirect + o.indirect,
            visibility: self.visibility + o.visibility,
            blocked: self.blocked + o.blocked,
        }
    }
}

impl Mul<f32> for LightValue {
    type Output = Self;

    fn mul(self, factor: f32) -> Self {
        Self {
            direct: self.direct * factor,
            indirect: self.indirect * factor,
            visibility: self.visibility * factor,
            blocked: self.blocked * factor,
        }
    }
}

impl From<LightValue> for GatheredLight {
    fn from(light: LightValue) -> Self {
        Self {
            direct: light.direct,
            indirect: light.indirect,
            visibility: light.visibility.to_array(),
            blocked: light.blocked.to_array(),
        }
    }
}

/// The light at a sample point, and values that decide whether more points are sampled around this point.
#[derive(Clone, Copy)]
pub(crate) struct LitPoint {
    pub(crate) light: LightValue,
    /// Light that was computed with the probe rays, whose directions are the same at all sample points with the same
    /// normal. `None` if the point has not been probed.
    pub(crate) probe: Option<LightValue>,
    /// Irradiance from everything except the `BakeLight`s. The renderer draws the shadows of the `BakeLight`s itself.
    pub(crate) irradiance: Vec3,
    /// Mean of the inverse distances to the occluders.
    pub(crate) mean_inverse_distance: f32,
    /// Whether the sample point is inside a body. The light inside a body differs from the light on the visible
    /// surface.
    pub(crate) inside_body: bool,
    /// Whether a camera sees the sample point.
    pub(crate) seen: bool,
}

impl LitPoint {
    pub(crate) fn new(light: LightValue, gathered: &GatherResult, seen: bool) -> Self {
        let irradiance = gathered.unoccluded * light.direct + light.indirect;
        Self {
            light,
            probe: None,
            irradiance,
            mean_inverse_distance: gathered.mean_inverse_distance,
            inside_body: gathered.is_inside_body(),
            seen,
        }
    }

    /// Returns the light that interpolation gives halfway between two sample points. `irradiance` is the mean of both
    /// irradiances. All other fields are those of `self`.
    pub(crate) fn midpoint(&self, other: &Self) -> Self {
        Self { irradiance: self.irradiance.midpoint(other.irradiance), ..*self }
    }
}
