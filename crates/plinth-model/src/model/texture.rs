//! Textures, samplers and images.

use super::pixels::Pixels;

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

impl Wrap {
    /// Returns the index of the texel at the texture coordinate `x` along an axis with `size` texels.
    #[inline]
    pub fn texel(self, x: f32, size: usize) -> usize {
        let inside = match self {
            Self::Repeat => repeated(x),
            Self::Mirror => 1.0 - (x.rem_euclid(2.0) - 1.0).abs(),
            Self::Clamp => x.clamp(0.0, 1.0),
        };
        ((inside * size as f32) as usize).min(size.max(1) - 1)
    }
}

/// Returns `x.rem_euclid(1.0)`, but without a slow division.
fn repeated(x: f32) -> f32 {
    // From 2^23 on, every `f32` is a whole number and may not fit into an `i32`.
    if x.abs() < 8_388_608.0 {
        let whole = x as i32 as f32;
        let rest = x - whole;
        if rest < 0.0 { rest + 1.0 } else { rest }
    } else {
        x.rem_euclid(1.0)
    }
}

/// An image: R, G, B, A bytes as stored in the file, without applying a transfer function. Row 0 is at the top.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Image {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// The bytes R, G, B, A of all pixels.
    pub pixels: Pixels,
    /// Width of the image in the file in pixels, before downscaling.
    pub source_width: u32,
    /// Height of the image in the file in pixels, before downscaling.
    pub source_height: u32,
    /// Hash of the encoded bytes from which all pixels were decoded; `None` if it is not known. Whoever changes pixels
    /// must set it to `None`.
    pub encoded_hash: Option<[u8; 16]>,
}

impl Image {
    /// Returns whether there is no image, because no material uses it or its format is not supported.
    pub(crate) const fn is_missing(&self) -> bool {
        self.width == 0
    }

    /// Returns the number of bytes that the image takes in memory after its pixels were read.
    pub(crate) fn content_bytes(&self) -> usize {
        self.width as usize * self.height as usize * 4 + self.pixels.encoded_bytes()
    }

    /// Returns bytes that, together with the width and the height, identify the pixels within one build of the program:
    /// the hash of the encoded bytes or, if it is not known, the pixels themselves.
    pub fn identity(&self) -> &[u8] {
        self.encoded_hash.as_ref().map_or_else(|| &*self.pixels, |hash| hash.as_slice())
    }
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Image").field("width", &self.width).field("height", &self.height).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_coordinates_are_those_of_the_euclidean_remainder() {
        let steps = (0..4000).map(|i| (i as f32 - 2000.0) * 0.037);
        let special =
            [0.0, -0.0, 1.0, -1.0, -1e-9, 1e-9, 0.999_999_94, -0.999_999_94, 8_388_607.5, -8_388_607.5, 1e9, -1e30];
        for x in steps.chain(special) {
            assert!((repeated(x) - x.rem_euclid(1.0)).abs() <= 0.0, "{x}");
        }
        assert!(repeated(f32::NAN).is_nan() && repeated(f32::INFINITY).is_nan());
    }

    #[test]
    fn coordinates_outside_of_a_texture_are_wrapped() {
        let texels = |wrap: Wrap| [-0.25, 0.0, 0.35, 0.85, 1.0, 1.35, 2.35].map(|x| wrap.texel(x, 10));
        assert_eq!(texels(Wrap::Repeat), [7, 0, 3, 8, 0, 3, 3]);
        assert_eq!(texels(Wrap::Mirror), [2, 0, 3, 8, 9, 6, 3]);
        assert_eq!(texels(Wrap::Clamp), [0, 0, 3, 8, 9, 9, 9]);
    }
}
