//! What one frame shows.

use glam::{Mat4, Vec2, Vec3};

/// Everything that differs between the frames of a scene.
#[derive(Clone, Debug, PartialEq)]
pub struct Shot {
    /// Position in the video, from 0.
    pub index: u32,
    /// The camera.
    pub camera: Camera,
    /// Overall scale of the model about `Shot::grow_origin` (`reveal`); 1 otherwise.
    pub grow: f32,
    /// World point that stays in place while the model grows.
    pub grow_origin: Vec3,
    /// Time in the animation clip in seconds; `None` in the rest pose.
    pub clip_time: Option<f32>,
    /// Distance from the camera, along its axis, that depth of field leaves sharp: the model's front.
    pub focus: f32,
    /// Seed of the film's grain: its own in each frame where there is grain, else 0.
    pub grain: u32,
}

impl Shot {
    /// Whether both frames show the same picture (everything but the index is equal).
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
    /// View from world.
    pub view_from_world: Mat4,
    /// World position.
    pub position: Vec3,
    /// Vertical field of view in radians.
    pub fov_y: f32,
    /// How much wider than high a pixel's angle is: 1 for square pixels.
    pub pixel_aspect: f32,
    /// Where the axis meets the picture: (0, 0) is its middle, ±1 are its edges, +x right, +y up.
    pub principal_point: Vec2,
    /// Distance of the near plane; everything of the scene is beyond it where possible.
    pub near: f32,
    /// Distance of the far plane.
    pub far: f32,
}

/// World-space vertices of one primitive instance in one pose.
#[derive(Clone, Debug, Default)]
pub struct PosedPrimitive {
    /// Node it belongs to.
    pub node: usize,
    /// Index of the instance (EXT_mesh_gpu_instancing), 0 otherwise.
    pub instance: usize,
    /// Index into the node's mesh's primitives.
    pub primitive: usize,
    /// The transform mirrors: front faces are clockwise in `positions`.
    pub mirrored: bool,
    /// World positions.
    pub positions: Vec<Vec3>,
    /// Unit world normals; empty where the primitive has none.
    pub normals: Vec<Vec3>,
    /// Unit world tangents; empty where the primitive has none. Handedness is the primitive's own, times −1 where
    /// mirrored.
    pub tangents: Vec<Vec3>,
}
