//! Errors of building a scene.

/// An error of building a scene.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SceneError {
    /// The model has nothing to draw.
    #[error("nothing can be drawn: the model has no meshes, or its size is not finite")]
    NothingVisible,
    /// No camera of the dataset faces the model.
    #[error("the model is behind every camera; cameras look along their −Z, in a world with +Z up")]
    NoCameraFacesTheModel,
    /// The environment cannot be read.
    #[error("the environment cannot be read: {problem}")]
    Environment { problem: String },
    /// The settings name an image that is not among the assets.
    #[error("the settings name the asset '{id}', which does not exist")]
    NoSuchAsset { id: String },
    /// An image that the settings name cannot be read.
    #[error("the asset '{id}' cannot be read: {problem}")]
    Asset { id: String, problem: String },
}
