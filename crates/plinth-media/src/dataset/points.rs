//! Samples points on the model's surface, with normals and colours, from the images of views.

use plinth_frame::Layers;

use super::cameras::DatasetCameras;
use super::normals::in_set;

/// Maximum number of points of a dataset. There are fewer points if the views have few pixels that show the model.
const POINTS: usize = 200_000;
/// Minimum alpha of pixels that become points. If no pixel of a view has this alpha, all pixels that show the model are
/// used.
const SOLID: u8 = 128;
/// Size of a point in bytes: x, y, z, nx, ny, nz as little-endian 32-bit floats, then red, green and blue as bytes.
pub(crate) const POINT_BYTES: usize = 27;

/// A point on the surface of the model, in the dataset's world space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) place: [f32; 3],
    pub(crate) normal: [f32; 3],
    pub(crate) color: [u8; 3],
}

impl Point {
    /// Returns the point as a vertex of a binary PLY file.
    pub(crate) fn row(&self) -> [u8; POINT_BYTES] {
        let mut row = [0; POINT_BYTES];
        for (slot, value) in row.as_chunks_mut::<4>().0.iter_mut().zip(self.place.iter().chain(&self.normal)) {
            *slot = value.to_le_bytes();
        }
        row[24..].copy_from_slice(&self.color);
        row
    }

    /// Parses the bytes that [`Self::row`] returns.
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

/// Returns the maximum number of points that are sampled from each view.
pub(crate) fn quota(views: usize) -> usize {
    (POINTS / views.max(1)).max(1)
}

/// Samples at most `quota` points from a view. The list of pixels that show the model is divided into `quota` parts of
/// equal length, and one random pixel of each part becomes a point.
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

/// Returns a binary PLY file with the vertices `rows`, as returned by [`Point::row`].
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
    fn a_dataset_has_at_most_200_000_points() {
        assert_eq!([100, 196, 400].map(|views| views * quota(views)), [200_000, 199_920, 200_000]);
        assert_eq!((quota(0), quota(300_000)), (200_000, 1));
    }

    #[test]
    fn rows_round_trip() {
        let point = Point { place: [1.0, -2.5, 3.0], normal: [0.0, 0.6, -0.8], color: [1, 128, 255] };
        assert_eq!(Point::of_row(&point.row()), point);
        assert!(ply(&point.row()).starts_with(b"ply\nformat binary_little_endian 1.0\nelement vertex 1\n"));
    }
}
