//! The environment as rays look it up: an octahedral map (Cigolle et al. 2014), which needs no inverse trigonometry,
//! as fine as light from wide angles needs.

use glam::Vec3;
use plinth_scene::EnvironmentMap;

/// Texels along a side: about three degrees each.
const SIDE: usize = 64;
/// Columns of the panorama that texels are read from.
const PANORAMA_WIDTH: u32 = 128;

/// Radiance by direction.
pub(crate) struct Sky {
    texels: Vec<Vec3>,
}

impl Sky {
    pub(crate) fn new(map: &EnvironmentMap) -> Self {
        let panorama = reduced(map);
        let at = |i: usize| (i as f32 + 0.5) / SIDE as f32;
        let texels = (0..SIDE * SIDE).map(|i| panorama.radiance(direction(at(i % SIDE), at(i / SIDE)))).collect();
        Self { texels }
    }

    /// Radiance from a unit direction.
    pub(crate) fn radiance(&self, d: Vec3) -> Vec3 {
        let flat = d / (d.x.abs() + d.y.abs() + d.z.abs());
        let (x, z) = if flat.y < 0.0 {
            ((1.0 - flat.z.abs()).copysign(flat.x), (1.0 - flat.x.abs()).copysign(flat.z))
        } else {
            (flat.x, flat.z)
        };
        let texel = |c: f32| (((c * 0.5 + 0.5) * SIDE as f32) as usize).min(SIDE - 1);
        self.texels[texel(z) * SIDE + texel(x)]
    }
}

/// The unit direction of a point of the map, 0..1; +Y is the middle, −Y the corners.
fn direction(u: f32, v: f32) -> Vec3 {
    let (x, z) = (2.0 * u - 1.0, 2.0 * v - 1.0);
    let y = 1.0 - x.abs() - z.abs();
    let fold = (-y).max(0.0);
    Vec3::new(x - fold.copysign(x), y, z - fold.copysign(z)).normalize()
}

/// Averaged down to what wide angles need.
fn reduced(map: &EnvironmentMap) -> EnvironmentMap {
    let factor = (map.width / PANORAMA_WIDTH).max(1);
    if factor == 1 || map.height < factor {
        return map.clone();
    }
    let (width, height) = (map.width / factor, map.height / factor);
    let pixels = (0..width * height)
        .map(|i| {
            let (x0, y0) = (i % width * factor, i / width * factor);
            let mut sum = Vec3::ZERO;
            for y in y0..y0 + factor {
                for x in x0..x0 + factor {
                    sum += Vec3::from(map.pixels[(y * map.width + x) as usize]);
                }
            }
            (sum / (factor * factor) as f32).to_array()
        })
        .collect();
    EnvironmentMap { width, height, pixels }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn light_is_found_in_its_direction() {
        let mut map = EnvironmentMap { width: 256, height: 128, pixels: vec![[0.0; 3]; 256 * 128] };
        for i in 0..256 * 128 {
            let d = map.direction(i % 256, i / 256);
            map.pixels[i as usize] = (d * 0.5 + Vec3::splat(0.5)).to_array();
        }
        let sky = Sky::new(&map);
        for i in 0..500 {
            let (y, angle) = (1.0 - (i as f32 + 0.5) / 250.0, i as f32 * 2.4);
            let around = (1.0_f32 - y * y).sqrt();
            let d = Vec3::new(around * angle.cos(), y, around * angle.sin());
            let error = (sky.radiance(d) - (d * 0.5 + Vec3::splat(0.5))).abs().max_element();
            assert!(error < 0.03, "{d}: {error}");
        }
    }
}
