//! Errors of converting OBJ archives.

/// The reason why an archive cannot be converted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The archive is invalid or not supported.
    #[error("the ZIP cannot be read: {problem}")]
    Archive { problem: String },
    /// The unpacked files are too large.
    #[error("the ZIP unpacks to more than {limit} bytes")]
    TooLarge {
        /// The maximum unpacked size in bytes.
        limit: u64,
    },
    /// The archive contains no OBJ file, or several OBJ files.
    #[error("the ZIP must contain exactly one .obj, not {count}")]
    ObjCount {
        /// The number of OBJ files.
        count: usize,
    },
    /// The archive contains a glTF file, but no OBJ file.
    #[error(
        "the ZIP must contain exactly one .obj, not 0; a glTF model is accepted only as a .glb that is not in a ZIP"
    )]
    Gltf,
    #[error("line {line} of the OBJ: {problem}")]
    Obj {
        /// The line number, starting at 1.
        line: usize,
        problem: String,
    },
    /// The model exceeds a limit.
    #[error("{problem}")]
    Model {
        /// Description of the exceeded limit.
        problem: String,
    },
    #[error("the OBJ has no faces")]
    NoFaces,
    /// The OBJ file consists of free-form curves and surfaces.
    #[error("the OBJ has no faces, only free-form curves or surfaces, such as NURBS; export it as polygons")]
    FreeForm,
    /// A texture cannot be decoded or is too large.
    #[error("the texture '{name}' cannot be used: {problem}")]
    Texture {
        /// The file name of the texture.
        name: String,
        problem: String,
    },
}
