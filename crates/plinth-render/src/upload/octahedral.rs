//! Unit vectors as two numbers from −1 to 1 (Cigolle et al. 2014, "A Survey of Efficient Representations for
//! Independent Unit Vectors"). Shader counterpart: `lib/octahedral.wgsl`.

use glam::{Vec2, Vec3};

/// Returns the octahedral coordinates of a direction. The length of the vector has no effect. The zero vector has the
/// coordinates of +Z.
pub(crate) fn octahedral(direction: Vec3) -> Vec2 {
    let sum = direction.x.abs() + direction.y.abs() + direction.z.abs();
    let d = if sum > 0.0 { direction / sum } else { Vec3::Z };
    if d.z < 0.0 {
        Vec2::new((1.0 - d.y.abs()).copysign(d.x), (1.0 - d.x.abs()).copysign(d.y))
    } else {
        Vec2::new(d.x, d.y)
    }
}

/// Returns the unit vector with these octahedral coordinates.
pub(crate) fn from_octahedral(e: Vec2) -> Vec3 {
    let z = 1.0 - e.x.abs() - e.y.abs();
    let fold = (-z).max(0.0);
    Vec3::new(e.x - fold.copysign(e.x), e.y - fold.copysign(e.y), z).normalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_direction_survives() {
        for x in -6..=6 {
            for y in -6..=6 {
                for z in -6..=6 {
                    let direction = Vec3::new(x as f32, y as f32, z as f32);
                    let expected = direction.try_normalize().unwrap_or(Vec3::Z);
                    assert!(from_octahedral(octahedral(direction)).distance(expected) < 1e-6, "{direction}");
                }
            }
        }
    }
}
