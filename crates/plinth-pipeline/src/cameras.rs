//! Reads the cameras of a dataset from a `transforms.json`.

use std::ops::RangeInclusive;

use glam::{DMat3, DMat4, DVec4};
use plinth_scene::{DatasetViews, Intrinsics};
use plinth_spec::limits::DATASET_VIEWS;
use serde_json::{Map, Value};

/// Tolerance of the check that the axes of a camera are orthogonal and have unit length.
const RIGID: f64 = 1e-3;
/// The same tolerance for matrices that are used unchanged. Matrices with a larger error were rounded by the program
/// that wrote them, and are replaced by the nearest rigid transform.
const EXACTLY_RIGID: f64 = 1e-9;
/// Supported camera models. They either have no distortion, or have distortion coefficients that may be zero.
const MODELS: [&str; 4] = ["OPENCV", "PINHOLE", "SIMPLE_PINHOLE", "PERSPECTIVE"];
/// Names of distortion coefficients, which must be zero.
const DISTORTION: [&str; 8] = ["k1", "k2", "k3", "k4", "k5", "k6", "p1", "p2"];
/// Fields by which instant-ngp selects another projection than that of a pinhole.
const OTHER_PROJECTIONS: [&str; 5] = ["is_fisheye", "ftheta_p0", "latlong", "equirectangular", "orthographic"];
/// Names of the fields that are measured in pixels. They are ambiguous without the size of the image.
const IN_PIXELS: [&str; 4] = ["fl_x", "fl_y", "cx", "cy"];
/// Names of the fields with the focal length and the image size. All views must have the same values.
const LENS: [&str; 10] = ["w", "h", "fl_x", "fl_y", "cx", "cy", "camera_angle_x", "camera_angle_y", "x_fov", "y_fov"];

/// Allowed side lengths of images, in pixels.
const SIDES: RangeInclusive<u32> = 2..=65_535;

/// Error in the content of a `transforms.json`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CamerasError(String);

/// Parses cameras in the format of nerfstudio, instant-ngp and the NeRF-synthetic scenes. The file has one
/// camera-to-world matrix per frame, and a focal length in pixels or a field of view. A camera looks along its −Z axis,
/// and its +Y axis points up in the image. World space is the same as in datasets that Plinth writes. If the file has
/// neither an image size nor a length in pixels, the images are squares of `side` pixels. Rotations that were rounded
/// are made orthonormal.
/// Errors: if a field is missing or malformed, a camera is not a pinhole without distortion, the frames have different
/// intrinsics, or a matrix is not a rigid transform.
pub fn read_cameras(text: &str, side: u32) -> Result<DatasetViews, CamerasError> {
    let wrong = |message: String| Err(CamerasError(message));
    let file: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => return wrong(format!("it is not valid JSON: {error}")),
    };
    let Some(members) = file.as_object() else { return wrong("it is not a JSON object".to_owned()) };
    let Some(frames) = members.get("frames").and_then(Value::as_array).filter(|f| !f.is_empty()) else {
        return wrong("it has no frames".to_owned());
    };
    if frames.len() > DATASET_VIEWS {
        return wrong(format!("it has {} frames, but at most {DATASET_VIEWS} are allowed", frames.len()));
    }
    check_pinhole(members)?;
    for (i, frame) in frames.iter().enumerate() {
        frame
            .as_object()
            .map_or(Ok(()), check_pinhole)
            .map_err(|CamerasError(message)| CamerasError(format!("frame {i}: {message}")))?;
    }
    let intrinsics = intrinsics(&shared_lens(members, frames)?, side)?;
    let mut world_from_camera = Vec::with_capacity(frames.len());
    for (i, frame) in frames.iter().enumerate() {
        match frame.get("transform_matrix").and_then(matrix) {
            Some(pose) if is_rigid(&pose, EXACTLY_RIGID) => world_from_camera.push(pose),
            Some(pose) if is_rigid(&pose, RIGID) => world_from_camera.push(nearest_rigid(&pose)),
            Some(_) => return wrong(format!("frame {i}: transform_matrix scales or mirrors, or is not finite")),
            None => return wrong(format!("frame {i}: transform_matrix is not a list of four rows of four numbers")),
        }
    }
    Ok(DatasetViews::Given { intrinsics, world_from_camera })
}

/// Returns an error if the file or a frame with these fields has another lens than a pinhole. The coefficients in
/// [`DISTORTION`] are checked elsewhere.
fn check_pinhole(members: &Map<String, Value>) -> Result<(), CamerasError> {
    let wrong = |message: String| Err(CamerasError(message));
    if let Some(model) = members.get("camera_model").filter(|m| !MODELS.iter().any(|known| *m == known)) {
        return wrong(format!("camera_model {model} is not supported; use one of {}", MODELS.join(", ")));
    }
    // Unlike instant-ngp, which looks only for the name, this treats fields that are null or false as missing.
    let is_set = |key: &str| members.get(key).is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false)));
    if let Some(key) = OTHER_PROJECTIONS.into_iter().find(|key| is_set(key)) {
        return wrong(format!("{key} is not supported; only pinhole cameras are"));
    }
    let is_zero = |value: &Value| value.as_f64() == Some(0.0);
    let are_zero = |value: &Value| value.as_array().is_some_and(|numbers| numbers.iter().all(is_zero));
    if members.get("distortion_params").is_some_and(|value| !are_zero(value)) {
        return wrong(
            "distortion_params are not 0, but lens distortion is not supported; undistort the cameras first".to_owned(),
        );
    }
    Ok(())
}

/// Returns the fields of [`LENS`] and [`DISTORTION`], which are fields of the file or of every frame.
/// Errors: if a frame has another value than the file or another frame.
fn shared_lens(members: &Map<String, Value>, frames: &[Value]) -> Result<Map<String, Value>, CamerasError> {
    let mut shared = Map::new();
    for key in LENS.into_iter().chain(DISTORTION) {
        let of_file = members.get(key);
        let first = of_file.or_else(|| frames.first()?.get(key));
        // Some programs write the same number with and without a decimal point.
        let number = |value: Option<&Value>| value.and_then(Value::as_f64);
        let differs =
            |value: Option<&Value>| value != first && (number(value).is_none() || number(value) != number(first));
        if let Some(i) = frames.iter().position(|frame| differs(frame.get(key).or(of_file))) {
            let other = if of_file.is_some() { "the file" } else { "frame 0" };
            return Err(CamerasError(format!(
                "frame {i} has another {key} than {other}, but all frames must have the same one"
            )));
        }
        shared.extend(first.map(|value| (key.to_owned(), value.clone())));
    }
    Ok(shared)
}

fn intrinsics(lens: &Map<String, Value>, side: u32) -> Result<Intrinsics, CamerasError> {
    let number = |key: &str| lens.get(key).and_then(Value::as_f64);
    if let Some(key) = DISTORTION.into_iter().find(|key| lens.get(*key).is_some_and(|v| v.as_f64() != Some(0.0))) {
        return Err(CamerasError(format!(
            "{key} is not 0, but lens distortion is not supported; undistort the cameras first"
        )));
    }
    let in_pixels = IN_PIXELS.into_iter().find(|key| lens.contains_key(*key));
    let length = |key: &str| match (lens.get(key), in_pixels) {
        (None, None) => Ok(side),
        (None, Some(known)) => Err(CamerasError(format!(
            "it has {known}, which is in pixels, but no {key}; add w and h, the size of the images in pixels"
        ))),
        // Some programs write integers with a decimal point, such as 800.0.
        (Some(value), _) => {
            SIDES.into_iter().find(|pixels| value.as_f64() == Some(f64::from(*pixels))).ok_or_else(|| {
                let (least, most) = SIDES.into_inner();
                CamerasError(format!("{key} is {value}, which is not a number of pixels from {least} to {most}"))
            })
        }
    };
    let (width, height) = (length("w")?, length("h")?);
    let focal = |pixels: &str, degrees: &str, radians: &str, length: u32| {
        let angle = number(degrees).map(f64::to_radians).or_else(|| number(radians));
        number(pixels).or_else(|| angle.map(|a| 0.5 * f64::from(length) / (0.5 * a).tan()))
    };
    let fl_x = focal("fl_x", "x_fov", "camera_angle_x", width);
    let fl_y = focal("fl_y", "y_fov", "camera_angle_y", height);
    let (Some(fl_x), Some(fl_y)) = (fl_x.or(fl_y), fl_y.or(fl_x)) else {
        return Err(CamerasError("it has none of fl_x, fl_y, camera_angle_x, camera_angle_y".to_owned()));
    };
    let cx = number("cx").unwrap_or(f64::from(width) * 0.5);
    let cy = number("cy").unwrap_or(f64::from(height) * 0.5);
    let usable = |focal: f64| focal.is_finite() && focal > 0.0;
    if !(usable(fl_x) && usable(fl_y) && cx.is_finite() && cy.is_finite()) {
        return Err(CamerasError("the focal length is not above 0".to_owned()));
    }
    Ok(Intrinsics { width, height, fl_x, fl_y, cx, cy })
}

/// Parses a matrix of three or four rows with four numbers each. The fourth row must be 0, 0, 0, 1.
fn matrix(value: &Value) -> Option<DMat4> {
    let rows = value.as_array()?.iter().map(row).collect::<Option<Vec<_>>>()?;
    match rows.as_slice() {
        [x, y, z] => Some(DMat4::from_cols(*x, *y, *z, DVec4::W).transpose()),
        [x, y, z, last] if *last == DVec4::W => Some(DMat4::from_cols(*x, *y, *z, DVec4::W).transpose()),
        _ => None,
    }
}

fn row(value: &Value) -> Option<DVec4> {
    let numbers = value.as_array()?.iter().map(Value::as_f64).collect::<Option<Vec<_>>>()?;
    numbers.try_into().ok().map(DVec4::from_array)
}

fn is_rigid(pose: &DMat4, tolerance: f64) -> bool {
    let turn = DMat3::from_mat4(*pose);
    pose.is_finite() && (turn * turn.transpose()).abs_diff_eq(DMat3::IDENTITY, tolerance) && turn.determinant() > 0.0
}

/// Returns the rigid transform that is nearest to a nearly rigid transform. The position is kept. The rotation is found
/// by Newton's iteration (Higham 1986, "Computing the polar decomposition").
fn nearest_rigid(pose: &DMat4) -> DMat4 {
    let mut turn = DMat3::from_mat4(*pose);
    // Each step squares the error, so three steps reduce the error from `RIGID` to rounding errors.
    for _ in 0..3 {
        turn = (turn + turn.inverse().transpose()) * 0.5;
    }
    let [x, y, z] = [turn.x_axis, turn.y_axis, turn.z_axis].map(|axis| axis.extend(0.0));
    DMat4::from_cols(x, y, z, pose.w_axis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const AHEAD: [[f64; 4]; 4] =
        [[1.0, 0.0, 0.0, 0.5], [0.0, 0.0, -1.0, -4.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]];

    fn file(members: Value) -> Value {
        let mut file = json!({"camera_angle_x": 0.7, "frames": [{"transform_matrix": AHEAD}]});
        if let (Value::Object(file), Value::Object(members)) = (&mut file, members) {
            file.extend(members);
        }
        file
    }

    fn read(members: Value) -> Result<DatasetViews, String> {
        read_cameras(&file(members).to_string(), 800).map_err(|error| error.to_string())
    }

    #[test]
    fn the_focal_length_is_in_pixels_or_a_field_of_view() {
        let DatasetViews::Given { intrinsics, world_from_camera } = read(json!({})).unwrap() else { panic!() };
        assert_eq!((intrinsics.width, intrinsics.height, intrinsics.cx), (800, 800, 400.0));
        assert!((intrinsics.fl_x - 400.0 / 0.35_f64.tan()).abs() < 1e-9);
        assert_eq!(world_from_camera[0].w_axis, DVec4::new(0.5, -4.0, 0.0, 1.0));
        let own = json!({"w": 640.0, "h": 480, "fl_x": 500, "fl_y": 510, "cx": 300, "cy": 260, "camera_model": "OPENCV",
            "k1": 0, "p2": 0.0});
        let DatasetViews::Given { intrinsics, .. } = read(own).unwrap() else { panic!() };
        let expected = Intrinsics { width: 640, height: 480, fl_x: 500.0, fl_y: 510.0, cx: 300.0, cy: 260.0 };
        assert_eq!(intrinsics, expected);
    }

    #[test]
    fn intrinsics_can_be_in_the_frames_if_all_frames_have_the_same() {
        let frame = |width: Value| {
            json!({
                "transform_matrix": AHEAD, "w": width, "h": 480, "fl_x": 500, "fl_y": 510, "cx": 300, "cy": 260,
                "k1": 0,
            })
        };
        let own = json!({"frames": [frame(json!(640)), frame(json!(640.0))]});
        let DatasetViews::Given { intrinsics, world_from_camera } = read(own).unwrap() else { panic!() };
        let expected = Intrinsics { width: 640, height: 480, fl_x: 500.0, fl_y: 510.0, cx: 300.0, cy: 260.0 };
        assert_eq!((intrinsics, world_from_camera.len()), (expected, 2));
    }

    #[test]
    fn rounded_rotations_are_made_orthonormal() {
        let (s, c) = 0.7_f64.sin_cos();
        let exact = [[c, 0.0, s, 0.123_456_7], [s, 0.0, -c, -4.0], [0.0, 1.0, 0.0, 0.5]];
        let rounded = exact.map(|row| row.map(|x| (x * 1e4).round() / 1e4));
        let DatasetViews::Given { world_from_camera, .. } =
            read(json!({"frames": [{"transform_matrix": rounded}]})).unwrap()
        else {
            panic!()
        };
        let pose = world_from_camera[0];
        let turn = DMat3::from_mat4(pose);
        assert!((turn * turn.transpose()).abs_diff_eq(DMat3::IDENTITY, 1e-14), "{turn}");
        let row = |i: usize| DVec4::from_array(exact[i]);
        let wanted = DMat4::from_cols(row(0), row(1), row(2), DVec4::W).transpose();
        assert!(turn.abs_diff_eq(DMat3::from_mat4(wanted), 2e-4), "{turn}");
        assert_eq!(pose.w_axis, DVec4::new(rounded[0][3], -4.0, 0.5, 1.0));
    }

    #[test]
    fn poses_are_parsed_exactly() {
        // The JSON parser may round the last bit of a number differently. This error is far below the precision of
        // programs that read datasets.
        let (mut worst, mut count) = (0.0_f64, 0);
        for i in 0..2000 {
            let (s, c) = (f64::from(i) * 0.618_033_988_749_895).sin_cos();
            let place = f64::from(i) * 0.037 * s;
            let pose = [[c, 0.0, s, place], [s, 0.0, -c, 7.3 * c], [0.0, 1.0, 0.0, -place], [0.0, 0.0, 0.0, 1.0]];
            let given = read(json!({"frames": [{"transform_matrix": pose}]})).unwrap();
            let DatasetViews::Given { world_from_camera, .. } = given else { panic!() };
            let rows = world_from_camera[0].transpose().to_cols_array_2d();
            for (a, b) in rows.as_flattened().iter().zip(pose.as_flattened()) {
                worst = worst.max((a - b).abs() / b.abs().max(f64::MIN_POSITIVE));
                count += 1;
            }
        }
        assert!(worst <= 2.0 * f64::EPSILON, "{worst:e} over {count} numbers");
    }

    #[test]
    fn fields_that_select_no_other_lens_are_allowed() {
        let none = [0; 6];
        let lens = json!({"camera_model": "PINHOLE", "is_fisheye": false, "distortion_params": none, "latlong": null});
        let mut frame = lens.clone();
        frame["transform_matrix"] = json!(AHEAD);
        assert_eq!(read(lens), read(json!({})));
        assert_eq!(read(json!({"frames": [frame]})), read(json!({})));
    }

    #[test]
    fn unsupported_cameras_are_errors() {
        let mut stretched = AHEAD;
        stretched[0][0] = 2.0;
        let mut mirrored = AHEAD;
        mirrored[0][0] = -1.0;
        let frames = |matrix: [[f64; 4]; 4]| json!({"frames": [{"transform_matrix": matrix}]});
        let with_frame = |members: Value| {
            let mut frame = json!({"transform_matrix": AHEAD});
            frame.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            json!({"frames": [frame]})
        };
        for (members, word) in [
            (json!({"frames": []}), "no frames"),
            (json!({"k1": 0.1}), "k1 is not 0"),
            (json!({"camera_model": "OPENCV_FISHEYE"}), "OPENCV_FISHEYE"),
            (with_frame(json!({"camera_model": "FISHEYE624"})), "frame 0: camera_model \"FISHEYE624\" is not"),
            (json!({"distortion_params": [0.1, 0, 0, 0, 0, 0]}), "distortion_params are not 0"),
            (with_frame(json!({"distortion_params": [0, 0, 0, 0, 0, 1e-3]})), "frame 0: distortion_params are not 0"),
            (json!({"is_fisheye": true}), "is_fisheye is not supported"),
            (json!({"ftheta_p0": 0.5, "ftheta_p1": 0.1}), "ftheta_p0 is not supported"),
            (json!({"latlong": true}), "latlong is not supported"),
            (json!({"orthographic": {}}), "orthographic is not supported"),
            (with_frame(json!({"equirectangular": true})), "frame 0: equirectangular is not supported"),
            (json!({"w": -3}), "w is -3"),
            (json!({"w": 1}), "not a number of pixels from 2 to 65535"),
            (json!({"w": 80, "h": 80, "fl_x": 0}), "focal length"),
            (json!({"fl_x": 500}), "it has fl_x, which is in pixels, but no w"),
            (json!({"w": 80, "cy": 40}), "it has cy, which is in pixels, but no h"),
            (frames(stretched), "frame 0"),
            (frames(mirrored), "frame 0"),
            (json!({"frames": [{"transform_matrix": [[1, 0, 0, 0]]}]}), "four rows"),
            (json!({"frames": [3]}), "frame 0"),
            (
                json!({"w": 80, "h": 80, "frames": [
                    {"transform_matrix": AHEAD, "fl_x": 3}, {"transform_matrix": AHEAD, "fl_x": 4},
                ]}),
                "frame 1 has another fl_x than frame 0",
            ),
            (
                json!({"frames": [{"transform_matrix": AHEAD, "k1": 0}, {"transform_matrix": AHEAD}]}),
                "frame 1 has another k1",
            ),
            (json!({"frames": [{"transform_matrix": AHEAD, "k1": 0.1}]}), "k1 is not 0"),
            (json!({"w": 80, "frames": [{"transform_matrix": AHEAD, "w": 90}]}), "frame 0 has another w than the file"),
        ] {
            let error = read(members).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
        assert!(read_cameras("{", 800).is_err() && read_cameras("[]", 800).is_err());
    }
}
