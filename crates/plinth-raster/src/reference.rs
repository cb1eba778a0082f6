//! A slow rasterizer with which the tests compare the fast one. It tests each sample against each triangle.

use glam::Vec3;
use plinth_frame::Region;

use crate::{RasterView, SurfaceMaps, TileBatches};

/// A triangle with corners in subpixels, 1/256 of a pixel, from the top left of the canvas.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Triangle {
    pub(crate) corners: [[i64; 2]; 3],
    pub(crate) depths: [f32; 3],
    pub(crate) double_sided: bool,
}

/// Positions of the samples of a pixel in sixteenths of a pixel.
const SAMPLES: [[i64; 2]; 4] = [[6, 2], [14, 6], [2, 10], [10, 14]];

/// Returns the position of a sample in subpixels.
pub(crate) fn position(x: usize, y: usize, sample: usize) -> [i64; 2] {
    [x as i64 * 256 + SAMPLES[sample][0] * 16, y as i64 * 256 + SAMPLES[sample][1] * 16]
}

impl Triangle {
    /// Twice the area, which is positive if the corners are clockwise in the picture.
    pub(crate) fn area(&self) -> i64 {
        let [a, b, c] = self.corners;
        (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    }

    /// Returns whether the triangle shows the side that is drawn, and covers a position.
    pub(crate) fn covers(&self, [x, y]: [i64; 2]) -> bool {
        let sides = [0, 1, 2].map(|k| {
            let ([x0, y0], [x1, y1]) = (self.corners[k], self.corners[(k + 1) % 3]);
            let side = (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0);
            // The position is moved to the right by an infinitesimal distance, and downwards by one that is infinitely
            // smaller. So it is on no edge, and on the inner side of the left or top edge on which it was.
            [side, y0 - y1, x1 - x0].into_iter().map(i64::signum).find(|sign| *sign != 0)
        });
        sides == [Some(-1); 3] || (sides == [Some(1); 3] && self.double_sided)
    }

    /// Returns the depth at a position.
    pub(crate) fn depth(&self, [x, y]: [i64; 2]) -> f64 {
        let weight = |k: usize| {
            let ([x0, y0], [x1, y1]) = (self.corners[(k + 1) % 3], self.corners[(k + 2) % 3]);
            ((x1 - x0) * (y - y0) - (y1 - y0) * (x - x0)) as f64 / self.area() as f64
        };
        (0..3).map(|k| weight(k) * f64::from(self.depths[k])).sum()
    }
}

/// The samples of a pixel: numbers of triangles, and depths.
type Samples = ([u32; 4], [f32; 4]);

/// Draws triangles of constant depth, which have the numbers 1, 2 and so on.
pub(crate) fn draw(view: &RasterView, triangles: &[Triangle], words: &[u32], wanted: Option<Region>) -> SurfaceMaps {
    let [width, height] = view.canvas.map(|length| length as usize);
    let row_tiles = width.div_ceil(32) + 1;
    let mut maps = SurfaceMaps {
        surfaces: [vec![0; width * height], vec![0; width * height]],
        batches: [vec![0; width * height], vec![0; width * height]],
        edge_tiles: vec![0; row_tiles * height.div_ceil(32)],
        tile_batches: [(); 2].map(|()| vec![TileBatches::default(); (row_tiles - 1) * height.div_ceil(32)]),
        visible: Vec::new(),
    };
    for y in (0..height).filter(|y| is_inside(*y, view.region.y, view.region.height)) {
        for x in (0..width).filter(|x| is_inside(*x, view.region.x, view.region.width)) {
            let samples = samples(triangles, x, y);
            let (numbers, _) = samples;
            if wanted.is_some_and(|w| is_inside(x, w.x, w.width) && is_inside(y, w.y, w.height)) {
                maps.visible.extend(numbers.iter().filter(|number| **number != 0));
            }
            if numbers != [numbers[0]; 4] {
                maps.edge_tiles[y / 32 * row_tiles + x / 32] = 1;
            }
            for (k, surface) in group(view, words, samples).into_iter().enumerate() {
                maps.surfaces[k][y * width + x] = surface;
                let triangle = (surface & 0x0fff_ffff) as usize;
                let batch = if triangle == 0 { 0 } else { (words[triangle - 1] & 0xffff) as u16 + 1 };
                maps.batches[k][y * width + x] = batch;
                let listed = &mut maps.tile_batches[k][y / 32 * (row_tiles - 1) + x / 32];
                if batch != 0 && !listed.contains(&batch) {
                    *listed.iter_mut().find(|free| **free == 0).unwrap() = batch;
                }
            }
        }
    }
    maps.visible.sort_unstable();
    maps.visible.dedup();
    maps
}

fn is_inside(at: usize, start: u32, length: u32) -> bool {
    (start as usize..(start + length) as usize).contains(&at)
}

fn samples(triangles: &[Triangle], x: usize, y: usize) -> Samples {
    let (mut numbers, mut depths) = ([0; 4], [1.0; 4]);
    for sample in 0..4 {
        let at = position(x, y, sample);
        for (number, triangle) in (1..).zip(triangles) {
            let depth = triangle.depths[0];
            if depth >= 0.0 && depth <= depths[sample] && triangle.covers(at) {
                (numbers[sample], depths[sample]) = (number, depth);
            }
        }
    }
    (numbers, depths)
}

/// Groups the samples of a pixel as `pass/classify.wgsl` of plinth-render does.
fn group(view: &RasterView, words: &[u32], (numbers, depths): Samples) -> [u32; 2] {
    let word = |i: usize| words[numbers[i] as usize - 1];
    let distance = |i: usize| view.distance_numerator / (view.depth_range - depths[i]);
    let reach = |i: usize| distance(i) * view.pixel_size * 3.0 / view.camera_axis.dot(normal(word(i))).abs().max(0.1);
    let same = |i: usize, j: usize| {
        numbers[i] == numbers[j]
            || (word(i) & 0xffff == word(j) & 0xffff
                && normal(word(i)).dot(normal(word(j))) > 0.85
                && (distance(i) - distance(j)).abs() < reach(i).max(reach(j)))
    };
    let covered: Vec<usize> = (0..4).filter(|i| numbers[*i] != 0).collect();
    // The first of those with the most votes.
    let votes = |i: usize| covered.iter().filter(|j| numbers[**j] == numbers[i]).count();
    let Some(most_seen) = covered.iter().rev().copied().max_by_key(|i| votes(*i)) else { return [0; 2] };
    let showing: Vec<_> = covered.iter().filter(|i| numbers[**i] == numbers[most_seen]).collect();
    let (first, rest): (Vec<usize>, Vec<usize>) = covered.iter().partition(|j| showing.iter().any(|i| same(**i, **j)));
    let size = |i: usize| rest.iter().filter(|j| same(i, **j)).count();
    let second = rest.iter().rev().copied().max_by_key(|i| size(*i));
    let packed = |triangle: usize, samples: &[usize]| {
        numbers[triangle] | samples.iter().map(|sample| 1_u32 << (28 + *sample)).sum::<u32>()
    };
    [packed(most_seen, &first), second.map_or(0, |second| packed(second, &rest))]
}

/// Decodes the normal of a triangle's word.
fn normal(word: u32) -> Vec3 {
    let [_, _, x, y] = word.to_le_bytes().map(|byte| f32::from(byte) / 127.5 - 1.0);
    let z = 1.0 - x.abs() - y.abs();
    let fold = (-z).max(0.0);
    Vec3::new(x - fold * x.signum(), y - fold * y.signum(), z).normalize()
}
