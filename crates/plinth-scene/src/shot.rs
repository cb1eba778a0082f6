//! The camera and the animation time of one frame.

use glam::{DMat4, Mat4, Vec2, Vec3};

/// Everything that differs between the frames of a scene.
#[derive(Clone, Debug, PartialEq)]
pub struct Shot {
    /// Index of the frame in the video, from 0.
    pub index: u32,
    pub camera: Camera,
    /// Overall scale of the model about the point `grow_origin`. It differs from 1 only for the effect `reveal`.
    pub grow: f32,
    /// Point in world space that does not move when `grow` changes.
    pub grow_origin: Vec3,
    /// Time in the animation clip in seconds; `None` is the rest pose.
    pub clip_time: Option<f32>,
    /// Distance along the camera's axis at which the picture is in focus. It is near the front of the model or, if the
    /// front is behind the near plane, at the point that the camera looks at, but not behind the model. In the first few
    /// hundredths of the model's depth, it is between these two distances. It has no meaning if the settings have no depth
    /// of field.
    pub focus: f32,
    /// Seed of the film grain. With grain, each frame has another seed; without grain, the seed is 0.
    pub grain: u32,
}

impl Shot {
    /// Returns whether two shots show the same picture, which means that they are equal except for their index.
    #[expect(clippy::float_cmp, reason = "only what is exactly equal gives the same bytes")]
    pub fn same_picture(&self, other: &Self) -> bool {
        self.camera == other.camera
            && self.grow == other.grow
            && self.grow_origin == other.grow_origin
            && self.clip_time == other.clip_time
            && self.focus == other.focus
            && self.grain == other.grain
    }
}

/// A pinhole camera, which looks along its −Z axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Transform from world space to view space.
    pub view_from_world: Mat4,
    /// Position in world space.
    pub position: Vec3,
    /// Vertical field of view in radians.
    pub fov_y: f32,
    /// Horizontal angle that a pixel covers, divided by its vertical angle; 1 for square pixels.
    pub pixel_aspect: f32,
    /// Point at which the camera's axis intersects the frame. (0, 0) is the middle and ±1 are the edges; x points right
    /// and y up.
    pub principal_point: Vec2,
    /// Distance of the near plane. If possible, the plane is in front of the whole scene.
    pub near: f32,
    pub far: f32,
}

/// Identifies one instance of one primitive of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SurfaceId {
    /// Index of the node.
    pub node: usize,
    /// Index of the instance (EXT_mesh_gpu_instancing); 0 if the node has no instances.
    pub instance: usize,
    /// Index of the primitive in the mesh of the node.
    pub primitive: usize,
}

/// The world-space vertices of one instance of a primitive at one time.
#[derive(Clone, Debug, Default)]
pub struct PosedPrimitive {
    /// Index of the node to which the primitive belongs.
    pub node: usize,
    /// Index of the instance (EXT_mesh_gpu_instancing); 0 if the node has no instances.
    pub instance: usize,
    /// Index of the primitive in the mesh of the node.
    pub primitive: usize,
    /// Whether the transform to world space mirrors. If it does, front faces are clockwise in `positions`.
    pub mirrored: bool,
    /// Scale from the space of the mesh to world space: the cube root of the factor by which volumes change. For a
    /// primitive with a skin, the value is the scale of the whole model.
    pub scale: f32,
    pub positions: Vec<Vec3>,
    /// Unit normals in world space. The list is empty if the primitive has no normals.
    pub normals: Vec<Vec3>,
    /// Unit tangents in world space. The list is empty if the primitive has no tangents. The fourth component is the
    /// handedness of the primitive's tangent, negated if `mirrored` is true.
    pub tangents: Vec<Vec3>,
}

impl PosedPrimitive {
    /// Returns which instance of which primitive of the model this is.
    pub const fn surface(&self) -> SurfaceId {
        SurfaceId { node: self.node, instance: self.instance, primitive: self.primitive }
    }
}

/// The transforms with which the vertices of a primitive are posed at one time.
#[derive(Clone, Debug)]
pub struct PoseTransform {
    pub vertices: VertexTransforms,
    /// Weights of the morph targets (glTF 2.0, section 3.7.2.2).
    pub morph_weights: Vec<f32>,
}

/// The transforms from the space of a mesh to world space.
#[derive(Clone, Debug)]
pub enum VertexTransforms {
    /// One transform for all vertices.
    Rigid(DMat4),
    /// One transform per joint of the primitive's skin. The transform of a vertex is their sum, weighted by the influences of
    /// the joints on the vertex (glTF 2.0, section 3.7.3.3). Joints that the skin does not have leave the vertex in its place.
    Skin(Vec<DMat4>),
}
