//! Images: PNG, JPEG, WebP and KTX2 to RGBA bytes.

use std::io::Cursor;

use image::{ImageDecoder, ImageFormat, ImageReader};
use rayon::prelude::*;

use super::ktx2::Plain;
use crate::error::{ModelError, Result};
use crate::limits::{Limits, check};
use crate::model::Image;
use crate::source::{Source, data_uri};

/// Decodes the wanted images in parallel; the others stay empty.
pub(crate) fn images(source: &Source<'_>, wanted: &[bool], max_side: u32) -> Result<Vec<Image>> {
    let mut pixels = 0;
    for (i, _) in wanted.iter().enumerate().filter(|(_, wanted)| **wanted) {
        let (width, height) = size(source, i)?;
        check("pixels on the side of an image", u64::from(width.max(height)), source.limits.image_side)?;
        pixels += u64::from(width) * u64::from(height);
        check("pixels in images", pixels, source.limits.image_pixels)?;
    }
    wanted
        .par_iter()
        .enumerate()
        .map(|(i, wanted)| if *wanted { decode(source, i, max_side) } else { Ok(Image::default()) })
        .collect()
}

fn place_of(index: usize) -> String {
    format!("images[{index}]")
}

/// The encoded bytes of an image.
pub(crate) fn bytes(source: &Source<'_>, index: usize) -> Result<Vec<u8>> {
    let place = place_of(index);
    let image = &source.root.images[index];
    match (&image.uri, image.buffer_view) {
        (Some(uri), _) => data_uri(&place, uri, source.limits),
        (None, Some(view)) => Ok(source.view(&place, view)?.0.to_vec()),
        (None, None) => Err(ModelError::invalid(place, "it has neither data nor a URI")),
    }
}

/// What the first bytes say.
pub(crate) fn kind(bytes: &[u8]) -> Option<Kind> {
    if bytes.starts_with(&[0xAB, b'K', b'T', b'X', b' ', b'2', b'0', 0xBB]) {
        return Some(Kind::Ktx2);
    }
    match image::guess_format(bytes).ok()? {
        ImageFormat::Png => Some(Kind::Png),
        ImageFormat::Jpeg => Some(Kind::Jpeg),
        ImageFormat::WebP => Some(Kind::WebP),
        _ => None,
    }
}

/// Image formats that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Png,
    Jpeg,
    WebP,
    Ktx2,
}

impl Kind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpeg",
            Self::WebP => "webp",
            Self::Ktx2 => "ktx2",
        }
    }
}

fn unreadable(index: usize, problem: impl std::fmt::Display) -> ModelError {
    ModelError::invalid(place_of(index), format!("it cannot be decoded: {problem}"))
}

/// Width and height from the header, before any pixel is decoded.
pub(crate) fn size(source: &Source<'_>, index: usize) -> Result<(u32, u32)> {
    let bytes = bytes(source, index)?;
    let (width, height) = match kind(&bytes) {
        None => return Err(unreadable(index, "not a PNG, JPEG, WebP or KTX2 image")),
        Some(Kind::Ktx2) => match Plain::open(&bytes) {
            Some(plain) => (plain.width, plain.height),
            None => basisu::Transcoder::new(&bytes).map_err(|e| unreadable(index, format!("{e:?}")))?.base_dimensions(),
        },
        Some(_) => reader(&bytes, index)?.into_dimensions().map_err(|e| unreadable(index, e))?,
    };
    if width == 0 || height == 0 {
        return Err(unreadable(index, "its width or height is 0"));
    }
    Ok((width, height))
}

fn reader(bytes: &[u8], index: usize) -> Result<ImageReader<Cursor<&[u8]>>> {
    ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(|e| unreadable(index, e))
}

fn decode(source: &Source<'_>, index: usize, max_side: u32) -> Result<Image> {
    let bytes = bytes(source, index)?;
    let (width, height, pixels) = match kind(&bytes) {
        Some(Kind::Ktx2) => ktx2(&bytes, index)?,
        _ => raster(&bytes, index, source.limits)?,
    };
    let mut image = Image { width, height, pixels, source_width: width, source_height: height };
    while image.width.max(image.height) > max_side.max(1) {
        image = halve(&image);
    }
    Ok(image)
}

fn raster(bytes: &[u8], index: usize, limits: Limits) -> Result<(u32, u32, Vec<u8>)> {
    let mut reader = reader(bytes, index)?;
    let mut bounds = image::Limits::default();
    bounds.max_alloc = Some(limits.image_pixels * 8);
    reader.limits(bounds);
    let mut decoder = reader.into_decoder().map_err(|e| unreadable(index, e))?;
    // Textures carry colours as they are: an embedded profile or orientation is not applied.
    let _profile = decoder.icc_profile();
    let rgba = image::DynamicImage::from_decoder(decoder).map_err(|e| unreadable(index, e))?.into_rgba8();
    let (width, height) = rgba.dimensions();
    Ok((width, height, rgba.into_raw()))
}

fn ktx2(bytes: &[u8], index: usize) -> Result<(u32, u32, Vec<u8>)> {
    if let Some(plain) = Plain::open(bytes) {
        let pixels = plain.rgba().ok_or_else(|| unreadable(index, "its level data are broken"))?;
        return Ok((plain.width, plain.height, pixels));
    }
    let fault = |e: basisu::Error| unreadable(index, format!("{e:?}"));
    let texture = basisu::Transcoder::new(bytes).map_err(fault)?;
    let (width, height) = texture.base_dimensions();
    let pixels = texture.transcode(0, basisu::TargetFormat::Rgba32, basisu::DecodeFlags::NONE).map_err(fault)?;
    if pixels.len() as u64 != u64::from(width) * u64::from(height) * 4 {
        return Err(unreadable(index, "its data do not fit its size"));
    }
    Ok((width, height, pixels))
}

/// Half the size, averaging bytes: only for images far larger than what is shown.
fn halve(image: &Image) -> Image {
    let (width, height) = ((image.width / 2).max(1), (image.height / 2).max(1));
    let at = |x: u32, y: u32, c: usize| {
        let (x, y) = (x.min(image.width - 1) as usize, y.min(image.height - 1) as usize);
        u32::from(image.pixels[(y * image.width as usize + x) * 4 + c])
    };
    let mut pixels = Vec::with_capacity(width as usize * height as usize * 4);
    for y in 0..height {
        for x in 0..width {
            for c in 0..4 {
                let (x, y) = (2 * x, 2 * y);
                let sum = at(x, y, c) + at(x + 1, y, c) + at(x, y + 1, c) + at(x + 1, y + 1, c);
                pixels.push(((sum + 2) / 4) as u8);
            }
        }
    }
    Image { width, height, pixels, source_width: image.source_width, source_height: image.source_height }
}

/// IEC 61966-2-1, decoding.
pub(crate) fn linear_from_srgb(encoded: f32) -> f32 {
    if encoded <= 0.040_45 { encoded / 12.92 } else { ((encoded + 0.055) / 1.055).powf(2.4) }
}
