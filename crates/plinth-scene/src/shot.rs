//! The camera and the pose of one frame.

use glam::{Mat4, Vec2, Vec3};

/// Everything that differs between the frames of a scene.
#[derive(Clone, Debug, PartialEq)]
pub struct Shot {
    /// Index of the frame in the video, from 0.
    pub index: u32,
    pub camera: Camera,
    /// Overall scale of the model about `Shot::grow_origin` (`reveal`); 1 otherwise.
    pub grow: f32,
    /// World point that does not move while the model grows.
    pub grow_origin: Vec3,
    /// Time in the animation clip in seconds; `None` for the rest pose.
    pub clip_time: Option<f32>,
    /// Focus distance of the depth-of-field effect along the camera's axis: the front of the model.
    pub focus: f32,
    /// Seed of the film grain: different in each frame if there is grain, else 0.
    pub grain: u32,
}

impl Shot {
    /// Whether both shots show the same picture: everything but the index is equal.
    #[expect(clippy::float_cmp, reason = "only what is exactly equal gives the same bytes")]
    pub fn same_picture(&self, other: &Self) -> bool {
        self.camera == other.camera
            && self.grow == other.grow
            && self.grow_origin == other.grow_origin
            && self.clip_time == other.clip_time
            && self.grain == other.grain
    }
}

/// A pinhole camera looking along its −Z.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// View-from-world transform.
    pub view_from_world: Mat4,
    /// Position in world space.
    pub position: Vec3,
    /// Vertical field of view in radians.
    pub fov_y: f32,
    /// Ratio of a pixel's horizontal to its vertical angle; 1 for square pixels.
    pub pixel_aspect: f32,
    /// Where the camera's axis meets the frame: (0, 0) is the middle, ±1 are the edges, +x right, +y up.
    pub principal_point: Vec2,
    /// Distance of the near plane, in front of everything in the scene where possible.
    pub near: f32,
    pub far: f32,
}

/// World-space vertices of one instance of a primitive in one pose.
#[derive(Clone, Debug, Default)]
pub struct PosedPrimitive {
    /// Index of the node.
    pub node: usize,
    /// Index of the instance (EXT_mesh_gpu_instancing), otherwise 0.
    pub instance: usize,
    /// Index among the primitives of the node's mesh.
    pub primitive: usize,
    /// Whether the transform mirrors, which makes front faces clockwise in `positions`.
    pub mirrored: bool,
    pub positions: Vec<Vec3>,
    /// Unit normals in world space; empty if the primitive has none.
    pub normals: Vec<Vec3>,
    /// Unit tangents in world space; empty if the primitive has none. Handedness is that of the primitive, negated if
    /// mirrored.
    pub tangents: Vec<Vec3>,
}
