//! The built-in environment: a neutral photo studio.

use glam::Vec3;
use rayon::prelude::*;

use super::EnvironmentMap;

const WIDTH: u32 = 512;
const HEIGHT: u32 = 256;

/// A soft box: a rectangular light in a plane that touches the unit sphere around the model.
struct SoftBox {
    /// Direction of the centre. `across` and `up` are the directions of the sides. All three are unit vectors.
    toward: Vec3,
    across: Vec3,
    up: Vec3,
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
        SoftBox::new(Vec3::new(-0.25, 1.0, 0.3), (0.62, 0.42), 0.14, 2.0),
        SoftBox::new(Vec3::new(-1.0, 0.3, 0.4), (0.16, 0.75), 0.06, 2.6),
        SoftBox::new(Vec3::new(1.0, 0.25, 0.15), (0.13, 0.8), 0.06, 2.2),
        SoftBox::new(Vec3::new(0.4, 0.3, -1.0), (0.35, 0.3), 0.12, 1.6),
        SoftBox::new(Vec3::new(0.15, 0.35, 1.0), (0.3, 0.2), 0.14, 0.9),
    ];
    let empty = EnvironmentMap { width: WIDTH, height: HEIGHT, pixels: Vec::new() };
    let directions = empty.directions();
    let color = |d: Vec3| {
        let walls = 0.20 + 0.09 * d.y + 0.06 * smooth(-0.6, 0.2, d.y);
        [boxes.iter().fold(walls, |under, one| one.over(d, under)); 3]
    };
    let pixels = (0..HEIGHT).into_par_iter().flat_map_iter(|row| directions.of_row(row).map(color)).collect();
    EnvironmentMap { pixels, ..empty }
}

impl SoftBox {
    fn new(toward: Vec3, half: (f32, f32), edge: f32, radiance: f32) -> Self {
        let toward = toward.normalize();
        let across = toward.cross(Vec3::new(0.0, 1.0, 0.01)).normalize();
        Self { toward, across, up: across.cross(toward), half, edge, radiance }
    }

    fn over(&self, d: Vec3, under: f32) -> f32 {
        let facing = d.dot(self.toward);
        if facing <= 1e-3 {
            return under;
        }
        let inside = |extent: f32, half: f32| 1.0 - smooth(half - self.edge, half + self.edge, extent.abs() / facing);
        let mix = inside(d.dot(self.across), self.half.0) * inside(d.dot(self.up), self.half.1);
        under + (self.radiance - under) * mix
    }
}

fn smooth(from: f32, to: f32, x: f32) -> f32 {
    let t = ((x - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}
