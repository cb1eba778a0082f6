//! Decodes the lights of KHR_lights_punctual.

use crate::error::{ModelError, Result};
use crate::model::{Light, LightKind};
use crate::source::Source;

/// Decodes all lights of the document.
pub(crate) fn lights(source: &Source<'_>) -> Result<Vec<Light>> {
    let Some(list) = &source.root.extensions.lights else { return Ok(Vec::new()) };
    list.lights
        .iter()
        .enumerate()
        .map(|(i, light)| {
            let kind = match light.kind.as_str() {
                "directional" => LightKind::Directional,
                "point" => LightKind::Point,
                "spot" => {
                    let spot = light.spot.as_ref();
                    let outer = spot.map_or(std::f32::consts::FRAC_PI_4, |s| s.outer_cone_angle).clamp(1e-3, 1.5607);
                    let inner = spot.map_or(0.0, |s| s.inner_cone_angle).clamp(0.0, outer);
                    LightKind::Spot { inner_cone_angle: inner, outer_cone_angle: outer }
                }
                other => {
                    let kind = crate::source::shortened(other);
                    return Err(ModelError::invalid(format!("lights[{i}]"), format!("unknown type '{kind}'")));
                }
            };
            Ok(Light {
                kind,
                color: light.color.map(|c| c.max(0.0)),
                intensity: light.intensity.max(0.0),
                range: light.range.filter(|r| *r > 0.0),
            })
        })
        .collect()
}
