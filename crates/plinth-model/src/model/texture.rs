//! Textures, samplers and decoded images.

/// A reference to a texture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextureRef {
    /// Index into [`Model::textures`](super::Model::textures).
    pub texture: usize,
    /// Index into [`Primitive::uvs`](super::Primitive::uvs). If a primitive does not have this set, all its coordinates
    /// are (0, 0).
    pub uv_set: usize,
    /// Transform of KHR_texture_transform: the first two rows of a 3×3 matrix. The transformed coordinates are `u' =
    /// a·u + b·v + c` and `v' = d·u + e·v + f`.
    pub transform: Option<[f32; 6]>,
}

impl TextureRef {
    /// Applies the transform to texture coordinates.
    pub fn transformed(&self, [u, v]: [f32; 2]) -> [f32; 2] {
        self.transform.map_or([u, v], |[a, b, c, d, e, f]| [a * u + b * v + c, d * u + e * v + f])
    }
}

/// An image with a sampler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Texture {
    /// Index into [`Model::images`](super::Model::images).
    pub image: usize,
    /// The sampler of the texture.
    pub sampler: Sampler,
}

/// Wrapping and filtering of a texture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sampler {
    /// Wrapping of u outside 0..1.
    pub wrap_u: Wrap,
    /// Wrapping of v outside 0..1.
    pub wrap_v: Wrap,
    /// Whether a magnified texture shows its nearest texel instead of interpolating linearly.
    pub mag_nearest: bool,
    /// Whether a minified texture shows the nearest texel of a mip level instead of interpolating linearly.
    pub min_nearest: bool,
}

/// How texture coordinates outside 0..1 are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wrap {
    /// Repeats the texture.
    #[default]
    Repeat,
    /// Repeats the texture, mirrored every second time.
    Mirror,
    /// Uses the texels at the edge of the texture.
    Clamp,
}

/// A decoded image: R, G, B, A bytes as stored in the file, without applying a transfer function. Row 0 is at the top.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Image {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// The bytes R, G, B, A of all pixels.
    pub pixels: Vec<u8>,
    /// Width of the image in the file in pixels, before downscaling.
    pub source_width: u32,
    /// Height of the image in the file in pixels, before downscaling.
    pub source_height: u32,
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Image").field("width", &self.width).field("height", &self.height).finish_non_exhaustive()
    }
}
