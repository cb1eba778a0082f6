//! Errors of drawing.

/// The reason why a scene could not be drawn.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The driver dropped the device.
    #[error("the graphics device was lost; run again, and if it happens again try `--adapter cpu`: {words}")]
    DeviceLost {
        /// Message of the driver.
        words: String,
    },
    /// The device does not respond.
    #[error("the graphics device did not answer in time; try `--adapter cpu`")]
    DeviceHung {
        /// Error of the wait.
        #[source]
        source: wgpu::PollError,
    },
    /// Not enough device memory.
    #[error("the graphics device is out of memory; choose a smaller quality or `--adapter cpu`: {words}")]
    OutOfMemory {
        /// Message of the driver.
        words: String,
    },
    /// The device rejected a command, which is a bug in this program or the driver.
    #[error("the graphics device refused a command: {words}")]
    Rejected {
        /// The validation message.
        words: String,
    },
    /// The picture is larger than the adapter supports.
    #[error(
        "a picture of {width}×{height} is larger than this adapter allows ({limit}); choose a smaller quality or another adapter"
    )]
    PictureTooLarge {
        /// Requested width in pixels.
        width: u32,
        /// Requested height in pixels.
        height: u32,
        /// Longest side that the adapter supports.
        limit: u32,
    },
    /// The geometry does not fit into a buffer of the adapter.
    #[error("the model's geometry takes {bytes} bytes, more than this adapter allows in one buffer ({limit})")]
    GeometryTooLarge {
        /// Required size.
        bytes: u64,
        /// Maximum size.
        limit: u64,
    },
    /// The model has more parts than the visibility buffer can number.
    #[error("the model has too many parts to draw: {materials} materials with {triangles} triangles")]
    TooManyParts {
        /// Number of materials in use.
        materials: usize,
        /// Number of triangles.
        triangles: usize,
    },
    /// Layers were requested with an opaque background.
    #[error("depth and normals are drawn with a transparent background and eight bits a channel")]
    LayersNeedTransparency,
    /// The receiver of frames stopped.
    #[error("the frames could not be handed over")]
    Sink {
        /// Cause.
        #[source]
        source: plinth_frame::SinkError,
    },
    /// A shader did not compile, which is a bug in this program.
    #[error("the shader '{name}' does not compile: {words}")]
    Shader {
        /// Name of the shader.
        name: String,
        /// Message of the compiler.
        words: String,
    },
}
