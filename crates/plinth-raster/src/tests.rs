//! Tests of whole pictures.

use glam::Vec4;

use super::*;
use crate::coverage::{SAMPLES, Samples};
use crate::facets::KEPT;
use crate::grid::TILE_SIDE;
use crate::reference::{Triangle, position};
use crate::rows::draw_row;

/// A pseudo-random sequence.
pub(crate) struct Random(pub(crate) u32);

impl Random {
    /// Returns a number between 0 and `end` − 1.
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((u64::from(self.0 >> 8) * u64::from(end)) >> 24) as u32
    }

    /// Returns a number in a range, in thousandths.
    pub(crate) fn between(&mut self, [least, end]: [i32; 2]) -> f32 {
        (least + self.below(end.abs_diff(least)) as i32) as f32 / 1000.0
    }

    /// Returns a number between −`limit` and `limit`.
    fn around(&mut self, limit: u32) -> i64 {
        i64::from(self.below(2 * limit + 1)) - i64::from(limit)
    }

    /// Returns a point whose distance from a point is at most `limit` subpixels on each axis.
    fn near(&mut self, [x, y]: [i64; 2], limit: u32) -> [i64; 2] {
        [x + self.around(limit), y + self.around(limit)]
    }

    /// Returns a triangle of constant depth, on or near a canvas of 90 × 70 pixels. Sizes differ from less than a pixel to
    /// more than the canvas. Some triangles have no area.
    fn triangle(&mut self) -> Triangle {
        let center = self.near([45 * 256, 35 * 256], 60 * 256);
        let limit = [40, 200, 800, 3000, 20_000, 100_000][self.below(6) as usize];
        let [a, mut b, c] = [self.near(center, limit), self.near(center, limit), self.near(center, limit)];
        if self.below(12) == 0 {
            b = [a[0] + (c[0] - a[0]) / 2 * 2, a[1] + (c[1] - a[1]) / 2 * 2];
        }
        let depth = self.below(32) as f32 / 16.0 - 0.5;
        Triangle { corners: [a, b, c], depths: [depth; 3], double_sided: false }
    }

    /// Returns words of triangles in three batches with normals of any direction.
    fn words(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.below(3) | self.below(256) << 16 | self.below(256) << 24).collect()
    }
}

const CANVAS: [u32; 2] = [90, 70];

/// Returns a view in which positions are in pixels from the top left of the canvas.
fn view(canvas: [u32; 2], region: Region) -> RasterView {
    let (x, y) = (2.0 / region.width as f32, -2.0 / region.height as f32);
    let origin = Vec4::new(-1.0 - region.x as f32 * x, 1.0 - region.y as f32 * y, 0.0, 1.0);
    RasterView {
        clip_from_world: Mat4::from_cols(Vec4::X * x, Vec4::Y * y, Vec4::Z, origin),
        canvas,
        region,
        distance_numerator: 1.0,
        depth_range: 1.5,
        pixel_size: 0.02,
        camera_axis: Vec3::new(0.6, 0.0, -0.8),
    }
}

/// The vertices of triangles.
struct Mesh {
    positions: Vec<[f32; 3]>,
    corners: Vec<u32>,
    /// Number of triangles before the first double-sided one.
    single_sided: usize,
}

impl Mesh {
    /// Creates the vertices of triangles, of which the single-sided ones are first.
    fn new(triangles: &[Triangle]) -> Self {
        let positions: Vec<[f32; 3]> = triangles
            .iter()
            .flat_map(|triangle| triangle.corners.into_iter().zip(triangle.depths))
            .map(|([x, y], depth)| [x as f32 / 256.0, y as f32 / 256.0, depth])
            .collect();
        let corners = (0..positions.len() as u32).collect();
        Self {
            positions,
            corners,
            single_sided: triangles.iter().take_while(|triangle| !triangle.double_sided).count(),
        }
    }

    fn runs(&self) -> [TriangleRun<'_>; 2] {
        let (single, double) = self.corners.split_at(3 * self.single_sided);
        let run = TriangleRun { positions: &self.positions, corners: single, first_number: 1, double_sided: false };
        [run, TriangleRun { corners: double, first_number: 1 + self.single_sided as u32, double_sided: true, ..run }]
    }
}

/// Draws triangles with a new rasterizer.
fn drawn(view: &RasterView, triangles: &[Triangle], words: &[u32], wanted: Option<Region>) -> SurfaceMaps {
    Rasterizer::default().draw(view, &Mesh::new(triangles).runs(), words, wanted).clone()
}

/// A triangle of constant depth. Corners are in pixels.
fn flat(corners: [[i64; 2]; 3], depth: f32) -> Triangle {
    Triangle { corners: corners.map(|corner| corner.map(|c| c * 256)), depths: [depth; 3], double_sided: false }
}

/// A triangle that covers the whole canvas.
const ALL: [[i64; 2]; 3] = [[-10, -10], [-10, 300], [300, -10]];

#[test]
fn pictures_equal_those_of_the_reference() {
    let mut random = Random(1);
    let wanted = Region { x: 20, y: 30, width: 25, height: 9 };
    for region in [
        Region::whole(90, 70),
        Region { x: 7, y: 5, width: 77, height: 61 },
        Region { x: 33, y: 31, width: 31, height: 2 },
        Region { x: 64, y: 64, width: 1, height: 1 },
    ] {
        let view = view(CANVAS, region);
        for count in [1, 8, 60, 300] {
            let mut triangles: Vec<_> = (0..count).map(|_| random.triangle()).collect();
            for triangle in &mut triangles[count / 2..] {
                triangle.double_sided = true;
            }
            let words = random.words(count);
            let expected = reference::draw(&view, &triangles, &words, Some(wanted));
            assert!(drawn(&view, &triangles, &words, Some(wanted)) == expected, "{count} triangles in {region:?}");
        }
    }
}

#[test]
fn large_triangles_are_exact() {
    let mut random = Random(2);
    let region = Region::whole(64, 64);
    let view = view([64, 64], region);
    for length in [20, 31, 32, 33, 60, 1000, 2047, 2048, 2049, 2100, 30_000, 500_000] {
        for _ in 0..6 {
            // An edge through a point of the canvas. All coordinates are whole pixels, so the projection is exact.
            let (x, y) = (i64::from(random.below(64)), i64::from(random.below(64)));
            let (dx, dy) = (length, random.around(length as u32));
            let corners = [[x - dx, y - dy], [x + dx, y + dy], [x + dy, y - dx]];
            let triangles = [flat(corners, 0.5), Triangle { double_sided: true, ..flat(corners, 0.25) }];
            let expected = reference::draw(&view, &triangles, &[0, 1], Some(region));
            assert!(drawn(&view, &triangles, &[0, 1], Some(region)) == expected, "{corners:?}");
        }
    }
}

#[test]
fn triangles_around_a_point_cover_each_sample_once() {
    let view = view(CANVAS, Region::whole(90, 70));
    // The first point is the position of a sample. Some edges pass through many samples.
    for center in [[40 * 256 + 96, 30 * 256 + 32], [40 * 256 + 7, 30 * 256 + 201], [0, 70 * 256]] {
        let around: [[i64; 2]; 8] = [[1, 0], [1, -1], [0, -1], [-1, -1], [-1, 0], [-1, 1], [0, 1], [1, 1]]
            .map(|direction| [center[0] + direction[0] * 51_200, center[1] + direction[1] * 51_200]);
        let mut counts = vec![[0; 4]; 90 * 70];
        for k in 0..8 {
            let corners = [center, around[k], around[(k + 1) % 8]];
            let maps = drawn(&view, &[Triangle { corners, ..flat(ALL, 0.5) }], &[0], None);
            for (counts, surface) in counts.iter_mut().zip(&maps.surfaces[0]) {
                for (sample, count) in counts.iter_mut().enumerate() {
                    *count += surface >> (28 + sample) & 1;
                }
            }
        }
        assert!(counts.iter().all(|counts| *counts == [1; 4]), "around {center:?}");
    }
}

#[test]
fn samples_show_the_nearest_triangle() {
    let mut random = Random(3);
    let view = view([32, 32], Region::whole(32, 32));
    for count in [1, 3, 40] {
        let triangles: Vec<_> = std::iter::repeat_with(|| {
            let corners = [0; 3].map(|_| random.near([16 * 256, 16 * 256], 24 * 256));
            let depths = [0; 3].map(|_| random.below(1250) as f32 / 1000.0);
            Triangle { corners, depths, double_sided: true }
        })
        // The depth of narrow triangles is imprecise.
        .filter(|triangle| triangle.area().abs() > 200_000)
        .take(count)
        .collect();
        compare_depths(&view, &triangles);
    }
}

#[test]
fn depths_are_exact_in_all_tiles() {
    let mut random = Random(9);
    let view = view([64, 64], Region::whole(64, 64));
    for length in [15, 1000, 3000, 100_000] {
        // An edge through a point of the canvas, and a corner near this point. All coordinates are whole pixels, so the
        // projection is exact.
        let mut triangles = std::iter::repeat_with(|| {
            let (x, y) = (i64::from(random.below(64)), i64::from(random.below(64)));
            let (dx, dy) = (length, random.around(length as u32));
            let corner = [x + random.around(100), y + random.around(100)];
            let depths = [0; 3].map(|_| random.below(1250) as f32 / 1000.0);
            let corners = [[x - dx, y - dy], [x + dx, y + dy], corner];
            Triangle { depths, double_sided: true, ..flat(corners, 0.0) }
        })
        // The depth of narrow triangles is imprecise.
        .filter(|triangle| triangle.area().abs() > 40 * length * 256 * 256);
        for _ in 0..10 {
            let few: Vec<_> = triangles.by_ref().take(3).collect();
            compare_depths(&view, &few);
        }
    }
}

/// Draws double-sided triangles, and compares all samples with exact ones.
fn compare_depths(view: &RasterView, triangles: &[Triangle]) {
    let (mesh, mut projected, mut bins) = (Mesh::new(triangles), Projected::default(), Bins::default());
    let grid = Grid::new(view.canvas, view.region);
    projected.project(&Projection::new(view), &mesh.runs());
    bins.fill(&grid, &mesh.runs(), &projected);
    let mut samples = Samples::new();
    for (column, row) in grid.drawn_rows().flat_map(|row| grid.drawn_columns().map(move |column| (column, row))) {
        let (left, top) = (column * TILE_SIDE, row * TILE_SIDE);
        samples.clear();
        for index in bins.of_tile(column, row) {
            samples.draw(bins.triangle(index), [left as i32, top as i32]);
        }
        for (x, y) in (0..TILE_SIDE).flat_map(|y| (0..TILE_SIDE).map(move |x| (x, y))) {
            let (numbers, depths) = samples.row(y);
            for sample in 0..SAMPLES {
                let depth = f32::from_bits(depths[x][sample].cast_unsigned());
                compare_sample(triangles, position(left + x, top + y, sample), (numbers[x][sample], depth.into()));
            }
        }
    }
}

/// Compares the triangle (its number, or 0) and the depth of the sample at a position with the nearest triangle there.
fn compare_sample(triangles: &[Triangle], at: [i64; 2], (number, depth): (u32, f64)) {
    let covering = triangles.iter().filter(|triangle| triangle.covers(at));
    let nearest = covering.map(|triangle| triangle.depth(at)).reduce(f64::min);
    // Rounding may move samples across the far plane.
    if nearest.is_some_and(|depth| (depth - 1.0).abs() < 1e-4) {
        return;
    }
    let nearest = nearest.filter(|depth| *depth < 1.0);
    let shown = (number as usize).checked_sub(1).map(|k| &triangles[k]);
    assert_eq!(shown.is_some(), nearest.is_some(), "{at:?} of {triangles:?}");
    let (Some(shown), Some(nearest)) = (shown, nearest) else { return };
    assert!(shown.covers(at) && (shown.depth(at) - depth).abs() < 1e-4, "{at:?}: {depth} of {triangles:?}");
    assert!((depth - nearest).abs() < 1e-4, "{at:?}: {depth} instead of {nearest} of {triangles:?}");
}

#[test]
fn tiles_with_many_triangles_equal_those_of_the_reference() {
    let mut random = Random(8);
    let view = view([32, 32], Region::whole(32, 32));
    let triangles: Vec<_> = std::iter::repeat_with(|| {
        let center = random.near([16 * 256, 16 * 256], 16 * 256);
        let corners = [0; 3].map(|_| random.near(center, 400));
        Triangle { corners, depths: [0.5; 3], double_sided: true }
    })
    .take(3 * KEPT)
    .collect();
    let words = random.words(triangles.len());
    let expected = reference::draw(&view, &triangles, &words, Some(view.region));
    assert!(expected.visible.len() > KEPT, "{} triangles are visible", expected.visible.len());
    assert!(drawn(&view, &triangles, &words, Some(view.region)) == expected);
}

#[test]
fn the_later_of_equally_near_triangles_is_shown() {
    let view = view(CANVAS, Region::whole(90, 70));
    // More triangles than a task processes.
    let triangles = vec![flat(ALL, 0.5); 5000];
    let maps = drawn(&view, &triangles, &vec![0; 5000], Some(view.region));
    assert_eq!(maps.visible, [5000]);
    let nearer = [flat(ALL, 0.25), flat(ALL, 0.5)];
    assert_eq!(drawn(&view, &nearer, &[0; 2], Some(view.region)).visible, [1]);
}

#[test]
fn only_depths_from_0_to_1_are_drawn() {
    let view = view(CANVAS, Region::whole(90, 70));
    for (depth, is_drawn) in [(-0.01, false), (-0.0, true), (0.0, true), (1.0, true), (1.01, false), (3.0, false)] {
        let maps = drawn(&view, &[flat(ALL, depth)], &[4], None);
        let (surface, batch) = if is_drawn { (0xf000_0001, 5) } else { (0, 0) };
        assert!(maps.surfaces[0].iter().all(|shown| *shown == surface), "{depth}");
        assert!(maps.batches[0].iter().all(|shown| *shown == batch), "{depth}");
        assert!(maps.visible.is_empty(), "no region is wanted");
    }
}

#[test]
fn parts_of_triangles_outside_of_the_planes_are_cut_off() {
    let view = view(CANVAS, Region::whole(90, 70));
    // The depth increases from left to right. It is 0 at the column 20, and 1 at the column 60.
    let depth = |[x, _]: [i64; 2]| (x - 20) as f32 / 40.0;
    let maps = drawn(&view, &[Triangle { depths: ALL.map(depth), ..flat(ALL, 0.0) }], &[0], None);
    for (k, surface) in maps.surfaces[0].iter().enumerate() {
        let expected = if (20..60).contains(&(k % 90)) { 0xf000_0001 } else { 0 };
        assert_eq!(*surface, expected, "column {}", k % 90);
    }
}

#[test]
fn back_faces_are_drawn_if_double_sided() {
    let view = view(CANVAS, Region::whole(90, 70));
    let back = flat([ALL[0], ALL[2], ALL[1]], 0.5);
    assert_eq!(drawn(&view, &[back], &[0], Some(view.region)).visible, [0; 0]);
    let both = Triangle { double_sided: true, ..back };
    assert_eq!(drawn(&view, &[both], &[0], Some(view.region)).visible, [1]);
}

#[test]
fn triangles_that_cannot_be_projected_are_left_out() {
    let view = view(CANVAS, Region::whole(90, 70));
    let mut mesh = Mesh::new(&[flat(ALL, 0.25), flat(ALL, 0.5)]);
    mesh.positions[1][0] = f32::NAN;
    let mut rasterizer = Rasterizer::default();
    assert_eq!(rasterizer.draw(&view, &mesh.runs(), &[0; 2], Some(view.region)).visible, [2]);
}

#[test]
fn all_processors_get_the_same_maps() {
    let mut random = Random(4);
    let view = view(CANVAS, Region { x: 3, y: 0, width: 87, height: 70 });
    for count in [20, 2000] {
        let mut triangles: Vec<_> = (0..count).map(|_| random.triangle()).collect();
        for triangle in &mut triangles {
            triangle.depths = [0; 3].map(|_| random.below(1000) as f32 / 1000.0);
        }
        let (mesh, words) = (Mesh::new(&triangles), random.words(count));
        let mut rasterizers = [Rasterizer::default(), Rasterizer::default()];
        let [plain, fast] = &mut rasterizers;
        let plain = plain.draw_with(draw_row, &view, &mesh.runs(), &words, Some(view.region));
        let fast = fast.draw_with(row_function(), &view, &mesh.runs(), &words, Some(view.region));
        assert!(plain == fast, "{count} triangles");
    }
}

#[test]
fn pictures_do_not_depend_on_earlier_ones() {
    let mut random = Random(5);
    let mut rasterizer = Rasterizer::default();
    let whole = Region::whole(90, 70);
    let part = Region { x: 40, y: 9, width: 22, height: 50 };
    let narrow = Region::whole(33, 128);
    let pictures = [
        (CANVAS, whole, 100),
        (CANVAS, whole, 3),
        (CANVAS, part, 50),
        (CANVAS, whole, 0),
        ([33, 128], narrow, 50),
        (CANVAS, Region::EMPTY, 5),
        (CANVAS, whole, 20),
    ];
    for (canvas, region, count) in pictures {
        let triangles: Vec<_> = (0..count).map(|_| random.triangle()).collect();
        let (view, mesh, words) = (view(canvas, region), Mesh::new(&triangles), random.words(count));
        let maps = rasterizer.draw(&view, &mesh.runs(), &words, Some(part));
        assert!(*maps == drawn(&view, &triangles, &words, Some(part)), "{count} triangles in {region:?} of {canvas:?}");
        assert!(maps.surfaces.iter().all(|map| map.len() == (canvas[0] * canvas[1]) as usize));
    }
}
