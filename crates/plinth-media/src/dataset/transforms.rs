//! Writes `transforms.json`, and the split files that some trainers read instead.

use serde_json::{Map, Value, json};

use super::cameras::{DatasetCameras, rows};
use super::layout::{Layer, POINTS, TRANSFORMS};

/// Scale with which instant-ngp fits a scene of ±1.5 units into its unit cube.
const NGP_SCALE: f64 = 0.33;
/// Fraction of half the unit cube that a model may fill.
const NGP_ROOM: f64 = 0.98;
/// Number of depth pixels above which depth is disabled for instant-ngp, which keeps 4 bytes per pixel in device memory
/// and ignores depth by default.
const NGP_DEPTH_PIXELS: u64 = 1 << 30;
/// Every eighth view is for testing, as in gsplat, 3D Gaussian Splatting and nerfstudio's COLMAP reader by default.
const TEST_EVERY: usize = 8;

/// Returns the files with all cameras for nerfstudio, instant-ngp, OpenSplat and Brush; with `splits` also three files
/// for readers of the NeRF-synthetic layout.
pub(crate) fn files(cameras: &DatasetCameras, coverage: &str, splits: bool) -> Vec<(String, Value)> {
    let mut files = vec![(TRANSFORMS.to_owned(), all(cameras, coverage))];
    if splits {
        for (name, member) in [("train", Split::Train), ("val", Split::Validation), ("test", Split::Test)] {
            files.push((format!("transforms_{name}.json"), split(cameras, member)));
        }
    }
    files
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
            let depth = Layer::DepthMetric.path(view);
            json!({
                "file_path": Layer::Image.path(view),
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

/// Returns the intrinsics under the names that readers use.
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

/// Returns one split. Its paths have no extension, because readers of this layout add it.
fn split(c: &DatasetCameras, wanted: Split) -> Value {
    let views = c.world_from_camera.iter().enumerate().filter(|(view, _)| split_of(*view) == wanted);
    let frames: Vec<Value> = views
        .map(|(view, pose)| {
            let path = Layer::Image.path(view);
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
