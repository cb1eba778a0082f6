//! The built-in environment: a neutral photo studio.

use glam::Vec3;
use rayon::prelude::*;

use super::EnvironmentMap;

const WIDTH: u32 = 512;
const HEIGHT: u32 = 256;

/// A soft box: a rectangular light in a plane that touches the unit sphere around the model.
struct SoftBox {
    toward: Vec3,
    /// Half the width and half the height, given as tangents of the angles that they cover.
    half: (f32, f32),
    /// Width of the soft edge, as the tangent of an angle.
    edge: f32,
    radiance: f32,
}

/// Returns a neutral photo studio. It has grey walls, a dim floor, a large light overhead, strip lights on the left and
/// right, a light behind the model and a small light in front of it.
pub fn studio() -> EnvironmentMap {
    let boxes = [
        SoftBox { toward: Vec3::new(-0.25, 1.0, 0.3), half: (0.62, 0.42), edge: 0.14, radiance: 2.0 },
        SoftBox { toward: Vec3::new(-1.0, 0.3, 0.4), half: (0.16, 0.75), edge: 0.06, radiance: 2.6 },
        SoftBox { toward: Vec3::new(1.0, 0.25, 0.15), half: (0.13, 0.8), edge: 0.06, radiance: 2.2 },
        SoftBox { toward: Vec3::new(0.4, 0.3, -1.0), half: (0.35, 0.3), edge: 0.12, radiance: 1.6 },
        SoftBox { toward: Vec3::new(0.15, 0.35, 1.0), half: (0.3, 0.2), edge: 0.14, radiance: 0.9 },
    ];
    let empty = EnvironmentMap { width: WIDTH, height: HEIGHT, pixels: Vec::new() };
    let pixels = (0..WIDTH * HEIGHT)
        .into_par_iter()
        .with_min_len(WIDTH as usize)
        .map(|i| {
            let d = empty.direction(i % WIDTH, i / WIDTH);
            let walls = 0.20 + 0.09 * d.y + 0.06 * smooth(-0.6, 0.2, d.y);
            [boxes.iter().fold(walls, |under, one| one.over(d, under)); 3]
        })
        .collect();
    EnvironmentMap { pixels, ..empty }
}

impl SoftBox {
    fn over(&self, d: Vec3, under: f32) -> f32 {
        let n = self.toward.normalize();
        let facing = d.dot(n);
        if facing <= 1e-3 {
            return under;
        }
        let across = n.cross(Vec3::new(0.0, 1.0, 0.01)).normalize();
        let up = across.cross(n);
        let inside = |extent: f32, half: f32| 1.0 - smooth(half - self.edge, half + self.edge, extent.abs() / facing);
        let mix = inside(d.dot(across), self.half.0) * inside(d.dot(up), self.half.1);
        under + (self.radiance - under) * mix
    }
}

fn smooth(from: f32, to: f32, x: f32) -> f32 {
    let t = ((x - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}
