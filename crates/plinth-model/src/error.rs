//! Why a model file is refused.

/// What is wrong with a model file, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The GLB container is broken.
    #[error("not a readable GLB file: {problem}")]
    Container {
        /// What is wrong.
        problem: String,
    },
    /// The JSON chunk is not glTF.
    #[error("the glTF JSON is broken: {problem}")]
    Json {
        /// What is wrong.
        problem: String,
    },
    /// Something in the document breaks the format's rules.
    #[error("{place}: {problem}")]
    Invalid {
        /// Where, such as `meshes[2].primitives[0]`.
        place: String,
        /// What is wrong.
        problem: String,
    },
    /// A required extension is unknown.
    #[error("the model requires the extension {name}, which is not supported")]
    UnsupportedExtension {
        /// Its name.
        name: String,
    },
    /// Data lie outside of the file.
    #[error("{place} refers to '{uri}' outside of the file; embed all buffers and images into the GLB")]
    External {
        /// Where.
        place: String,
        /// The reference, shortened.
        uri: String,
    },
    /// A limit that protects the machine is exceeded.
    #[error("the model has {count} {what}, more than the {limit} that are accepted")]
    Limit {
        /// What there is too much of.
        what: &'static str,
        /// How much there is.
        count: u64,
        /// How much is accepted.
        limit: u64,
    },
}

impl ModelError {
    pub(crate) fn invalid(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Invalid { place: place.into(), problem: problem.into() }
    }

    pub(crate) fn container(problem: impl Into<String>) -> Self {
        Self::Container { problem: problem.into() }
    }
}

/// The result of everything that reads a model.
pub(crate) type Result<T> = std::result::Result<T, ModelError>;
