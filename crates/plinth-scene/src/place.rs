//! Places the model in world space. The model is centred and scaled to 2 units. Then it is rotated, stretched and moved
//! according to the settings.

use glam::{DMat3, DMat4, DQuat, DVec3, EulerRot, Vec3};
use plinth_model::{Animation, Model};
use plinth_spec::settings::ModelPose;

use crate::error::SceneError;
use crate::fit::Motion;
use crate::pose::Placed;

/// Length of the largest side of the model in world units.
const SPAN: f64 = 2.0;
/// A model that is smaller than this is treated as a point: its size is not scaled to [`SPAN`].
const SMALLEST: f64 = 1e-30;
/// Maximum distance to which an animation can move the model, as a multiple of the model's size. Farther away, the model is
/// measured with an error of several per cent, because it is measured in single precision.
const FARTHEST: f64 = 1e6;

/// The placement of a model in world space, and the space that the model occupies.
pub(crate) struct Placement {
    pub(crate) world_from_model: DMat4,
    /// Uniform scale of `world_from_model`: the cube root of the factor by which volumes change.
    pub(crate) scale: f32,
    /// Bounding box in world space over all frames and the whole clip, before the translation of the settings is
    /// applied.
    pub(crate) centered_bounds: (Vec3, Vec3),
    pub(crate) translation: Vec3,
    measured_from_model: DMat4,
    /// Bounding box in the coordinate system in which the motion was measured.
    measured_bounds: (DVec3, DVec3),
    motion: Motion,
    /// Transform from the coordinate system of the measurement to world space, without the translation of the settings.
    centered_from_measured: DMat4,
}

impl Placement {
    /// Places a model. `frame_times` are the clip times of the frames.
    /// Errors: if the model has nothing to draw, or its size is not finite, or its animation moves it too far.
    pub(crate) fn new(
        model: &Model,
        hidden: &[bool],
        pose: &ModelPose,
        clip: Option<&Animation>,
        frame_times: &[f32],
    ) -> Result<Self, SceneError> {
        // Before it is measured, the model is moved to the origin and scaled. Otherwise a model that is far from the
        // origin would lose precision.
        let measured_from_model = near_origin(model, hidden)?;
        let placed = Placed { model, hidden, world_from_model: measured_from_model };
        let motion = Motion::of(&placed, clip, frame_times);
        let (min, max) = motion.bounds(true).ok_or(SceneError::NothingVisible)?;
        let (min, max) = (min.as_dvec3(), max.as_dvec3());
        let size = (max - min).max_element().max(1.0);
        if ((min + max) * 0.5).abs().max_element() > FARTHEST * size {
            return Err(SceneError::TooFarAway);
        }
        let centered_from_measured =
            DMat4::from_quat(turn(pose)) * upright_from_measured((min, max), DVec3::from(pose.scale()));
        let translation = DVec3::from(pose.translate());
        let world_from_model = DMat4::from_translation(translation) * centered_from_measured * measured_from_model;
        if !world_from_model.is_finite() {
            return Err(SceneError::NothingVisible);
        }
        let volume = |m: DMat4| DMat3::from_mat4(m).determinant().abs().cbrt();
        let mut out = Self {
            world_from_model,
            scale: (volume(centered_from_measured) * volume(measured_from_model)) as f32,
            centered_bounds: (Vec3::ZERO, Vec3::ZERO),
            translation: translation.as_vec3(),
            measured_from_model,
            measured_bounds: (min, max),
            motion,
            centered_from_measured,
        };
        out.centered_bounds = out.measure().ok_or(SceneError::NothingVisible)?;
        Ok(out)
    }

    /// Returns whether all vertices are at one point in all measured poses. Triangles of such a model cannot be seen.
    pub(crate) fn is_point(&self) -> bool {
        let (min, max) = self.measured_bounds;
        (max - min).max_element() <= SMALLEST
    }

    /// Returns a transform that stretches the model, centres it and scales it to 2 units. The transform contains
    /// neither the rotation nor the translation of the settings.
    pub(crate) fn upright_from_model(&self, stretch: DVec3) -> DMat4 {
        upright_from_measured(self.measured_bounds, stretch) * self.measured_from_model
    }

    /// Returns the transform from world space to the space into which [`Self::upright_from_model`] transforms. The model
    /// is stretched there by the scale of `pose`.
    pub(crate) fn upright_from_world(&self, pose: &ModelPose) -> DMat4 {
        self.upright_from_model(DVec3::from(pose.scale())) * self.world_from_model.inverse()
    }

    /// Returns the extent of the model in a direction over all measured times, before the translation of the settings
    /// is applied.
    pub(crate) fn reach(&self, direction: Vec3) -> f32 {
        let linear = DMat3::from_mat4(self.centered_from_measured);
        let d = direction.as_dvec3();
        let shift = d.dot(self.centered_from_measured.w_axis.truncate());
        self.motion.reach((linear.transpose() * d).as_vec3()) + shift as f32
    }

    /// Returns the extent of the model in a direction over all measured times, after the translation of the settings is
    /// applied.
    pub(crate) fn reach_in_world(&self, direction: Vec3) -> f32 {
        self.reach(direction) + direction.dot(self.translation)
    }

    /// Returns the factor by which the extent must be multiplied to cover the motion between the measured times.
    pub(crate) fn room(&self) -> f32 {
        self.motion.room()
    }

    /// Returns the height of the model's lowest point over all measured times. Unlike the bounds, it is not enlarged to cover the
    /// motion between these times, so that a model does not hover above the floor.
    pub(crate) fn lowest(&self) -> f32 {
        -self.reach(Vec3::NEG_Y) + self.translation.y
    }

    /// Returns the height of the floor, on which the model stands. If the settings raise the model, the floor stays below the
    /// model's unmoved position. If the settings lower the model, the floor is lowered with the model.
    pub(crate) fn floor_height(&self) -> f32 {
        self.lowest() - self.translation.y.max(0.0)
    }

    /// Returns the bounding box of the model in world space.
    pub(crate) fn bounds(&self) -> (Vec3, Vec3) {
        (self.centered_bounds.0 + self.translation, self.centered_bounds.1 + self.translation)
    }

    fn measure(&self) -> Option<(Vec3, Vec3)> {
        self.motion.bounds(false)?;
        let max = Vec3::from_array(Vec3::AXES.map(|axis| self.reach(axis)));
        let min = -Vec3::from_array(Vec3::AXES.map(|axis| self.reach(-axis)));
        let room = (max - min) * (self.room() - 1.0);
        (min.is_finite() && max.is_finite()).then_some((min - room, max + room))
    }
}

/// Returns a transform that stretches a box, centres it and scales its largest side to 2 units. Only the ratio of the
/// three stretch factors matters, because the scaling to 2 units cancels a uniform scale.
fn upright_from_measured((min, max): (DVec3, DVec3), stretch: DVec3) -> DMat4 {
    let largest = ((max - min) * stretch.abs()).max_element();
    let fit = if largest > SMALLEST { SPAN / largest } else { 1.0 };
    DMat4::from_scale(stretch * fit) * DMat4::from_translation(-(min + max) * 0.5)
}

/// Returns a transform that moves the rest pose of the model to the origin and scales it to about 1 unit.
pub(crate) fn near_origin(model: &Model, hidden: &[bool]) -> Result<DMat4, SceneError> {
    let as_it_is = Placed { model, hidden, world_from_model: DMat4::IDENTITY };
    let (min, max) = Motion::of(&as_it_is, None, &[]).bounds(true).ok_or(SceneError::NothingVisible)?;
    let (min, max) = (min.as_dvec3(), max.as_dvec3());
    let largest = (max - min).max_element();
    let scale = if largest > SMALLEST { largest.recip() } else { 1.0 };
    Ok(DMat4::from_scale(DVec3::splat(scale)) * DMat4::from_translation(-(min + max) * 0.5))
}

/// Returns the rotation of the settings: yaw, then pitch about the rotated x axis, then roll about the resulting z
/// axis.
fn turn(pose: &ModelPose) -> DQuat {
    DQuat::from_euler(EulerRot::YXZ, pose.yaw_deg.to_radians(), pose.pitch_deg.to_radians(), pose.roll_deg.to_radians())
}
