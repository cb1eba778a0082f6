//! Why a scene cannot be built.

/// Why a scene cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SceneError {
    /// Nothing is left to draw.
    #[error("nothing can be drawn: the model has no meshes, or its size is not finite")]
    NothingVisible,
    /// No camera of a dataset sees the model.
    #[error("the model is behind every camera; cameras look along their −Z, in a world with +Z up")]
    NoCameraFacesTheModel,
    /// An environment cannot be read.
    #[error("the environment cannot be read: {problem}")]
    Environment {
        /// What is wrong.
        problem: String,
    },
    /// An image that settings name is not among the assets.
    #[error("the settings name the asset '{id}', which is not there")]
    NoSuchAsset {
        /// Its id.
        id: String,
    },
    /// An image that settings name cannot be read.
    #[error("the asset '{id}' cannot be read: {problem}")]
    Asset {
        /// Its id.
        id: String,
        /// What is wrong.
        problem: String,
    },
}
