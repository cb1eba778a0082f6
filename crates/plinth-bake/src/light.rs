//! Light at one place, as it is known during the bake.

use std::ops::{Add, Mul};

use glam::{Vec3, Vec4};

use crate::gather::Gathered;
use crate::types::GatheredLight;

/// Sums of light, for means.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Light {
    pub(crate) direct: Vec3,
    pub(crate) indirect: Vec3,
    pub(crate) visibility: Vec4,
    pub(crate) blocked: Vec4,
}

impl Light {
    pub(crate) fn new(gathered: &Gathered, indirect: Vec3, blocked: Vec4) -> Self {
        Self { direct: gathered.direct_share(), indirect, visibility: gathered.visibility, blocked }
    }
}

impl Light {
    /// Without the negative values that differences may leave.
    pub(crate) fn at_least_none(self) -> Self {
        Self { direct: self.direct.max(Vec3::ZERO), indirect: self.indirect.max(Vec3::ZERO), ..self }
    }
}

impl Add for Light {
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

impl Mul<f32> for Light {
    type Output = Self;

    fn mul(self, by: f32) -> Self {
        Self {
            direct: self.direct * by,
            indirect: self.indirect * by,
            visibility: self.visibility * by,
            blocked: self.blocked * by,
        }
    }
}

impl From<Light> for GatheredLight {
    fn from(light: Light) -> Self {
        Self {
            direct: light.direct,
            indirect: light.indirect,
            visibility: light.visibility.to_array(),
            blocked: light.blocked.to_array(),
        }
    }
}

/// The light of a place, and what decides whether its neighbourhood is looked at more closely.
#[derive(Clone, Copy)]
pub(crate) struct Lit {
    pub(crate) light: Light,
    /// What the rays have found that are the same at all places of equal normal.
    pub(crate) probe: Option<Light>,
    /// All irradiance but that of lights with a direction, whose shadows are drawn.
    pub(crate) irradiance: Vec3,
    /// Mean of the inverse distance to what blocks light.
    pub(crate) nearness: f32,
    /// Whether the place is inside of a body: what is known of it is not what its surface shows.
    pub(crate) inside: bool,
    /// Whether a camera sees it.
    pub(crate) seen: bool,
}

impl Lit {
    pub(crate) fn new(light: Light, gathered: &Gathered, seen: bool) -> Self {
        let irradiance = gathered.open * light.direct + light.indirect;
        Self { light, probe: None, irradiance, nearness: gathered.nearness, inside: gathered.is_inside(), seen }
    }

    /// What is expected in the middle of two places.
    pub(crate) fn between(&self, other: &Self) -> Self {
        Self { irradiance: self.irradiance.midpoint(other.irradiance), ..*self }
    }
}
