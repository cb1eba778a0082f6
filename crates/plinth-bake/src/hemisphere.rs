//! Cosine-distributed directions over a surface.

use std::f32::consts::TAU;

use glam::{Vec2, Vec3};

/// Directions by the R2 sequence (Roberts 2018), mapped to the cosine distribution (Malley's method).
pub(crate) struct Hemisphere {
    /// Cosine and sine of the azimuth, and the second number of the sequence.
    points: Vec<(Vec2, f32)>,
}

impl Hemisphere {
    pub(crate) fn new(count: usize) -> Self {
        let point = |i: usize| {
            let azimuth = (i as f32 * 0.754_877_7).fract() * TAU;
            (Vec2::from_angle(azimuth), (i as f32 * 0.569_840_3).fract())
        };
        Self { points: (0..count).map(point).collect() }
    }

    /// The directions around a normal. Two shifts, 0..1, make those of one place differ from those of its neighbours.
    pub(crate) fn around(&self, normal: Vec3, (shift_u, shift_v): (f32, f32)) -> impl Iterator<Item = Vec3> + '_ {
        let (tangent, bitangent) = normal.any_orthonormal_pair();
        let turn = Vec2::from_angle(shift_u * TAU);
        self.points.iter().map(move |(point, v)| {
            let around = turn.rotate(*point);
            let v = (shift_v + v).fract();
            let (r, z) = (v.sqrt(), (1.0 - v).sqrt());
            tangent * (r * around.x) + bitangent * (r * around.y) + normal * z
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.points.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_are_unit_above_the_surface_and_their_mean_cosine_is_two_thirds() {
        let normal = Vec3::new(0.36, -0.48, 0.8);
        let all: Vec<Vec3> = Hemisphere::new(256).around(normal, (0.3, 0.7)).collect();
        assert!(all.iter().all(|d| (d.length() - 1.0).abs() < 1e-4 && d.dot(normal) >= -1e-6));
        let mean = all.iter().map(|d| d.dot(normal)).sum::<f32>() / 256.0;
        assert!((mean - 2.0 / 3.0).abs() < 5e-3, "{mean}");
    }
}
