//! A panorama with mip levels, which can be sampled by a direction and a solid angle.

use std::f32::consts::{PI, TAU};

use glam::{Vec2, Vec3};
use plinth_scene::EnvironmentMap;
use rayon::prelude::*;

/// A panorama and its mip levels. Each level has half the size of the previous one.
pub(crate) struct Pyramid {
    levels: Vec<Level>,
}

struct Level {
    width: usize,
    height: usize,
    pixels: Vec<Vec3>,
}

impl Pyramid {
    /// Computes the mip levels, the smallest of which has only a few texels. Rows are weighted by their solid angle.
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

    /// Returns the mip level whose texels have this solid angle in steradians. The level can be fractional.
    pub(crate) fn level_of(&self, solid_angle: f32) -> f32 {
        let base = &self.levels[0];
        let texel = 4.0 * PI / (base.width * base.height) as f32;
        (0.5 * (solid_angle / texel).max(1.0).log2()).min((self.levels.len() - 1) as f32)
    }

    /// Returns the radiance around a direction at a fractional mip level.
    pub(crate) fn sample(&self, direction: Vec3, level: f32) -> Vec3 {
        let at = Vec2::new(direction.z.atan2(direction.x) / TAU + 0.5, direction.y.clamp(-1.0, 1.0).acos() / PI);
        let low = (level as usize).min(self.levels.len() - 1);
        let near = self.levels[low].bilinear(at);
        match self.levels.get(low + 1) {
            Some(next) => near.lerp(next.bilinear(at), level - low as f32),
            None => near,
        }
    }
}

impl Level {
    /// Returns the bilinearly interpolated value at a position in 0..1. The left and right edges are adjacent.
    fn bilinear(&self, at: Vec2) -> Vec3 {
        // The offset of half a texel keeps the coordinate positive, so that the conversion to an integer rounds down.
        let x = at.x * self.width as f32 + 0.5;
        let y = (at.y * self.height as f32 - 0.5).clamp(0.0, (self.height - 1) as f32);
        let (x0, y0) = (x as usize, y as usize);
        let (fx, fy) = (x - x0 as f32, y - y0 as f32);
        let column = |i: usize| if i >= self.width { i - self.width } else { i };
        let (left, right) = (column(x0 + self.width - 1), column(x0));
        let below = (y0 + 1).min(self.height - 1);
        let at = |x: usize, y: usize| self.pixels[y * self.width + x];
        let upper = at(left, y0).lerp(at(right, y0), fx);
        let lower = at(left, below).lerp(at(right, below), fx);
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
