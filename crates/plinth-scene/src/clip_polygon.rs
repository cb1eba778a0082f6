//! Clips a triangle to a box (Sutherland and Hodgman 1974, "Reentrant Polygon Clipping").

use glam::Vec3;

/// Returns the part of a triangle that is inside a box centred at the origin. The result is a polygon whose corners are
/// given as barycentric coordinates of the triangle. The polygon is empty if the triangle and the box do not intersect.
pub(crate) fn inside_box(corners: [Vec3; 3], half: Vec3) -> Vec<[f32; 3]> {
    let mut polygon = vec![[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    for axis in 0..3 {
        for sign in [1.0, -1.0] {
            // The value is zero or positive inside the box.
            let corner_depth = corners.map(|p| half[axis] - sign * p[axis]);
            let depth = |w: &[f32; 3]| -> f32 { w.iter().zip(corner_depth).map(|(w, d)| w * d).sum() };
            polygon = cut(&polygon, depth);
        }
    }
    if polygon.len() < 3 { Vec::new() } else { polygon }
}

fn cut(polygon: &[[f32; 3]], depth: impl Fn(&[f32; 3]) -> f32) -> Vec<[f32; 3]> {
    let mut out = Vec::with_capacity(polygon.len() + 1);
    for (i, to) in polygon.iter().enumerate() {
        let from = &polygon[(i + polygon.len() - 1) % polygon.len()];
        let (before, after) = (depth(from), depth(to));
        if (before < 0.0) != (after < 0.0) {
            let share = before / (before - after);
            out.push(std::array::from_fn(|k| from[k] + (to[k] - from[k]) * share));
        }
        if after >= 0.0 {
            out.push(*to);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(corners: [Vec3; 3], polygon: &[[f32; 3]]) -> f32 {
        let place = |w: &[f32; 3]| corners.iter().zip(w).map(|(p, w)| *p * *w).sum::<Vec3>();
        let points: Vec<Vec3> = polygon.iter().map(place).collect();
        points.windows(2).skip(1).map(|p| (p[0] - points[0]).cross(p[1] - points[0]).length() * 0.5).sum()
    }

    #[test]
    fn a_triangle_inside_is_unchanged_and_one_outside_is_removed() {
        let corners = [Vec3::ZERO, Vec3::X * 0.4, Vec3::Y * 0.4];
        assert_eq!(inside_box(corners, Vec3::ONE), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
        assert!(inside_box(corners.map(|p| p + Vec3::Z * 2.0), Vec3::ONE).is_empty());
    }

    #[test]
    fn a_large_triangle_is_cut_to_the_cross_section_of_the_box() {
        let corners = [Vec3::new(-9.0, -9.0, 0.0), Vec3::new(9.0, -9.0, 0.0), Vec3::new(0.0, 20.0, 0.0)];
        let polygon = inside_box(corners, Vec3::new(0.5, 0.25, 1.0));
        assert!((area(corners, &polygon) - 0.5).abs() < 1e-4, "{polygon:?}");
    }
}
