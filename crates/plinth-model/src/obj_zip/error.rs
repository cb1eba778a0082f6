//! Errors of the conversion of OBJ archives.

/// The reason why an archive cannot be converted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The archive is invalid or not supported.
    #[error("the ZIP cannot be read: {problem}")]
    Archive {
        /// The problem.
        problem: String,
    },
    /// The unpacked files are too large.
    #[error("the ZIP unpacks to more than {limit} bytes")]
    TooLarge {
        /// The maximum unpacked size in bytes.
        limit: u64,
    },
    /// The archive does not contain exactly one OBJ.
    #[error("the ZIP must contain exactly one .obj, not {count}")]
    ObjCount {
        /// The number of OBJ files.
        count: usize,
    },
    /// The OBJ is invalid.
    #[error("line {line} of the OBJ: {problem}")]
    Obj {
        /// The line number, starting at 1.
        line: usize,
        /// The problem.
        problem: String,
    },
    /// The model is too large.
    #[error("{problem}")]
    Model {
        /// The exceeded limit.
        problem: String,
    },
    /// The OBJ has no faces.
    #[error("the OBJ has no faces")]
    NoFaces,
    /// A texture cannot be decoded or is too large.
    #[error("the texture '{name}' cannot be used: {problem}")]
    Texture {
        /// The file name of the texture.
        name: String,
        /// The problem.
        problem: String,
    },
}
