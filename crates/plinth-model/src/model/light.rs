//! Punctual lights.

/// A light of KHR_lights_punctual. Directional lights and spotlights shine along the −Z axis of their node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Light {
    /// The kind of light.
    pub kind: LightKind,
    /// Linear colour of the light.
    pub color: [f32; 3],
    /// Intensity in candela for point lights and spotlights, in lux for directional lights.
    pub intensity: f32,
    /// Distance in metres beyond which the light may be ignored; `None` means no limit.
    pub range: Option<f32>,
}

/// The kinds of lights of KHR_lights_punctual.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LightKind {
    /// A directional light with parallel rays.
    Directional,
    /// A point light that shines in all directions.
    Point,
    /// A spotlight, which shines into a cone.
    Spot {
        /// Angle in radians between the cone's axis and the directions at which the intensity begins to decrease.
        inner_cone_angle: f32,
        /// Angle in radians between the cone's axis and the directions at which the intensity reaches 0.
        outer_cone_angle: f32,
    },
}
