//! Writes `transforms.json`, and the split files (train, validation, test) that some training programs read instead.

use plinth_spec::DatasetLayer;
use serde_json::{Map, Value, json};

use super::cameras::{DatasetCameras, rows};
use super::layout::{POINTS, TRANSFORMS};

/// Factor by which instant-ngp scales positions. It maps a scene of ±1.5 units into the unit cube.
const NGP_SCALE: f64 = 0.33;
/// Fraction of the unit cube's half width that the model may fill in instant-ngp.
const NGP_ROOM: f64 = 0.98;
/// Maximum number of pixels of all views together at which instant-ngp gets depth images. It keeps 4 bytes of GPU
/// memory per depth pixel, although it ignores depth by default.
const NGP_DEPTH_PIXELS: u64 = 1 << 30;
/// Every eighth view is for testing. 3D Gaussian Splatting, gsplat and nerfstudio's COLMAP reader have the same
/// default.
const TEST_EVERY: usize = 8;
/// Number of views that a dataset must have so that each split file has a view.
const LEAST_FOR_SPLITS: usize = 5;

/// Returns the file with all cameras for nerfstudio, instant-ngp, OpenSplat and Brush. If `splits` is true, also
/// returns the three split files for readers of the NeRF-synthetic format.
pub(crate) fn files(cameras: &DatasetCameras, coverage: &str, splits: bool) -> Vec<(String, Value)> {
    let mut files = vec![(TRANSFORMS.to_owned(), all(cameras, coverage))];
    if splits {
        for (name, member) in [("train", Split::Train), ("val", Split::Validation), ("test", Split::Test)] {
            files.push((format!("transforms_{name}.json"), split(cameras, member)));
        }
    }
    files
}

/// Returns a warning if a split file has no views. Some training programs cannot read such a file.
pub(crate) fn split_warning(views: usize) -> Option<String> {
    (views < LEAST_FOR_SPLITS).then(|| {
        format!("a split file has no views: the files need a dataset of at least {LEAST_FOR_SPLITS} views, not {views}")
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Split {
    Train,
    Validation,
    Test,
}

fn split_of(view: usize) -> Split {
    match view % TEST_EVERY {
        0 => Split::Test,
        4 => Split::Validation,
        _ => Split::Train,
    }
}

fn all(c: &DatasetCameras, coverage: &str) -> Value {
    let views = c.world_from_camera.len() as u64;
    let pixels = views * u64::from(c.width) * u64::from(c.height);
    let frames: Vec<Value> = (c.world_from_camera.iter().enumerate())
        .map(|(view, pose)| {
            let depth = DatasetLayer::DepthMetric.path(view);
            json!({
                "file_path": DatasetLayer::Image.path(view),
                "depth_file_path": depth,
                "depth_path": depth,
                "transform_matrix": rows(pose),
            })
        })
        .collect();
    let mut out = intrinsics(c);
    out.extend(members(json!({
        "aabb_scale": 1,
        "scale": NGP_SCALE.min(0.5 * NGP_ROOM / c.reach.max(1e-6)),
        "offset": [0.5, 0.5, 0.5],
        "ply_file_path": POINTS,
        "integer_depth_scale": 0.001,
        "enable_depth_loading": pixels < NGP_DEPTH_PIXELS,
        "depth_near": c.depth_near,
        "depth_far": c.depth_far,
        "depth_type": "z",
        "normal_space": "world",
        "coverage": coverage,
        "scene_normalization": rows(&c.world_from_model),
        "model_from_scene": rows(&c.world_from_model.inverse()),
        "frames": frames,
    })));
    Value::Object(out)
}

/// Returns the intrinsics. The names of the members are those that readers of `transforms.json` expect.
fn intrinsics(c: &DatasetCameras) -> Map<String, Value> {
    members(json!({
        "camera_model": "OPENCV",
        "camera_angle_x": DatasetCameras::angle(c.width, c.focal.0),
        "camera_angle_y": DatasetCameras::angle(c.height, c.focal.1),
        "fl_x": c.focal.0,
        "fl_y": c.focal.1,
        "cx": c.principal_point.0,
        "cy": c.principal_point.1,
        "w": c.width,
        "h": c.height,
        "k1": 0.0, "k2": 0.0, "p1": 0.0, "p2": 0.0,
    }))
}

/// Returns the content of a split file. Its image paths have no file extension, because readers of this format append
/// it.
fn split(c: &DatasetCameras, wanted: Split) -> Value {
    let views = c.world_from_camera.iter().enumerate().filter(|(view, _)| split_of(*view) == wanted);
    let frames: Vec<Value> = views
        .map(|(view, pose)| {
            let path = DatasetLayer::Image.path(view);
            json!({"file_path": path.trim_end_matches(".png"), "transform_matrix": rows(pose)})
        })
        .collect();
    let mut out = intrinsics(c);
    out.insert("frames".to_owned(), Value::Array(frames));
    Value::Object(out)
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_says_that_a_split_file_has_no_views() {
        for views in 1..20 {
            let members = [Split::Train, Split::Validation, Split::Test];
            let is_empty = |member: &Split| (0..views).all(|view| split_of(view) != *member);
            assert_eq!(split_warning(views).is_some(), members.iter().any(is_empty), "{views}");
        }
    }
}
