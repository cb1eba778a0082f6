//! Errors of drawing a scene.

/// The reason why a scene could not be drawn.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The graphics device was lost, for example because its driver was reset.
    #[error("the graphics device was lost; run again, and if it happens again try `--adapter cpu`: {message}")]
    DeviceLost { message: String },
    /// The graphics device does not respond.
    #[error("the graphics device did not respond in time; try `--adapter cpu`")]
    DeviceHung {
        /// Error of waiting for the device.
        #[source]
        source: wgpu::PollError,
    },
    /// There is not enough device memory.
    #[error("the graphics device is out of memory; choose a smaller quality or `--adapter cpu`: {message}")]
    OutOfMemory { message: String },
    /// The device rejected a command, because of a bug in this program or in the driver.
    #[error("the graphics device rejected a command: {message}")]
    Rejected { message: String },
    /// The picture is larger than the adapter supports.
    #[error(
        "a picture of {width}×{height} is larger than this adapter allows ({limit}); choose a smaller quality or another adapter"
    )]
    PictureTooLarge {
        /// Requested width in pixels.
        width: u32,
        /// Requested height in pixels.
        height: u32,
        /// Maximum side length that the adapter supports.
        limit: u32,
    },
    /// The geometry does not fit into a buffer of the adapter.
    #[error("the model's geometry takes {bytes} bytes, more than this adapter allows in one buffer ({limit})")]
    GeometryTooLarge {
        /// Size of the geometry in bytes.
        bytes: u64,
        /// Maximum size of a buffer in bytes.
        limit: u64,
    },
    /// The model has more parts than the visibility buffer can number.
    #[error("the model has too many parts to draw: {materials} materials with {triangles} triangles")]
    TooManyParts {
        /// Number of materials that are used.
        materials: usize,
        triangles: usize,
    },
    /// Depth and normals were requested for a scene whose background is not transparent, or for a pixel format other
    /// than `Rgba8`.
    #[error("depth and normals require a transparent background and eight bits per channel")]
    LayersNeedTransparency,
    /// The receiver of frames stopped.
    #[error("the receiver of the frames failed")]
    Sink {
        /// Error of the receiver.
        #[source]
        source: plinth_frame::SinkError,
    },
    /// A shader could not be compiled, because of a bug in this program.
    #[error("the shader '{name}' does not compile: {message}")]
    Shader { name: String, message: String },
}
