//! Finds the point of a triangle that is closest to another point.

use glam::Vec3;

/// Returns the barycentric weights of the point of a triangle that is closest to `p` (Ericson 2005, "Real-Time
/// Collision Detection", section 5.1.5).
pub(super) fn closest(p: Vec3, [a, b, c]: [Vec3; 3]) -> [f32; 3] {
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let (d1, d2) = (ab.dot(ap), ac.dot(ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return [1.0, 0.0, 0.0];
    }
    let bp = p - b;
    let (d3, d4) = (ab.dot(bp), ac.dot(bp));
    if d3 >= 0.0 && d4 <= d3 {
        return [0.0, 1.0, 0.0];
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        let v = d1 / (d1 - d3).max(1e-20);
        return [1.0 - v, v, 0.0];
    }
    let cp = p - c;
    let (d5, d6) = (ab.dot(cp), ac.dot(cp));
    if d6 >= 0.0 && d5 <= d6 {
        return [0.0, 0.0, 1.0];
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        let w = d2 / (d2 - d6).max(1e-20);
        return [1.0 - w, 0.0, w];
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 >= d3 && d5 >= d6 {
        let w = (d4 - d3) / (d4 - d3 + d5 - d6).max(1e-20);
        return [0.0, 1.0 - w, w];
    }
    let sum = va + vb + vc;
    [va / sum, vb / sum, vc / sum]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_point_is_nearer_than_any_other() {
        let triangle = [Vec3::new(0.1, 0.2, 0.0), Vec3::new(1.0, 0.1, 0.3), Vec3::new(0.3, 0.9, -0.2)];
        let place = |[u, v, w]: [f32; 3]| triangle[0] * u + triangle[1] * v + triangle[2] * w;
        for k in 0..200 {
            let part = |step: f32| (k as f32 * step).fract() * 3.0 - 1.0;
            let p = Vec3::new(part(0.618), part(0.414), part(0.732));
            let weights = closest(p, triangle);
            assert!(weights.iter().all(|w| *w >= -1e-5) && (weights.iter().sum::<f32>() - 1.0).abs() < 1e-4);
            let distance = p.distance(place(weights));
            for i in 0..=20 {
                for j in 0..=20 - i {
                    let (v, w) = (i as f32 / 20.0, j as f32 / 20.0);
                    assert!(p.distance(place([1.0 - v - w, v, w])) > distance - 1e-4);
                }
            }
        }
    }
}
