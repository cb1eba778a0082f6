//! Estimates the distance between neighbouring points of a cloud.

use glam::Vec3;
use rayon::prelude::*;

/// Binary logarithm of the number of cells along the longest side, at the finest level.
const LEVELS: u32 = 10;
/// Average number of points per occupied cell that is enough for an estimate.
const ENOUGH: usize = 4;
/// Mean number of cells that a surface crosses, per area of a cell's face: the mean of |x| + |y| + |z| over all unit
/// normals (x, y, z).
pub(super) const CELLS_PER_SQUARE: f32 = 1.5;

/// Returns the mean distance between neighbouring points in world units. The points are assumed to be on a surface, so
/// the distance is the square root of the area per point. The area is measured by counting the cells of an octree that
/// contain points, at the finest level with enough points per cell.
pub(crate) fn spacing(points: &[Vec3]) -> f32 {
    let start = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    let (min, max) = points.iter().fold(start, |(min, max), p| (min.min(*p), max.max(*p)));
    let span = (max - min).max_element();
    if points.len() < 2 || !span.is_finite() || span <= 0.0 {
        return 0.0;
    }
    let side = f32::from(1_u16 << LEVELS);
    let cell = |p: &Vec3| {
        let place = ((*p - min) / span * side).as_uvec3().min(glam::UVec3::splat((1 << LEVELS) - 1));
        spread(place.x) | spread(place.y) << 1 | spread(place.z) << 2
    };
    let mut cells: Vec<u32> = points.par_iter().map(cell).collect();
    cells.par_sort_unstable();
    cells.dedup();
    let mut width = span / side;
    while points.len() < ENOUGH * cells.len() && cells.len() > 1 {
        for cell in &mut cells {
            *cell >>= 3;
        }
        cells.dedup();
        width *= 2.0;
    }
    width * (cells.len() as f32 / (CELLS_PER_SQUARE * points.len() as f32)).sqrt()
}

/// Inserts two zero bits after each of the ten low bits (Morton 1966).
fn spread(x: u32) -> u32 {
    let x = (x | x << 16) & 0x0300_00ff;
    let x = (x | x << 8) & 0x0300_f00f;
    let x = (x | x << 4) & 0x030c_30c3;
    (x | x << 2) & 0x0924_9249
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns points that are spread evenly over a sphere of radius 1 (Vogel 1979).
    fn ball(count: u32) -> Vec<Vec3> {
        (0..count)
            .map(|i| {
                let z = 1.0 - (2 * i + 1) as f32 / count as f32;
                let (sin, cos) = (i as f32 * 2.399_963_2).sin_cos();
                let r = (1.0 - z * z).sqrt();
                Vec3::new(r * cos, r * sin, z)
            })
            .collect()
    }

    #[test]
    fn the_spacing_of_a_surface_is_the_root_of_the_area_of_each_point() {
        for count in [300, 5_000, 100_000] {
            let truth = (4.0 * std::f32::consts::PI / count as f32).sqrt();
            let found = spacing(&ball(count));
            assert!((0.75..1.33).contains(&(found / truth)), "{count}: {found} {truth}");
        }
    }

    #[test]
    fn points_without_extent_have_no_spacing() {
        assert!(spacing(&[]).abs() < 1e-9);
        assert!(spacing(&[Vec3::ONE; 9]).abs() < 1e-9);
    }
}
