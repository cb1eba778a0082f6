//! Triangles on the canvas.

use crate::project::ScreenVertex;

/// A triangle on the canvas. Its corners are counterclockwise in the picture.
#[derive(Clone, Copy)]
pub(crate) struct ScreenTriangle {
    /// Coordinates of the corners in subpixels; y points down.
    pub(crate) x: [i32; 3],
    pub(crate) y: [i32; 3],
    /// Depth of the first corner.
    pub(crate) depth: f32,
    /// The smallest and the largest depth of the corners.
    pub(crate) depth_range: [f32; 2],
    /// Change of the depth per subpixel to the right and downwards.
    pub(crate) slope: [f64; 2],
    pub(crate) number: u32,
    /// The greater one of width and height in subpixels.
    pub(crate) extent: u32,
}

impl ScreenTriangle {
    /// Returns `None` if the triangle has no area, or if it is seen from its back and is not double-sided. All corners must
    /// be inside of the clip planes.
    #[inline(always)]
    pub(crate) fn new([a, b, c]: [ScreenVertex; 3], number: u32, double_sided: bool) -> Option<Self> {
        let [ux, uy, vx, vy] =
            [(b.x, a.x), (b.y, a.y), (c.x, a.x), (c.y, a.y)].map(|(to, from)| i64::from(to) - i64::from(from));
        let area = ux * vy - uy * vx;
        // The area is negative if the corners are counterclockwise, because y points down.
        if area == 0 || (area > 0 && !double_sided) {
            return None;
        }
        let (second, third) = if area < 0 { (b, c) } else { (c, b) };
        let per_area = 1.0 / area as f64;
        let [zb, zc] = [b.depth, c.depth].map(|depth| f64::from(depth) - f64::from(a.depth));
        let [ux, uy, vx, vy] = [ux, uy, vx, vy].map(|difference| difference as f64);
        let near = a.depth.min(b.depth).min(c.depth);
        let far = a.depth.max(b.depth).max(c.depth);
        Some(Self {
            x: [a.x, second.x, third.x],
            y: [a.y, second.y, third.y],
            depth: a.depth,
            // `abs` replaces −0, whose bits are negative.
            depth_range: [near, far].map(f32::abs),
            slope: [(zb * vy - zc * uy) * per_area, (zc * ux - zb * vx) * per_area],
            number,
            extent: extent([a.x, b.x, c.x]).max(extent([a.y, b.y, c.y])),
        })
    }
}

/// Returns the difference between the smallest and the largest of three coordinates.
#[inline(always)]
fn extent([a, b, c]: [i32; 3]) -> u32 {
    a.max(b).max(c).abs_diff(a.min(b).min(c))
}

/// Returns the first and the last pixel of a row or column of pixels that have samples between the smallest and the
/// largest of three coordinates, or `None` if no sample is between them. Each pixel has four columns and four rows of
/// samples, at odd multiples of an eighth of a pixel.
#[inline(always)]
pub(crate) fn sampled_pixels([a, b, c]: [i32; 3]) -> Option<[i32; 2]> {
    let (least, greatest) = (a.min(b).min(c), a.max(b).max(c));
    // Columns of samples are 64 subpixels apart, and the first one is at 32 subpixels.
    let (first, last) = ((least + 31) >> 6, (greatest - 32) >> 6);
    if first <= last { Some([first >> 2, last >> 2]) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vertex(x: i32, y: i32, depth: f32) -> ScreenVertex {
        ScreenVertex { x, y, depth }
    }

    #[test]
    fn front_faces_are_counterclockwise() {
        let [a, b, c] = [vertex(0, 0, 0.5), vertex(0, 100, 0.5), vertex(100, 0, 0.5)];
        assert!(ScreenTriangle::new([a, b, c], 1, false).is_some());
        assert!(ScreenTriangle::new([a, c, b], 1, false).is_none());
        let turned = ScreenTriangle::new([a, c, b], 1, true).map(|triangle| (triangle.x, triangle.y));
        assert_eq!(turned, Some(([0, 0, 100], [0, 100, 0])));
        assert!(ScreenTriangle::new([a, b, vertex(0, 50, 0.5)], 1, true).is_none(), "no area");
    }

    #[test]
    fn depth_is_linear_on_the_canvas() {
        let [a, b, c] = [vertex(10, 20, 0.5), vertex(10, 120, 0.75), vertex(210, 20, 1.5)];
        for corners in [[a, b, c], [a, c, b]] {
            let triangle = ScreenTriangle::new(corners, 1, true).unwrap();
            for (slope, expected) in triangle.slope.into_iter().zip([1.0 / 200.0, 0.25 / 100.0]) {
                assert!((slope - expected).abs() < 1e-12, "{slope} instead of {expected}");
            }
            assert_eq!(triangle.depth_range.map(f32::to_bits), [0.5_f32, 1.5].map(f32::to_bits));
        }
        let near =
            ScreenTriangle::new([a, b, c].map(|corner| ScreenVertex { depth: -0.0, ..corner }), 1, true).unwrap();
        assert_eq!(near.depth_range.map(f32::to_bits), [0, 0]);
    }

    #[test]
    fn pixels_without_samples_between_the_corners_are_skipped() {
        // The columns of samples of the first pixel are at 32, 96, 160 and 224, those of the next one begin at 288.
        for (least, greatest, expected) in [
            (32, 32, Some([0, 0])),
            (33, 95, None),
            (33, 96, Some([0, 0])),
            (224, 288, Some([0, 1])),
            (225, 287, None),
            (-32, 31, Some([-1, -1])),
            (-31, 31, None),
            (-500, 600, Some([-2, 2])),
        ] {
            assert_eq!(sampled_pixels([least, greatest, least]), expected, "{least}..={greatest}");
        }
    }
}
