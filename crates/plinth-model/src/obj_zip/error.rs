//! Why an archive cannot be converted.

/// Why an archive cannot be converted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The archive is broken or of a kind that is not read.
    #[error("the ZIP cannot be read: {problem}")]
    Archive {
        /// What is wrong.
        problem: String,
    },
    /// Its contents are too large.
    #[error("the ZIP unpacks to more than {limit} bytes")]
    TooLarge {
        /// What is accepted.
        limit: u64,
    },
    /// Not exactly one OBJ.
    #[error("the ZIP must hold exactly one .obj, not {count}")]
    ObjCount {
        /// How many there are.
        count: usize,
    },
    /// The OBJ is broken.
    #[error("line {line} of the OBJ: {problem}")]
    Obj {
        /// Where.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// The model is too large.
    #[error("{problem}")]
    Model {
        /// Which limit it exceeds.
        problem: String,
    },
    /// There is nothing to draw.
    #[error("the OBJ has no faces")]
    NoFaces,
    /// A texture is broken.
    #[error("the texture '{name}' cannot be used: {problem}")]
    Texture {
        /// Which one.
        name: String,
        /// What is wrong.
        problem: String,
    },
}
