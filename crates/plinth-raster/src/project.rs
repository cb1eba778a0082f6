//! Projects vertices to the canvas.

use std::ops::Range;

use glam::{DVec4, Mat4, Vec3};
use rayon::prelude::*;

use crate::clip::outcode;
use crate::{RasterView, TriangleRun};

/// Positions on the canvas are multiples of this fraction of a pixel.
pub(crate) const SUBPIXELS: i32 = 256;
/// Largest coordinate of a vertex, in subpixels: 2^22 pixels. The product of two differences fits 63 bits.
pub(crate) const LIMIT: f32 = (1_u32 << 30) as f32;
/// Number of vertices that a task projects at least.
const MIN_VERTICES: usize = 4096;

/// A vertex on the canvas. `x` and `y` are in subpixels from the top left corner of the canvas; y points down.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ScreenVertex {
    pub(crate) x: i32,
    pub(crate) y: i32,
    /// At least 0, and greater than 1 beyond the far plane.
    pub(crate) depth: f32,
}

impl ScreenVertex {
    /// Returns a vertex that has no position on the canvas, because it is outside of clip planes. `outcode` is not 0.
    fn outside(outcode: u8) -> Self {
        Self { x: i32::MIN, y: i32::from(outcode), depth: 0.0 }
    }

    /// Projects a point that is inside of all clip planes, given by the coordinates of [`Projection::homogeneous`].
    pub(crate) fn at(point: DVec4) -> Self {
        let limit = f64::from(LIMIT);
        let [x, y] = [point.x, point.y].map(|c| (c / point.w).round_ties_even().clamp(-limit, limit) as i32);
        Self { x, y, depth: ((point.z / point.w) as f32).max(0.0) }
    }

    #[inline(always)]
    pub(crate) fn is_outside(self) -> bool {
        self.x == i32::MIN
    }

    /// Returns the clip planes of which the vertex is outside, as a bit mask (see [`outcode`]).
    pub(crate) fn outcode(self) -> u8 {
        if self.is_outside() { self.y as u8 } else { 0 }
    }
}

/// Rounds to the nearest integer, halves to the even one. The number must fit 32 bits.
#[inline(always)]
fn rounded(value: f32) -> i32 {
    // In this range the difference between consecutive numbers is 1, so the addition rounds. The low bits of the sum are
    // the integer. Processors without SSE4.1 have no instruction for rounding.
    const INTEGERS: f64 = (3_u64 << 51) as f64;
    ((f64::from(value) + INTEGERS).to_bits() as u32).cast_signed()
}

/// The transform from world space to the canvas.
#[derive(Clone, Copy, Default)]
pub(crate) struct Projection {
    clip_from_world: Mat4,
    scale: [f32; 2],
    center: [f32; 2],
}

impl Projection {
    pub(crate) fn new(view: &RasterView) -> Self {
        let region = view.region;
        let half = |length: u32| length as f32 * (0.5 * SUBPIXELS as f32);
        let start = |start: u32| start as f32 * SUBPIXELS as f32;
        let [x, y] = [half(region.width), half(region.height)];
        let center = [start(region.x) + x, start(region.y) + y];
        Self { clip_from_world: view.clip_from_world, scale: [x, -y], center }
    }

    #[inline(always)]
    pub(crate) fn vertex(&self, position: [f32; 3]) -> ScreenVertex {
        let clip = self.clip_from_world * Vec3::from(position).extend(1.0);
        let inverse = 1.0 / clip.w;
        let x = clip.x * inverse * self.scale[0] + self.center[0];
        let y = clip.y * inverse * self.scale[1] + self.center[1];
        let depth = clip.z * inverse;
        if clip.w > 0.0 && x.abs() <= LIMIT && y.abs() <= LIMIT && (0.0..=f32::MAX).contains(&depth) {
            ScreenVertex { x: rounded(x), y: rounded(y), depth }
        } else {
            self.outer_vertex(position)
        }
    }

    /// Returns a vertex that is outside of clip planes, or so close to one of them that it may be on either side.
    #[cold]
    fn outer_vertex(&self, position: [f32; 3]) -> ScreenVertex {
        let point = self.homogeneous(position);
        match outcode(point) {
            0 => ScreenVertex::at(point),
            planes => ScreenVertex::outside(planes),
        }
    }

    /// Returns homogeneous coordinates of a position. Divided by w, x and y are in subpixels on the canvas, and z is the
    /// depth.
    pub(crate) fn homogeneous(&self, position: [f32; 3]) -> DVec4 {
        let clip = self.clip_from_world.as_dmat4() * Vec3::from(position).as_dvec3().extend(1.0);
        let [scale, center] = [self.scale, self.center].map(|pair| pair.map(f64::from));
        let [x, y] = [clip.x * scale[0] + clip.w * center[0], clip.y * scale[1] + clip.w * center[1]];
        DVec4::new(x, y, clip.z, clip.w)
    }
}

/// The projected vertices of all runs. Runs with the same vertices share them.
#[derive(Default)]
pub(crate) struct Projected {
    pub(crate) projection: Projection,
    vertices: Vec<ScreenVertex>,
    /// For each run, the range of its vertices.
    ranges: Vec<Range<usize>>,
}

impl Projected {
    /// Replaces the vertices by those of `runs`.
    pub(crate) fn project(&mut self, projection: &Projection, runs: &[TriangleRun<'_>]) {
        self.projection = *projection;
        self.ranges.clear();
        let mut lists: Vec<(&[[f32; 3]], usize)> = Vec::new();
        let mut count = 0;
        for run in runs {
            let known = lists.iter().rev().find(|(positions, _)| std::ptr::eq(*positions, run.positions));
            let start = known.map_or(count, |(_, start)| *start);
            if start == count {
                lists.push((run.positions, start));
                count += run.positions.len();
            }
            self.ranges.push(start..start + run.positions.len());
        }
        self.vertices.resize(count, ScreenVertex::default());
        let mut rest = &mut self.vertices[..];
        for (positions, _) in lists {
            let (vertices, others) = std::mem::take(&mut rest).split_at_mut(positions.len());
            rest = others;
            let pairs = vertices.par_iter_mut().with_min_len(MIN_VERTICES).zip(positions);
            pairs.for_each(|(vertex, position)| *vertex = projection.vertex(*position));
        }
    }

    /// Returns the vertices to which the corners of a run refer.
    pub(crate) fn of_run(&self, run: usize) -> &[ScreenVertex] {
        &self.vertices[self.ranges[run].clone()]
    }
}

#[cfg(test)]
mod tests {
    use glam::Vec4;
    use plinth_frame::Region;

    use super::*;

    fn view(clip_from_world: Mat4) -> RasterView {
        RasterView {
            clip_from_world,
            canvas: [640, 480],
            region: Region { x: 101, y: 33, width: 64, height: 32 },
            distance_numerator: 1.0,
            depth_range: 2.0,
            pixel_size: 0.01,
            camera_axis: Vec3::NEG_Z,
        }
    }

    #[test]
    fn halves_are_rounded_to_even_integers() {
        let limit = 1 << 30;
        for (value, expected) in
            [(0.5, 0), (1.5, 2), (-0.5, 0), (-1.5, -2), (2.501, 3), (-7.6, -8), (LIMIT, limit), (-LIMIT, -limit)]
        {
            assert_eq!(rounded(value), expected, "{value}");
        }
    }

    #[test]
    fn clip_space_covers_the_region() {
        let projection = Projection::new(&view(Mat4::IDENTITY));
        let corner = |x: f32, y: f32| projection.vertex([x, y, 0.25]);
        assert_eq!(corner(-1.0, 1.0), ScreenVertex { x: 101 * 256, y: 33 * 256, depth: 0.25 });
        assert_eq!(corner(1.0, -1.0), ScreenVertex { x: 165 * 256, y: 65 * 256, depth: 0.25 });
    }

    #[test]
    fn coordinates_are_divided_by_w() {
        // w is 4 for all points.
        let quarter = Mat4::from_cols(Vec4::X, Vec4::Y, Vec4::Z, Vec4::new(0.0, 0.0, 0.0, 4.0));
        let vertex = Projection::new(&view(quarter)).vertex([2.0, -2.0, 1.0]);
        assert_eq!(vertex, ScreenVertex { x: (101 + 48) * 256, y: (33 + 24) * 256, depth: 0.25 });
    }

    #[test]
    fn vertices_outside_of_clip_planes_have_no_position() {
        // w is the z coordinate, and the depth is 1 − 0.5 / w.
        let columns = [Vec4::X, Vec4::Y, Vec4::new(0.0, 0.0, 1.0, 1.0), Vec4::new(0.0, 0.0, -0.5, 0.0)];
        let projection = Projection::new(&view(Mat4::from_cols(columns[0], columns[1], columns[2], columns[3])));
        for (position, expected) in [
            ([0.0, 0.0, 0.5], 0),
            ([0.0, 0.0, 0.49], 0b1),
            ([0.0, 0.0, 0.0], 0b1),
            ([0.0, 0.0, -1.0], 0b1_1111),
            ([-1.0, 0.0, 0.0], 0b11),
            ([-1.4e5, 0.0, 1.0], 0b10),
            ([1.4e5, 0.0, 1.0], 0b100),
            ([1.3e5, 0.0, 1.0], 0),
            ([0.0, 2.7e5, 1.0], 0b1000),
            ([0.0, -2.7e5, 1.0], 0b1_0000),
            ([f32::NAN, 0.0, 1.0], 0b10_0000),
            ([0.0, f32::INFINITY, 1.0], 0b10_0000),
        ] {
            let vertex = projection.vertex(position);
            assert_eq!((vertex.outcode(), vertex.is_outside()), (expected, expected != 0), "{position:?}");
        }
    }

    #[test]
    fn points_with_double_precision_have_the_same_projection() {
        let (z, w) = (Vec4::new(0.0, 0.0, -1.01, -1.0), Vec4::new(0.0, 0.0, -0.101, 0.0));
        let perspective = Mat4::from_cols(Vec4::X, Vec4::Y * 2.0, z, w);
        let projection = Projection::new(&view(perspective * Mat4::from_rotation_y(0.3)));
        for position in [[0.1, 0.2, -1.0], [-0.4, 0.3, -4.0], [3.0, -2.0, -15.0]] {
            let (vertex, point) = (projection.vertex(position), ScreenVertex::at(projection.homogeneous(position)));
            assert!(vertex.x.abs_diff(point.x) <= 1 && vertex.y.abs_diff(point.y) <= 1, "{vertex:?}, {point:?}");
            assert!((vertex.depth - point.depth).abs() < 1e-6, "{vertex:?}, {point:?}");
        }
    }

    #[test]
    fn runs_with_the_same_vertices_share_them() {
        let (first, second) = (vec![[0.0; 3]; 5], vec![[0.5; 3]; 3]);
        let run = |positions| TriangleRun { positions, corners: &[], first_number: 1, double_sided: false };
        let mut projected = Projected::default();
        projected.project(&Projection::new(&view(Mat4::IDENTITY)), &[run(&first), run(&second), run(&first)]);
        assert_eq!(projected.ranges, [0..5, 5..8, 0..5]);
        assert_eq!([0, 1, 2].map(|run| projected.of_run(run).len()), [5, 3, 5]);
        assert_eq!(projected.of_run(1)[0], ScreenVertex { x: (101 + 48) * 256, y: (33 + 8) * 256, depth: 0.5 });
    }
}
