//! Skins and animation clips.

use glam::Mat4;

/// A skin: the joints that deform a mesh.
#[derive(Clone, Debug, Default)]
pub struct Skin {
    /// Node index of each joint.
    pub joints: Vec<usize>,
    /// Inverse bind matrices, which map mesh coordinates to joint coordinates. The list has the same length as
    /// `joints`.
    pub inverse_bind: Vec<Mat4>,
}

/// An animation clip.
#[derive(Clone, Debug, Default)]
pub struct Animation {
    /// The name in the file, or a generated name.
    pub name: String,
    /// Duration in seconds: the time of the last key of all channels.
    pub duration: f32,
    /// The animated properties.
    pub channels: Vec<Channel>,
}

/// One animated property of one node. The key times are finite and never decrease.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Index into [`Model::nodes`](super::Model::nodes).
    pub node: usize,
    /// The animated property.
    pub property: Property,
    /// How values between keys are computed.
    pub interpolation: Interpolation,
    /// Key times in seconds.
    pub times: Vec<f32>,
    /// Values of the keys. A key has three numbers for a translation or scale, four numbers (x, y, z, w) for a
    /// rotation, and one number per morph target for morph weights. For [`Interpolation::CubicSpline`], each key has an
    /// in-tangent, a value and an out-tangent, in this order.
    pub values: Vec<f32>,
}

/// The property that a channel animates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Property {
    Translation,
    Rotation,
    Scale,
    Weights,
}

/// How values between keys are computed (glTF 2.0, appendix C).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interpolation {
    /// The value of the preceding key is used.
    Step,
    /// Linear interpolation; for rotations, spherical linear interpolation.
    Linear,
    /// Interpolation by a cubic Hermite spline.
    CubicSpline,
}
