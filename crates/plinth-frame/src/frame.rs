//! A finished frame of a video or of a still image.

use std::sync::Arc;

/// Pixel format of a [`Frame`]. Colour values are sRGB-encoded Rec.709. Alpha is straight, and equals the fraction of
/// the pixel that is covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PixelFormat {
    /// Four bytes per pixel, 0 to 255, in the order R, G, B, A.
    Rgba8,
    /// Four native-endian `u16` values per pixel, 0 to 65535, in the order R, G, B, A.
    Rgba16,
}

impl PixelFormat {
    /// Returns the size of one pixel in bytes.
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

    /// Returns the region that covers a whole picture of `width` × `height` pixels.
    pub const fn whole(width: u32, height: u32) -> Self {
        Self { x: 0, y: 0, width, height }
    }
}

/// Content of the pixels outside a frame's region.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Backdrop {
    /// An opaque sRGB colour.
    Solid([u8; 3]),
    /// An opaque picture of the same size as the frame. Each pixel is the bytes R, G, B, 255; row 0 is at the top.
    Picture(Arc<Vec<u8>>),
    /// Transparent pixels: colour and alpha are 0.
    Transparent,
}

impl Backdrop {
    /// Returns whether the backdrop can be used with frames of `width` × `height` pixels.
    pub fn fits(&self, width: u32, height: u32) -> bool {
        match self {
            Self::Picture(pixels) => pixels.len() == width as usize * height as usize * 4,
            Self::Solid(_) | Self::Transparent => true,
        }
    }
}

/// A frame that stores only the pixels of `region`; `backdrop` defines all other pixels.
///
/// `pixels` has `region.height` rows of `region.width` pixels without padding; row 0 is at the top. If the backdrop is
/// opaque, every stored pixel is opaque, too. With [`Backdrop::Transparent`], the stored pixels have straight alpha.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Index of the frame in the video, from 0.
    pub index: u32,
    /// Width of the whole picture in pixels.
    pub width: u32,
    /// Height of the whole picture in pixels.
    pub height: u32,
    /// Rectangle of the stored pixels.
    pub region: Region,
    /// Content of the pixels outside `region`.
    pub backdrop: Backdrop,
    /// Format of `pixels`.
    pub format: PixelFormat,
    /// Pixels of `region`.
    pub pixels: Vec<u8>,
}

impl Frame {
    /// Returns whether `region` lies inside the picture, and `pixels` and `backdrop` have the sizes that the other
    /// fields require.
    pub fn is_whole(&self) -> bool {
        let Region { x, y, width, height } = self.region;
        let inside = |first: u32, count: u32, side: u32| first.checked_add(count).is_some_and(|end| end <= side);
        let bytes = width as usize * height as usize * self.format.bytes_per_pixel();
        let backdrop = self.backdrop.fits(self.width, self.height);
        backdrop && inside(x, width, self.width) && inside(y, height, self.height) && self.pixels.len() == bytes
    }
}
