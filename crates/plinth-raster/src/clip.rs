//! Clips triangles at the near plane, and where their coordinates on the canvas would be too large (Sutherland and
//! Hodgman 1974, "Reentrant Polygon Clipping").
//!
//! Parts beyond the far plane are not cut off: their depths are greater than 1, with which no sample is written.

use glam::DVec4;

use crate::project::{LIMIT, Projection, ScreenVertex};

/// Number of clip planes: the near plane, and four planes through the camera, at which a coordinate on the canvas is
/// ±[`LIMIT`].
const PLANES: usize = 5;
/// The bit of [`outcode`] of a point that has no projection. Its triangles are left out.
const NOT_PROJECTABLE: u8 = 1 << PLANES;

/// Returns a number that is negative if a point, given by the coordinates of [`Projection::homogeneous`], is outside of a
/// plane. It is proportional to the distance between them.
fn distance(point: DVec4, plane: usize) -> f64 {
    let limit = f64::from(LIMIT) * point.w;
    [point.z, limit + point.x, limit - point.x, limit + point.y, limit - point.y][plane]
}

/// Returns a bit mask of the planes of which a point is outside.
pub(crate) fn outcode(point: DVec4) -> u8 {
    if !point.is_finite() {
        return NOT_PROJECTABLE;
    }
    let outside = (0..PLANES).fold(0, |mask, plane| mask | u8::from(distance(point, plane) < 0.0) << plane);
    // Points behind the camera are outside of two planes at least, so this is the position of the camera.
    if outside == 0 && point.w <= 0.0 { NOT_PROJECTABLE } else { outside }
}

/// A corner of a polygon.
#[derive(Clone, Copy)]
struct Corner {
    point: DVec4,
    /// The projection of a corner of the triangle that is inside of all planes.
    projected: Option<ScreenVertex>,
}

impl Corner {
    fn distance(&self, plane: usize) -> f64 {
        let distance = distance(self.point, plane);
        // Neighbouring triangles that are not clipped have the corner, too, so it must not be cut off if single precision
        // found it inside.
        if self.projected.is_some() { distance.max(0.0) } else { distance }
    }

    fn vertex(&self) -> ScreenVertex {
        self.projected.unwrap_or_else(|| ScreenVertex::at(self.point))
    }
}

/// Returns the corners of the part of a triangle that is inside of all planes. The part is convex. `projected` are the
/// projections of the triangle's corners, of which at least one is outside.
pub(crate) fn clipped(
    projection: &Projection,
    positions: [[f32; 3]; 3],
    projected: [ScreenVertex; 3],
) -> Vec<ScreenVertex> {
    let [a, b, c] = projected.map(ScreenVertex::outcode);
    if a & b & c != 0 || (a | b | c) & NOT_PROJECTABLE != 0 {
        return Vec::new();
    }
    let corner = |k: usize| Corner {
        point: projection.homogeneous(positions[k]),
        projected: Some(projected[k]).filter(|vertex| !vertex.is_outside()),
    };
    let triangle = vec![corner(0), corner(1), corner(2)];
    let polygon = (0..PLANES).fold(triangle, |polygon, plane| inside(&polygon, plane));
    polygon.iter().map(Corner::vertex).collect()
}

/// Returns the part of a convex polygon that is inside of a plane.
fn inside(polygon: &[Corner], plane: usize) -> Vec<Corner> {
    let mut inside = Vec::with_capacity(polygon.len() + 1);
    for (k, corner) in polygon.iter().enumerate() {
        let next = &polygon[(k + 1) % polygon.len()];
        let [distance, next_distance] = [corner, next].map(|corner| corner.distance(plane));
        if distance >= 0.0 {
            inside.push(*corner);
            if next_distance < 0.0 {
                inside.push(crossing((corner, distance), (next, next_distance)));
            }
        } else if next_distance >= 0.0 {
            inside.push(crossing((next, next_distance), (corner, distance)));
        }
    }
    inside
}

/// Returns the point of an edge that is on a plane. The ends of the edge are given with their distances to the plane; the
/// first one is inside. Neighbouring triangles have the edge in opposite directions. With this order, both are cut at the
/// same point.
fn crossing((inside, depth): (&Corner, f64), (outside, height): (&Corner, f64)) -> Corner {
    Corner { point: inside.point.lerp(outside.point, depth / (depth - height)), projected: None }
}

#[cfg(test)]
mod tests {
    use glam::{DMat3, DVec3, Mat4, Vec3, Vec4};
    use plinth_frame::Region;

    use super::*;
    use crate::bins::Bins;
    use crate::coverage::Samples;
    use crate::grid::Grid;
    use crate::project::Projected;
    use crate::reference::position;
    use crate::tests::Random;
    use crate::{RasterView, TriangleRun};

    /// Returns a view of 64 × 64 pixels. The camera is at the origin and looks along −Z, with a field of view of 90°.
    fn view([near, far]: [f32; 2]) -> RasterView {
        let depth = far / (near - far);
        let (z, w) = (Vec4::new(0.0, 0.0, depth, -1.0), Vec4::new(0.0, 0.0, near * depth, 0.0));
        RasterView {
            clip_from_world: Mat4::from_cols(Vec4::X, Vec4::Y, z, w),
            canvas: [64, 64],
            region: Region::whole(64, 64),
            distance_numerator: 1.0,
            depth_range: 2.0,
            pixel_size: 0.01,
            camera_axis: Vec3::NEG_Z,
        }
    }

    /// Draws a triangle. Returns the position of each sample in clip space, and its depth if it shows the triangle.
    fn samples(view: &RasterView, corners: &[[f32; 3]; 3]) -> Vec<(DVec3, Option<f64>)> {
        let run = TriangleRun { positions: corners, corners: &[0, 1, 2], first_number: 1, double_sided: true };
        let (mut projected, mut bins, mut tile) = (Projected::default(), Bins::default(), Samples::new());
        projected.project(&Projection::new(view), &[run]);
        bins.fill(&Grid::new(view.canvas, view.region), &[run], &projected);
        let mut all = Vec::new();
        for (column, row) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            tile.clear();
            for index in bins.of_tile(column, row) {
                tile.draw(bins.triangle(index), [column as i32 * 32, row as i32 * 32]);
            }
            for (x, y, k) in (0..32).flat_map(|y| (0..32).flat_map(move |x| (0..4).map(move |k| (x, y, k)))) {
                let (numbers, depths) = tile.row(y);
                let [right, down] = position(column * 32 + x, row * 32 + y, k).map(|c| c as f64 / 8192.0);
                let depth = f64::from(f32::from_bits(depths[x][k].cast_unsigned()));
                all.push((DVec3::new(right - 1.0, 1.0 - down, 1.0), Some(depth).filter(|_| numbers[x][k] == 1)));
            }
        }
        all
    }

    /// The visible part of a triangle, in homogeneous coordinates.
    struct Exact {
        /// Products with the position of a sample are positive inside of the edges, the near plane and the far plane.
        borders: [DVec3; 5],
        /// The product with the position of a sample is the reciprocal of the distance there.
        reciprocal: DVec3,
    }

    impl Exact {
        fn new(corners: [[f32; 3]; 3], [near, far]: [f64; 2]) -> Self {
            let [a, b, c] = corners.map(|corner| Vec3::from(corner).as_dvec3() * DVec3::new(1.0, 1.0, -1.0));
            let weights = DMat3::from_cols(a, b, c).inverse();
            let [a, b, c] = [0, 1, 2].map(|k| weights.row(k));
            let reciprocal = a + b + c;
            Self { borders: [a, b, c, DVec3::Z / near - reciprocal, reciprocal - DVec3::Z / far], reciprocal }
        }

        /// Returns the distance in pixels between a sample and the nearest border, negative outside.
        fn margin(&self, sample: DVec3) -> f64 {
            let margins = self.borders.map(|border| border.dot(sample) * 32.0 / border.truncate().length());
            margins.into_iter().fold(f64::INFINITY, f64::min)
        }
    }

    /// Compares the samples and depths of a triangle with exact ones. Returns the number of samples that show it.
    fn compare(planes: [f32; 2], corners: [[f32; 3]; 3]) -> usize {
        let [near, far] = planes.map(f64::from);
        let exact = Exact::new(corners, [near, far]);
        let scale = far / (far - near);
        let slope = scale * near * exact.reciprocal.truncate().length() / 32.0;
        let mut count = 0;
        for (sample, depth) in samples(&view(planes), &corners) {
            let (margin, reciprocal) = (exact.margin(sample), exact.reciprocal.dot(sample));
            // Corners are rounded to 1/256 of a pixel.
            if margin.abs() < 0.02 || (reciprocal * far - 1.0).abs() < 1e-4 {
                continue;
            }
            assert_eq!(depth.is_some(), margin > 0.0, "{corners:?} at {sample}, {margin} pixels inside");
            let Some(depth) = depth else { continue };
            let expected = scale * (1.0 - near * reciprocal);
            assert!((depth - expected).abs() < 1e-5 + 0.02 * slope, "{corners:?} at {sample}: {depth} for {expected}");
            count += 1;
        }
        count
    }

    #[test]
    fn visible_parts_of_triangles_are_exact() {
        let mut random = Random(6);
        // Ranges of z in thousandths: beyond the far plane, visible, in front of the near plane, behind the camera.
        let ranges = [[-14_000, -9000], [-3000, -600], [-450, -50], [100, 3000]];
        for planes in [[0.5, 10.0], [1e-5, 1000.0]] {
            let mut count = 0;
            for k in 0..256 {
                let corners = [0, 2, 4].map(|shift| {
                    let [x, y] = [0; 2].map(|_| random.between([-3000, 3000]));
                    [x, y, random.between(ranges[k >> shift & 3])]
                });
                count += compare(planes, corners);
            }
            assert!(count > 100_000, "{count} samples show a triangle");
        }
    }

    #[test]
    fn clipped_triangles_leave_no_gaps_and_do_not_overlap() {
        // A grid on a plane just below the camera, from behind the camera to beyond the far plane.
        let mut random = Random(7);
        let grid: Vec<[f32; 3]> = (0..63)
            .map(|k| {
                let x = (k % 7 * 2 - 6) as f32 + random.between([-600, 600]);
                let z = (4 - k / 7 * 3) as f32 + random.between([-900, 900]);
                [x, 0.06 * x + 0.01 * z - 0.3, z]
            })
            .collect();
        let view = view([0.5, 10.0]);
        let mut counts = vec![0; 64 * 64 * 4];
        for k in (0..55).filter(|k| k % 7 < 6) {
            for corners in [[k, k + 7, k + 8], [k, k + 8, k + 1]] {
                let samples = samples(&view, &corners.map(|k: usize| grid[k]));
                for (count, (_, depth)) in counts.iter_mut().zip(samples) {
                    *count += i32::from(depth.is_some());
                }
            }
        }
        let positions = samples(&view, &[[0.0; 3]; 3]);
        for (count, (sample, _)) in counts.iter().zip(positions) {
            let distance = -0.3 / (sample.y - 0.06 * sample.x + 0.01);
            assert!(*count <= 1, "{count} triangles at {sample}");
            if (0.52..9.8).contains(&distance) && (sample.x * distance).abs() < 5.0 {
                assert_eq!(*count, 1, "gap at {sample}");
            }
        }
    }

    #[test]
    fn shared_edges_are_cut_at_the_same_point() {
        let projection = Projection::new(&view([0.5, 10.0]));
        let polygon = |corners: [[f32; 3]; 3]| clipped(&projection, corners, corners.map(|c| projection.vertex(c)));
        let [a, b] = [[0.3, 0.2, -2.0], [-0.7, 0.9, 1.5]];
        let (left, right) = (polygon([a, b, [1.1, -0.4, -3.0]]), polygon([b, a, [-2.0, 0.3, -0.2]]));
        assert_eq!((left.len(), right.len()), (4, 3));
        assert_eq!(left.iter().filter(|vertex| right.contains(vertex)).count(), 2, "{left:?}, {right:?}");
        assert_eq!(left.iter().filter(|vertex| vertex.depth == 0.0).count(), 2, "{left:?}");
        assert!(polygon([b, [0.1, 0.2, 0.3], [0.1, -0.2, -0.4]]).is_empty(), "in front of the near plane");
        assert!(polygon([a, b, [f32::NAN, 0.0, -1.0]]).is_empty(), "not a number");
    }
}
