//! Directions on a square: the octahedral map (Cigolle et al. 2014, "A Survey of Efficient Representations for
//! Independent Unit Vectors"), which needs no inverse trigonometry.

use glam::Vec3;

/// Index of the texel in which a unit direction is, row by row.
pub(crate) fn texel(d: Vec3, side: usize) -> usize {
    let flat = d / (d.x.abs() + d.y.abs() + d.z.abs());
    let (x, z) = if flat.y < 0.0 {
        ((1.0 - flat.z.abs()).copysign(flat.x), (1.0 - flat.x.abs()).copysign(flat.z))
    } else {
        (flat.x, flat.z)
    };
    let at = |c: f32| (((c * 0.5 + 0.5) * side as f32) as usize).min(side - 1);
    at(z) * side + at(x)
}

/// The unit direction of a point of the map, 0..1; +Y is the middle, −Y the corners.
pub fn direction(u: f32, v: f32) -> Vec3 {
    let (x, z) = (2.0 * u - 1.0, 2.0 * v - 1.0);
    let y = 1.0 - x.abs() - z.abs();
    let fold = (-y).max(0.0);
    Vec3::new(x - fold.copysign(x), y, z - fold.copysign(z)).normalize()
}

/// Area of the map for each unit of solid angle around a unit direction. A face of the octahedron is a plane at distance
/// 1/√3 whose area is √3 times its shadow on the square of side 2.
pub(crate) fn density(d: Vec3) -> f32 {
    let distance = 1.0 / (d.x.abs() + d.y.abs() + d.z.abs());
    distance.powi(3) / 4.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_solid_angles_of_all_texels_are_the_sphere() {
        let side = 256;
        let at = |i: usize| (i as f32 + 0.5) / side as f32;
        let all: f32 = (0..side * side)
            .map(|i| 1.0 / (density(direction(at(i % side), at(i / side))) * (side * side) as f32))
            .sum();
        assert!((all - 4.0 * std::f32::consts::PI).abs() < 0.01, "{all}");
    }

    #[test]
    fn a_direction_is_found_in_its_own_texel() {
        for i in 0..64 * 64 {
            let d = direction(((i % 64) as f32 + 0.5) / 64.0, ((i / 64) as f32 + 0.5) / 64.0);
            assert_eq!(texel(d, 64), i);
        }
    }
}
