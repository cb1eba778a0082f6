//! Samples points on the surface from the views: positions, normals and colours.

use plinth_frame::Layers;

use super::cameras::DatasetCameras;
use super::normals::in_set;

/// Number of points of a dataset, unless all views together show fewer pixels of the model.
const POINTS: usize = 200_000;
/// Minimum coverage of a pixel whose colour is used.
const SOLID: u8 = 128;
/// Size of a point: x, y, z, nx, ny, nz as little-endian floats, red, green, blue.
pub(crate) const POINT_BYTES: usize = 27;

/// A point on the surface, in the dataset's world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) place: [f32; 3],
    pub(crate) normal: [f32; 3],
    pub(crate) color: [u8; 3],
}

impl Point {
    /// Returns the point as a row of a binary PLY file.
    pub(crate) fn row(&self) -> [u8; POINT_BYTES] {
        let mut row = [0; POINT_BYTES];
        for (slot, value) in row.as_chunks_mut::<4>().0.iter_mut().zip(self.place.iter().chain(&self.normal)) {
            *slot = value.to_le_bytes();
        }
        row[24..].copy_from_slice(&self.color);
        row
    }

    /// Parses such a row.
    pub(crate) fn of_row(row: &[u8; POINT_BYTES]) -> Self {
        let floats = row.as_chunks::<4>().0;
        let read = |i: usize| f32::from_le_bytes(floats[i]);
        Self {
            place: [read(0), read(1), read(2)],
            normal: [read(3), read(4), read(5)],
            color: [row[24], row[25], row[26]],
        }
    }
}

/// Returns the number of points to take from each view.
pub(crate) fn quota(views: usize) -> usize {
    POINTS.div_ceil(views.max(1))
}

/// Returns at most `quota` points of a view, spread over its covered pixels: the list of these pixels is divided into
/// `quota` equal parts, and one pixel of each part is used.
pub(crate) fn points_of(layers: &Layers, cameras: &DatasetCameras, quota: usize) -> Vec<Point> {
    let seen = |least: u8| -> Vec<u32> {
        let pixels = layers.depth.iter().zip(&layers.color).enumerate();
        pixels.filter(|(_, (d, c))| **d > 0.0 && c[3] >= least).map(|(i, _)| i as u32).collect()
    };
    let mut pixels = seen(SOLID);
    if pixels.is_empty() {
        pixels = seen(1);
    }
    let runs = quota.min(pixels.len()) as u64;
    (0..runs)
        .map(|k| {
            let first = k * pixels.len() as u64 / runs;
            let length = (k + 1) * pixels.len() as u64 / runs - first;
            let i = pixels[(first + scattered(k ^ (u64::from(layers.index) << 32)) % length) as usize];
            let pixel = i as usize;
            let place = cameras.point(layers.index as usize, i % layers.width, i / layers.width, layers.depth[pixel]);
            let [r, g, b, _] = layers.color[pixel];
            Point { place: place.as_vec3().to_array(), normal: in_set(layers.normal[pixel]), color: [r, g, b] }
        })
        .collect()
}

/// Returns a pseudo-random number (SplitMix64; Steele, Lea and Flood 2014).
fn scattered(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns a binary PLY file from rows.
pub(crate) fn ply(rows: &[u8]) -> Vec<u8> {
    let mut out = format!(
        "ply\nformat binary_little_endian 1.0\nelement vertex {}\n\
         property float x\nproperty float y\nproperty float z\n\
         property float nx\nproperty float ny\nproperty float nz\n\
         property uchar red\nproperty uchar green\nproperty uchar blue\nend_header\n",
        rows.len() / POINT_BYTES
    )
    .into_bytes();
    out.extend_from_slice(rows);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_round_trip() {
        let point = Point { place: [1.0, -2.5, 3.0], normal: [0.0, 0.6, -0.8], color: [1, 128, 255] };
        assert_eq!(Point::of_row(&point.row()), point);
        assert!(ply(&point.row()).starts_with(b"ply\nformat binary_little_endian 1.0\nelement vertex 1\n"));
    }
}
