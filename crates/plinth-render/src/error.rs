//! What can go wrong while drawing.

/// Why a scene could not be drawn.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The driver dropped the device.
    #[error("the graphics device was lost; run again, and if it happens again try `--adapter cpu`: {words}")]
    DeviceLost {
        /// The driver's words.
        words: String,
    },
    /// The device does not answer.
    #[error("the graphics device did not answer in time; try `--adapter cpu`")]
    DeviceHung {
        /// What the wait said.
        #[source]
        source: wgpu::PollError,
    },
    /// Not enough device memory.
    #[error("the graphics device is out of memory; choose a smaller quality or `--adapter cpu`: {words}")]
    OutOfMemory {
        /// The driver's words.
        words: String,
    },
    /// The device refused a command: an error in this program or its driver.
    #[error("the graphics device refused a command: {words}")]
    Rejected {
        /// The validation message.
        words: String,
    },
    /// The picture is larger than the adapter can draw.
    #[error(
        "a picture of {width}×{height} is larger than this adapter allows ({limit}); choose a smaller quality or another adapter"
    )]
    PictureTooLarge {
        /// Asked width in pixels.
        width: u32,
        /// Asked height in pixels.
        height: u32,
        /// Longest side the adapter draws.
        limit: u32,
    },
    /// The geometry does not fit a buffer of the adapter.
    #[error("the model's geometry takes {bytes} bytes, more than this adapter allows in one buffer ({limit})")]
    GeometryTooLarge {
        /// Bytes needed.
        bytes: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// More parts than can be told apart.
    #[error("the model has too many parts to draw: {materials} materials with {triangles} triangles")]
    TooManyParts {
        /// Materials in use.
        materials: usize,
        /// Triangles.
        triangles: usize,
    },
    /// Layers are drawn without a background.
    #[error("depth and normals are drawn with a transparent background and eight bits a channel")]
    LayersNeedTransparency,
    /// The receiver of frames stopped.
    #[error("the frames could not be handed over")]
    Sink {
        /// Why.
        #[source]
        source: plinth_frame::SinkError,
    },
    /// A shader did not compile: an error in this program.
    #[error("the shader '{name}' does not compile: {words}")]
    Shader {
        /// Which one.
        name: String,
        /// The compiler's words.
        words: String,
    },
}
