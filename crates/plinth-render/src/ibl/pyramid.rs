//! A panorama with its mip levels, read by direction and solid angle.

use std::f32::consts::{PI, TAU};

use glam::Vec3;
use plinth_scene::EnvironmentMap;
use rayon::prelude::*;

/// A panorama and its successive halvings.
pub(crate) struct Pyramid {
    levels: Vec<Level>,
}

struct Level {
    width: usize,
    height: usize,
    pixels: Vec<Vec3>,
}

impl Pyramid {
    /// Averages down to a few texels; rows are weighted by the solid angle they cover.
    pub(crate) fn new(map: &EnvironmentMap) -> Self {
        let mut levels = vec![Level {
            width: map.width as usize,
            height: map.height as usize,
            pixels: map.pixels.iter().map(|p| Vec3::from(*p)).collect(),
        }];
        while let Some(last) = levels.last().filter(|last| last.width > 8 && last.height > 4) {
            let next = halve(last);
            levels.push(next);
        }
        Self { levels }
    }

    /// Radiance around a direction over a solid angle in steradians.
    pub(crate) fn sample(&self, direction: Vec3, solid_angle: f32) -> Vec3 {
        let base = &self.levels[0];
        let texel = 4.0 * PI / (base.width * base.height) as f32;
        let lod = (0.5 * (solid_angle / texel).max(1.0).log2()).min((self.levels.len() - 1) as f32);
        let low = lod.floor();
        let (a, b) = (low as usize, (low as usize + 1).min(self.levels.len() - 1));
        let near = self.levels[a].bilinear(direction);
        if a == b { near } else { near.lerp(self.levels[b].bilinear(direction), lod - low) }
    }
}

impl Level {
    fn bilinear(&self, d: Vec3) -> Vec3 {
        let u = d.z.atan2(d.x) / TAU + 0.5;
        let v = d.y.clamp(-1.0, 1.0).acos() / PI;
        let x = u * self.width as f32 - 0.5;
        let y = (v * self.height as f32 - 0.5).clamp(0.0, (self.height - 1) as f32);
        let (x0, y0) = (x.floor(), y.floor());
        let (fx, fy) = (x - x0, y - y0);
        let column = |i: f32| (i.rem_euclid(self.width as f32) as usize).min(self.width - 1);
        let (left, right) = (column(x0), column(x0 + 1.0));
        let (top, bottom) = (y0 as usize, (y0 as usize + 1).min(self.height - 1));
        let at = |x: usize, y: usize| self.pixels[y * self.width + x];
        let upper = at(left, top).lerp(at(right, top), fx);
        let lower = at(left, bottom).lerp(at(right, bottom), fx);
        upper.lerp(lower, fy)
    }
}

fn halve(above: &Level) -> Level {
    let (width, height) = (above.width / 2, above.height / 2);
    let weight = |row: usize| ((row as f32 + 0.5) / above.height as f32 * PI).sin();
    let pixels = (0..height)
        .into_par_iter()
        .flat_map_iter(|y| {
            let (y0, y1) = (2 * y, 2 * y + 1);
            let (w0, w1) = (weight(y0), weight(y1));
            (0..width).map(move |x| {
                let pair =
                    |row: usize| above.pixels[row * above.width + 2 * x] + above.pixels[row * above.width + 2 * x + 1];
                (pair(y0) * w0 + pair(y1) * w1) / (2.0 * (w0 + w1))
            })
        })
        .collect();
    Level { width, height, pixels }
}
