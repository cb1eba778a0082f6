//! Errors of building a scene.

/// An error of building a scene.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SceneError {
    /// The model has no meshes, or its size is not finite.
    #[error("nothing can be drawn: the model has no meshes, or its size is not finite")]
    NothingVisible,
    /// The animation moves the model so far that it cannot be measured exactly enough.
    #[error("nothing can be drawn: the animation moves the model too far away from its position without the animation")]
    TooFarAway,
    #[error("the model is behind every camera; cameras look along their −Z axis, and +Z is up in world space")]
    NoCameraFacesTheModel,
    /// The environment cannot be read.
    #[error("the environment cannot be read: {problem}")]
    Environment { problem: String },
    /// The settings refer to an image that is not among the assets.
    #[error("the settings name the asset '{id}', which does not exist")]
    NoSuchAsset { id: String },
    /// An image that the settings refer to cannot be read.
    #[error("the asset '{id}' cannot be read: {problem}")]
    Asset { id: String, problem: String },
}

/// An error of writing a panorama as a gain map.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the environment cannot be encoded: {problem}")]
pub struct GainMapError {
    pub(crate) problem: String,
}
