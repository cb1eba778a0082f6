//! Errors for rejected model files.

/// The reason why a model file is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The file is not a valid GLB container.
    #[error("not a readable GLB file: {problem}")]
    Container { problem: String },
    /// The JSON chunk is not a glTF document.
    #[error("the glTF JSON is broken: {problem}")]
    Json { problem: String },
    /// An object of the document violates the glTF specification.
    #[error("{location}: {problem}")]
    Invalid {
        /// The location in the document, such as `meshes[2].primitives[0]`.
        location: String,
        problem: String,
    },
    /// The file requires an extension that the reader does not support.
    #[error("the model requires the extension {name}, which is not supported")]
    UnsupportedExtension { name: String },
    /// A buffer or image is stored outside the file.
    #[error("{location} refers to '{uri}' outside of the file; embed all buffers and images into the GLB")]
    External {
        location: String,
        /// The URI, truncated to 80 characters.
        uri: String,
    },
    /// The model exceeds one of [`crate::Limits`].
    #[error("the model has {count} {what}, more than the {limit} that are accepted")]
    Limit {
        /// Name of the counted items, in the plural.
        what: &'static str,
        /// Number of these items in the model.
        count: u64,
        /// Maximum number of these items.
        limit: u64,
    },
}

impl ModelError {
    pub(crate) fn invalid(location: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Invalid { location: location.into(), problem: problem.into() }
    }

    pub(crate) fn container(problem: impl Into<String>) -> Self {
        Self::Container { problem: problem.into() }
    }
}

/// The result type of all functions that read a model.
pub(crate) type Result<T> = std::result::Result<T, ModelError>;
