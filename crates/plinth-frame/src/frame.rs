//! One finished picture of a video or a still.

use std::sync::Arc;

/// How the bytes of a [`Frame`] are read. Colour is sRGB-encoded Rec.709; alpha is straight and linear coverage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PixelFormat {
    /// Four bytes a pixel: R, G, B, A, 0..=255.
    Rgba8,
    /// Eight bytes a pixel: R, G, B, A as native-endian `u16`, 0..=65535.
    Rgba16,
}

impl PixelFormat {
    /// Bytes that one pixel takes.
    pub const fn bytes_per_pixel(self) -> usize {
        match self {
            Self::Rgba8 => 4,
            Self::Rgba16 => 8,
        }
    }
}

/// A rectangle of pixels inside a frame, origin at the top left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Region {
    /// First column.
    pub x: u32,
    /// First row.
    pub y: u32,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

impl Region {
    /// The region without a pixel.
    pub const EMPTY: Self = Self { x: 0, y: 0, width: 0, height: 0 };

    /// The region that covers a whole picture.
    pub const fn whole(width: u32, height: u32) -> Self {
        Self { x: 0, y: 0, width, height }
    }
}

/// What stands in every pixel outside of a frame's region.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Backdrop {
    /// An opaque sRGB colour.
    Solid([u8; 3]),
    /// An opaque picture of the frame's size: R, G, B, 255 as bytes, row 0 at the top.
    Picture(Arc<Vec<u8>>),
    /// Nothing: alpha 0, colour 0.
    Transparent,
}

impl Backdrop {
    /// Whether it has as many pixels as a frame of this size.
    pub fn fits(&self, width: u32, height: u32) -> bool {
        match self {
            Self::Picture(pixels) => pixels.len() == width as usize * height as usize * 4,
            Self::Solid(_) | Self::Transparent => true,
        }
    }
}

/// One picture. Only the pixels of `region` are stored: everything outside of it is `backdrop`.
///
/// Shape of `pixels`: `region.height` rows of `region.width` pixels, tightly packed, row 0 at the top.
/// Over an opaque backdrop every pixel is opaque (alpha is the maximum); over [`Backdrop::Transparent`] alpha is straight
/// coverage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Position in the shot, from 0.
    pub index: u32,
    /// Width of the whole picture in pixels.
    pub width: u32,
    /// Height of the whole picture in pixels.
    pub height: u32,
    /// The stored rectangle.
    pub region: Region,
    /// What is outside of the region.
    pub backdrop: Backdrop,
    /// Layout of `pixels`.
    pub format: PixelFormat,
    /// The stored pixels.
    pub pixels: Vec<u8>,
}

impl Frame {
    /// Whether the region lies inside of the picture, and `pixels` and the backdrop have their sizes.
    pub fn is_whole(&self) -> bool {
        let Region { x, y, width, height } = self.region;
        let inside = |first: u32, count: u32, side: u32| first.checked_add(count).is_some_and(|end| end <= side);
        let bytes = width as usize * height as usize * self.format.bytes_per_pixel();
        let backdrop = self.backdrop.fits(self.width, self.height);
        backdrop && inside(x, width, self.width) && inside(y, height, self.height) && self.pixels.len() == bytes
    }
}
