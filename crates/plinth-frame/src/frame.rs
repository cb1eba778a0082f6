//! A finished frame of a video or still.

use std::sync::Arc;

/// Pixel format of a [`Frame`]. Colour is sRGB-encoded Rec.709; alpha is straight, linear coverage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PixelFormat {
    /// Four bytes per pixel: R, G, B, A, 0..=255.
    Rgba8,
    /// Eight bytes per pixel: R, G, B, A as native-endian `u16`, 0..=65535.
    Rgba16,
}

impl PixelFormat {
    /// Returns the size of one pixel.
    pub const fn bytes_per_pixel(self) -> usize {
        match self {
            Self::Rgba8 => 4,
            Self::Rgba16 => 8,
        }
    }
}

/// A rectangle of pixels inside a frame, with the origin at the top left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Region {
    /// Leftmost column.
    pub x: u32,
    /// Topmost row.
    pub y: u32,
    pub width: u32,
    pub height: u32,
}

impl Region {
    /// A region without pixels.
    pub const EMPTY: Self = Self { x: 0, y: 0, width: 0, height: 0 };

    /// Returns the region that covers a whole picture.
    pub const fn whole(width: u32, height: u32) -> Self {
        Self { x: 0, y: 0, width, height }
    }
}

/// Content of the pixels outside of a frame's region.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Backdrop {
    /// An opaque sRGB colour.
    Solid([u8; 3]),
    /// An opaque picture of the frame's size: R, G, B, 255 as bytes, row 0 at the top.
    Picture(Arc<Vec<u8>>),
    /// Nothing: alpha and colour are 0.
    Transparent,
}

impl Backdrop {
    /// Whether the backdrop can be used with frames of this size.
    pub fn fits(&self, width: u32, height: u32) -> bool {
        match self {
            Self::Picture(pixels) => pixels.len() == width as usize * height as usize * 4,
            Self::Solid(_) | Self::Transparent => true,
        }
    }
}

/// A frame, of which only the pixels of `region` are stored. The pixels outside of it are given by `backdrop`.
///
/// `pixels` has `region.height` rows of `region.width` pixels, tightly packed, row 0 at the top. With an opaque
/// backdrop every pixel is opaque (alpha is the maximum); with [`Backdrop::Transparent`] alpha is straight coverage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Index in the video, from 0.
    pub index: u32,
    /// Width of the whole picture in pixels.
    pub width: u32,
    /// Height of the whole picture in pixels.
    pub height: u32,
    /// Rectangle of the stored pixels.
    pub region: Region,
    /// Content of the pixels outside of the region.
    pub backdrop: Backdrop,
    /// Format of `pixels`.
    pub format: PixelFormat,
    /// Stored pixels.
    pub pixels: Vec<u8>,
}

impl Frame {
    /// Whether the region lies inside of the picture, and `pixels` and backdrop have the right sizes.
    pub fn is_whole(&self) -> bool {
        let Region { x, y, width, height } = self.region;
        let inside = |first: u32, count: u32, side: u32| first.checked_add(count).is_some_and(|end| end <= side);
        let bytes = width as usize * height as usize * self.format.bytes_per_pixel();
        let backdrop = self.backdrop.fits(self.width, self.height);
        backdrop && inside(x, width, self.width) && inside(y, height, self.height) && self.pixels.len() == bytes
    }
}
