//! Encodes still images and dataset layers as PNG.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use ::png::{BitDepth, ColorType};

use crate::MediaError;
use crate::canvas::Canvas;

/// Writes an opaque image to `path` as an 8-bit RGB PNG. Error messages name `target`, the final path of the file.
pub(crate) fn write(path: &Path, target: &Path, canvas: &Canvas) -> Result<(), MediaError> {
    let file = File::create(path).map_err(|source| MediaError::File { file: target.to_owned(), source })?;
    let rgb: Vec<u8> = canvas.pixels.as_chunks::<4>().0.iter().flat_map(|[r, g, b, _]| [*r, *g, *b]).collect();
    let kind = (ColorType::Rgb, BitDepth::Eight);
    encode(BufWriter::new(file), canvas.width, canvas.height, kind, true, &rgb)
        .map_err(|source| MediaError::Png { file: target.to_owned(), source })
}

/// Encodes an 8-bit sRGB image with three bytes R, G, B per pixel.
pub(crate) fn rgb_8(width: u32, height: u32, pixels: &[u8]) -> Result<Vec<u8>, ::png::EncodingError> {
    encoded(width, height, (ColorType::Rgb, BitDepth::Eight), true, pixels)
}

/// Encodes an 8-bit image with three channels that are not a colour, for example the components of normals.
pub(crate) fn vectors_8(width: u32, height: u32, pixels: &[u8]) -> Result<Vec<u8>, ::png::EncodingError> {
    encoded(width, height, (ColorType::Rgb, BitDepth::Eight), false, pixels)
}

/// Encodes an 8-bit image with one channel that is not a colour, for example a depth.
pub(crate) fn grey_8(width: u32, height: u32, pixels: &[u8]) -> Result<Vec<u8>, ::png::EncodingError> {
    encoded(width, height, (ColorType::Grayscale, BitDepth::Eight), false, pixels)
}

/// Encodes a 16-bit image with one channel that is not a colour, for example a depth. `pixels` are big-endian 16-bit
/// values.
pub(crate) fn grey_16(width: u32, height: u32, pixels: &[u8]) -> Result<Vec<u8>, ::png::EncodingError> {
    encoded(width, height, (ColorType::Grayscale, BitDepth::Sixteen), false, pixels)
}

fn encoded(
    width: u32,
    height: u32,
    kind: (ColorType, BitDepth),
    is_srgb: bool,
    pixels: &[u8],
) -> Result<Vec<u8>, ::png::EncodingError> {
    let mut out = Vec::new();
    encode(&mut out, width, height, kind, is_srgb, pixels)?;
    Ok(out)
}

fn encode(
    out: impl Write,
    width: u32,
    height: u32,
    (color, depth): (ColorType, BitDepth),
    is_srgb: bool,
    pixels: &[u8],
) -> Result<(), ::png::EncodingError> {
    let mut encoder = ::png::Encoder::new(out, width, height);
    encoder.set_color(color);
    encoder.set_depth(depth);
    encoder.set_compression(::png::Compression::Fast);
    // The adaptive filter would give files of the same size, but take three times as long.
    encoder.set_filter(::png::Filter::Paeth);
    if is_srgb {
        encoder.set_source_srgb(::png::SrgbRenderingIntent::Perceptual);
    }
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()
}
