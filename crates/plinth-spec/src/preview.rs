//! What a preview shows, questions about its frame, and their answers. The answers come from a preview process, which a
//! malicious model may have compromised. Therefore each receiver checks the answers.

use serde::{Deserialize, Serialize};

/// Maximum number of surfaces in an answer.
pub const MAX_SURFACES: usize = 8;
/// Maximum number of corners of an outline.
pub const MAX_OUTLINE_CORNERS: usize = 48;
/// Maximum number of cameras in an answer.
const MAX_CAMERAS: usize = 1000;
/// Maximum length of a name in an answer, in bytes. Names in model files may be longer, but settings cannot refer to
/// such names.
const MAX_NAME_BYTES: usize = 4096;
/// Maximum absolute value of a number in an answer.
const MAX_NUMBER: f64 = 1e9;

/// How a preview is drawn, except for its settings and files. Requests contain these fields on their way from the caller through
/// the database to the preview process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PreviewOptions {
    /// Longer side of the picture, in pixels.
    pub longest: u32,
    /// Whether to draw a draft, which takes less time. Its light may be computed with fewer rays, or may stem from another camera
    /// position.
    pub is_draft: bool,
    /// Position of the frame in the video, from 0 to 1; `None` for the frame that the poster shows.
    pub position: Option<f64>,
    /// Whether the watermark of free previews is drawn on the picture. Requests of earlier versions do not contain it.
    #[serde(default)]
    pub watermark: bool,
    /// Question about the frame, for example for the surfaces at a point. If it is set, no picture is drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<PreviewQuestion>,
}

/// A question about a frame of a preview.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "question", rename_all = "camelCase")]
pub enum PreviewQuestion {
    /// Asks which surfaces are visible at a point of the frame.
    Surfaces {
        /// Horizontal position: 0 is the left edge of the frame, 1 the right edge.
        x: f64,
        /// Vertical position: 0 is the top edge, 1 the bottom edge.
        y: f64,
    },
    /// Asks for the cameras of the dataset that the settings describe.
    DatasetCameras,
}

/// The answer to a question about a frame of a preview.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "camelCase")]
pub enum PreviewAnswer {
    /// The surfaces at a point.
    Surfaces(SurfacesAtPoint),
    /// The cameras of a dataset.
    DatasetCameras(DatasetCameras),
}

/// The camera of a frame, and the surfaces at a point of the frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SurfacesAtPoint {
    /// Camera of the frame, as the pose of a keyframe.
    pub camera: ViewPose,
    /// Surfaces from front to back, up to the first surface that hides everything behind it. The list is empty if the
    /// model is not visible at the point.
    pub surfaces: Vec<SurfaceAtPoint>,
}

/// A camera pose in the form in which the setting `keyframes` contains poses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ViewPose {
    /// Position of the camera in normalised units.
    pub position: [f64; 3],
    /// Point at which the camera looks, in normalised units.
    pub look_at: [f64; 3],
    /// Vertical field of view in degrees.
    pub fov: f64,
}

/// A surface at a point of a frame. `position`, `normal` and `euler` are in the coordinate system of the setting
/// `decals`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SurfaceAtPoint {
    /// Name by which the setting `hiddenMeshNames` refers to the mesh.
    pub mesh: String,
    /// Name by which the setting `materialEdits` refers to the material. Null for a decal, and for a surface whose
    /// material has no name.
    #[schema(required)]
    pub material: Option<String>,
    /// Values of the material, without the influence of its textures.
    pub values: MaterialValues,
    /// Identifier of the decal; null if the surface is no decal.
    #[schema(required)]
    pub decal: Option<String>,
    /// Whether the frame shows the back of the surface.
    pub is_back: bool,
    /// Point on the surface, in the pose in which decals are placed. This is the pose of the first frame.
    pub position: [f64; 3],
    /// Unit normal of the front of the surface.
    pub normal: [f64; 3],
    /// Rotation of a decal that lies flat on the surface with its upper edge pointing up.
    pub euler: [f64; 3],
    /// Texture coordinates of the base colour at the point, after the texture transform. Null if the surface has no
    /// texture coordinates.
    #[schema(required)]
    pub uv: Option<[f64; 2]>,
    /// Point on the surface as the frame shows it, in the coordinate system of camera poses.
    pub point: [f64; 3],
    /// Corners of a convex outline around the whole mesh in the frame, as fractions of its width from the left and of its
    /// height from the top. Corners may be outside the frame.
    pub outline: Vec<[f64; 2]>,
}

/// Values of a material in the form of the setting `materialEdits`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MaterialValues {
    /// Base colour as `#rrggbb`.
    pub color: String,
    /// Perceptual roughness.
    pub roughness: f64,
    /// Metalness.
    pub metalness: f64,
    /// Alpha of the base colour.
    pub opacity: f64,
}

/// The cameras of a dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatasetCameras {
    /// Positions in the coordinate system of camera poses, in the order of the views. All cameras look at the origin.
    pub positions: Vec<[f64; 3]>,
    /// Vertical field of view in degrees.
    pub fov: f64,
    /// Bounding box of the model: its minimum and maximum corners.
    pub bounds: [[f64; 3]; 2],
}

impl PreviewAnswer {
    /// Returns whether the answer is of the kind that the question asks for, and does not exceed the limits of this
    /// module.
    pub fn answers(&self, question: PreviewQuestion) -> bool {
        match (self, question) {
            (Self::Surfaces(found), PreviewQuestion::Surfaces { .. }) => {
                let pose = &found.camera;
                is_moderate(pose.position.iter().chain(&pose.look_at).chain([&pose.fov]))
                    && found.surfaces.len() <= MAX_SURFACES
                    && found.surfaces.iter().all(SurfaceAtPoint::is_valid)
            }
            (Self::DatasetCameras(cameras), PreviewQuestion::DatasetCameras) => {
                cameras.positions.len() <= MAX_CAMERAS
                    && is_moderate(cameras.positions.iter().chain(&cameras.bounds).flatten().chain([&cameras.fov]))
            }
            _ => false,
        }
    }
}

impl SurfaceAtPoint {
    fn is_valid(&self) -> bool {
        let vectors = [&self.position, &self.normal, &self.euler, &self.point];
        let plain = [&self.values.roughness, &self.values.metalness, &self.values.opacity];
        let numbers = vectors.into_iter().flatten().chain(self.uv.iter().flatten()).chain(plain);
        let names = [Some(&self.mesh), self.material.as_ref(), self.decal.as_ref(), Some(&self.values.color)];
        is_moderate(numbers.chain(self.outline.iter().flatten()))
            && names.into_iter().flatten().all(|name| name.len() <= MAX_NAME_BYTES)
            && self.outline.len() <= MAX_OUTLINE_CORNERS
    }
}

fn is_moderate<'a>(mut numbers: impl Iterator<Item = &'a f64>) -> bool {
    numbers.all(|number| number.abs() <= MAX_NUMBER)
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINT: PreviewQuestion = PreviewQuestion::Surfaces { x: 0.5, y: 0.5 };

    fn surface() -> SurfaceAtPoint {
        SurfaceAtPoint {
            mesh: "Seat".to_owned(),
            material: Some("Oak".to_owned()),
            values: MaterialValues::default(),
            decal: None,
            is_back: false,
            position: [0.0; 3],
            normal: [0.0, 0.0, 1.0],
            euler: [0.0; 3],
            uv: None,
            point: [0.0; 3],
            outline: vec![[0.0; 2]; MAX_OUTLINE_CORNERS],
        }
    }

    fn answer(surfaces: Vec<SurfaceAtPoint>) -> PreviewAnswer {
        let camera = ViewPose { position: [0.0, 0.0, 4.0], look_at: [0.0; 3], fov: 35.0 };
        PreviewAnswer::Surfaces(SurfacesAtPoint { camera, surfaces })
    }

    #[test]
    fn answers_beyond_the_limits_are_rejected() {
        assert!(answer(vec![surface(); MAX_SURFACES]).answers(POINT));
        let too_much = [
            answer(vec![surface(); MAX_SURFACES + 1]),
            answer(vec![SurfaceAtPoint { mesh: "x".repeat(MAX_NAME_BYTES + 1), ..surface() }]),
            answer(vec![SurfaceAtPoint { outline: vec![[0.0; 2]; MAX_OUTLINE_CORNERS + 1], ..surface() }]),
            answer(vec![SurfaceAtPoint { point: [f64::NAN, 0.0, 0.0], ..surface() }]),
            answer(vec![SurfaceAtPoint { uv: Some([0.0, 1e30]), ..surface() }]),
        ];
        for wrong in too_much {
            assert!(!wrong.answers(POINT), "{wrong:?}");
        }
        assert!(!answer(Vec::new()).answers(PreviewQuestion::DatasetCameras), "the answer to another question");
        let cameras = |count| {
            PreviewAnswer::DatasetCameras(DatasetCameras {
                positions: vec![[1.0; 3]; count],
                fov: 40.0,
                bounds: [[0.0; 3]; 2],
            })
        };
        assert!(cameras(400).answers(PreviewQuestion::DatasetCameras));
        assert!(!cameras(MAX_CAMERAS + 1).answers(PreviewQuestion::DatasetCameras));
    }
}
