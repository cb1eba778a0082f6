//! Writes the folder `sparse/0`, which contains the cameras and points as COLMAP's text and binary files (format:
//! COLMAP, doc/format.rst). 3D Gaussian Splatting, gsplat and pycolmap read these files.

use std::fmt::Write as _;

use glam::{DMat3, DMat4, DQuat, DVec4};
use plinth_spec::DatasetLayer;

use super::cameras::DatasetCameras;
use super::layout::COLMAP;
use super::points::{POINT_BYTES, Point};

/// COLMAP's ID of the camera model PINHOLE. It is the only model with two focal lengths that 3D Gaussian Splatting
/// reads.
const PINHOLE: i32 = 1;
const CAMERA_ID: u32 = 1;

/// Returns the paths and the contents of the files in `sparse/0`. `points` contains the vertex rows of a PLY file.
pub(crate) fn files(cameras: &DatasetCameras, points: &[u8]) -> Vec<(String, Vec<u8>)> {
    let points = points.as_chunks::<POINT_BYTES>().0;
    [
        ("cameras.txt", cameras_text(cameras).into_bytes()),
        ("images.txt", images_text(cameras).into_bytes()),
        ("points3D.txt", points_text(points).into_bytes()),
        ("cameras.bin", cameras_binary(cameras)),
        ("images.bin", images_binary(cameras)),
        ("points3D.bin", points_binary(points)),
    ]
    .map(|(name, content)| (format!("{COLMAP}/{name}"), content))
    .into()
}

/// Converts a camera-to-world transform to COLMAP's world-to-camera transform. In COLMAP's camera space, x points
/// right, y down and z forward. Returns a quaternion (w, x, y, z) and a translation.
fn pose(world_from_camera: &DMat4) -> ([f64; 4], [f64; 3]) {
    let flip = DMat4::from_diagonal(DVec4::new(1.0, -1.0, -1.0, 1.0));
    let camera_from_world = flip * world_from_camera.inverse();
    let q = DQuat::from_mat3(&DMat3::from_mat4(camera_from_world)).normalize();
    // A quaternion and its negative describe the same rotation. COLMAP prefers the quaternion with w ≥ 0.
    let q = if q.w < 0.0 { -q } else { q };
    ([q.w, q.x, q.y, q.z], camera_from_world.w_axis.truncate().to_array())
}

/// Returns the name of a view's file in the folder `images`.
fn image_name(view: usize) -> String {
    DatasetLayer::Image.file_name(view)
}

fn cameras_text(c: &DatasetCameras) -> String {
    let ((fx, fy), (cx, cy)) = (c.focal, c.principal_point);
    format!(
        "# CAMERA_ID, MODEL, WIDTH, HEIGHT, PARAMS[]\n{CAMERA_ID} PINHOLE {} {} {fx} {fy} {cx} {cy}\n",
        c.width, c.height
    )
}

fn images_text(cameras: &DatasetCameras) -> String {
    let mut out = "# IMAGE_ID, QW, QX, QY, QZ, TX, TY, TZ, CAMERA_ID, NAME\n# POINTS2D[] as (X, Y, POINT3D_ID): none\n"
        .to_owned();
    for (view, matrix) in cameras.world_from_camera.iter().enumerate() {
        let ([w, x, y, z], [tx, ty, tz]) = pose(matrix);
        let name = image_name(view);
        let _written = writeln!(out, "{} {w} {x} {y} {z} {tx} {ty} {tz} {CAMERA_ID} {name}\n", view + 1);
    }
    out
}

fn points_text(points: &[[u8; POINT_BYTES]]) -> String {
    let mut out = "# POINT3D_ID, X, Y, Z, R, G, B, ERROR, TRACK[] as (IMAGE_ID, POINT2D_IDX): none\n".to_owned();
    for (i, row) in points.iter().enumerate() {
        let Point { place: [x, y, z], color: [r, g, b], .. } = Point::of_row(row);
        let _written = writeln!(out, "{} {x} {y} {z} {r} {g} {b} 0", i + 1);
    }
    out
}

fn cameras_binary(c: &DatasetCameras) -> Vec<u8> {
    let mut out = 1_u64.to_le_bytes().to_vec();
    out.extend(CAMERA_ID.to_le_bytes());
    out.extend(PINHOLE.to_le_bytes());
    out.extend(u64::from(c.width).to_le_bytes());
    out.extend(u64::from(c.height).to_le_bytes());
    for parameter in [c.focal.0, c.focal.1, c.principal_point.0, c.principal_point.1] {
        out.extend(parameter.to_le_bytes());
    }
    out
}

fn images_binary(cameras: &DatasetCameras) -> Vec<u8> {
    let mut out = (cameras.world_from_camera.len() as u64).to_le_bytes().to_vec();
    for (view, matrix) in cameras.world_from_camera.iter().enumerate() {
        let (rotation, translation) = pose(matrix);
        out.extend((view as u32 + 1).to_le_bytes());
        out.extend(rotation.iter().chain(&translation).flat_map(|v| v.to_le_bytes()));
        out.extend(CAMERA_ID.to_le_bytes());
        out.extend(image_name(view).as_bytes());
        // The zero byte that ends the name, followed by the number of 2D points.
        out.push(0);
        out.extend(0_u64.to_le_bytes());
    }
    out
}

fn points_binary(points: &[[u8; POINT_BYTES]]) -> Vec<u8> {
    let mut out = (points.len() as u64).to_le_bytes().to_vec();
    for (i, row) in points.iter().enumerate() {
        let point = Point::of_row(row);
        out.extend((i as u64 + 1).to_le_bytes());
        out.extend(point.place.iter().flat_map(|v| f64::from(*v).to_le_bytes()));
        out.extend(point.color);
        // The reprojection error, followed by the number of images in which the point was seen (its track).
        out.extend(0.0_f64.to_le_bytes());
        out.extend(0_u64.to_le_bytes());
    }
    out
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;

    #[test]
    fn a_camera_above_the_origin_looks_down_in_colmap_coordinates() {
        let (q, t) = pose(&DMat4::from_translation(DVec3::new(0.0, 0.0, 4.0)));
        // The camera is rotated by 180° around x. The origin of the world is 4 units in front of the camera.
        assert!((q[1].abs() - 1.0).abs() < 1e-12 && q[0].abs() < 1e-12, "{q:?}");
        assert!((t[2] - 4.0).abs() < 1e-12 && t[0].abs() < 1e-12, "{t:?}");
    }
}
