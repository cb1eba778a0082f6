//! Decodes PNG, JPEG, WebP and KTX2 images to RGBA bytes.

use std::borrow::Cow;
use std::io::Cursor;

use image::{ColorType, ImageDecoder, ImageFormat, ImageReader};
use rayon::prelude::*;
use twox_hash::XxHash3_128;

use super::jpeg::ycbcr_jpeg;
use super::ktx2::{UncompressedKtx2, checked_size, second_slice_is_green, without_key_values};
use super::pixel_budget::Decoding;
use super::png::rgb_png;
use super::raster::{Raster, scaled_down};
use crate::error::{ModelError, Result};
use crate::image_container::{check_palette, check_picture};
use crate::limits::{Limits, check};
use crate::model::{Image, KnownImages, Pixels};
use crate::source::{Source, data_uri, given_name, shortened};

/// Minimum size of the pixels of a known image, in multiples of its encoded size.
const MIN_COMPRESSION: u64 = 2;
/// Maximum number of bytes that are kept to decode the next image.
const MAX_SCRATCH: usize = 16 << 20;

/// Checks the total size of all encoded images. Several images may refer to the same bytes, so the file size does not
/// limit this total.
pub(crate) fn check_encoded(source: &Source<'_>) -> Result<()> {
    let length = |image: &crate::json::Image| match (image.buffer_view, &image.uri) {
        (Some(view), _) => source.root.buffer_views.get(view).map_or(0, |v| v.byte_length),
        (None, Some(uri)) => uri.len() as u64,
        (None, None) => 0,
    };
    let bytes = source.root.images.iter().map(length).fold(0, u64::saturating_add);
    check("bytes in images", bytes, source.limits.bytes)
}

/// Decodes the images for which `used` is true, and decodes several images in parallel. The pixels of `known` images are
/// decoded later. All other images stay empty, and so do images of known formats that are not supported, for which a
/// warning is added.
pub(crate) fn images(
    source: &Source<'_>,
    used: &[bool],
    max_side: u32,
    known: Option<KnownImages<'_>>,
) -> Result<Vec<Image>> {
    let mut pixels = 0;
    let mut images = vec![Image::default(); used.len()];
    let mut encoded: Vec<EncodedImage> = Vec::new();
    for (index, _) in used.iter().enumerate().filter(|(_, used)| **used) {
        let data = with_name(source, index, bytes(source, index))?;
        let header = with_name(source, index, size(&data, index));
        if let Err(problem) = &header
            && unsupported_format(&data).is_some()
        {
            source.warn(&not_used(problem));
            continue;
        }
        let (width, height) = header?;
        check("pixels on the side of an image", u64::from(width.max(height)), source.limits.image_side)?;
        let one = EncodedImage { index, width, height, max_side };
        pixels += one.pixels();
        check("pixels in images", pixels, source.limits.image_pixels)?;
        encoded.push(one);
    }
    let image_of =
        |scratch: &mut Vec<u8>, one: &EncodedImage| with_name(source, one.index, one.image(source, known, scratch));
    let found: Vec<Result<Image>> = encoded.par_iter().map_init(Vec::new, image_of).collect();
    for (one, image) in encoded.into_iter().zip(found) {
        images[one.index] = image?;
    }
    Ok(images)
}

/// An image in a model whose header has been read.
struct EncodedImage {
    index: usize,
    width: u32,
    height: u32,
    /// Both sides are halved until neither is longer than this number of pixels.
    max_side: u32,
}

impl EncodedImage {
    const fn pixels(&self) -> u64 {
        self.width as u64 * self.height as u64
    }

    /// Decodes the image, unless it is `known`.
    fn image(&self, source: &Source<'_>, known: Option<KnownImages<'_>>, scratch: &mut Vec<u8>) -> Result<Image> {
        let bytes = bytes(source, self.index)?;
        let hash = encoded_hash(&bytes);
        let (width, height) = scaled_down((self.width, self.height), self.max_side);
        // The encoded image stays in memory beside its pixels, so it must be small in comparison.
        let is_small = bytes.len() as u64 <= u64::from(width) * u64::from(height) * 4 / MIN_COMPRESSION;
        let facts = known.filter(|_known| is_small).and_then(|known| known(&hash, (width, height)));
        let pixels = match facts {
            Some(facts) => {
                let encoded_bytes = bytes.len();
                let decode = decode_again(bytes.into_owned(), self.pixels(), source.limits, self.max_side);
                Pixels::known(facts, encoded_bytes, decode)
            }
            None => self.decode(&bytes, (width, height), source.limits, scratch)?.into(),
        };
        let (source_width, source_height) = (self.width, self.height);
        Ok(Image { width, height, pixels, source_width, source_height, encoded_hash: Some(hash) })
    }

    /// Returns R, G, B, A bytes of an image with the given size.
    fn decode(&self, bytes: &[u8], size: (u32, u32), limits: Limits, scratch: &mut Vec<u8>) -> Result<Vec<u8>> {
        let _decoding = Decoding::start(self.pixels());
        let raster =
            any_raster(bytes, limits, self.max_side, scratch).map_err(|error| unreadable(self.index, error))?;
        if scaled_down((raster.width, raster.height), self.max_side) != size {
            return Err(unreadable(self.index, "its data does not match its size"));
        }
        let pixels = raster.into_pixels(self.max_side);
        if scratch.capacity() > MAX_SCRATCH {
            *scratch = Vec::new();
        }
        Ok(pixels)
    }
}

fn location_of(index: usize) -> String {
    format!("images[{index}]")
}

/// Returns the warning for an image that is not used, because it cannot be read.
pub(crate) fn not_used(problem: &ModelError) -> String {
    format!("not used: {problem}")
}

/// Adds the name of an image to the location in an error, because users know images by their names.
pub(crate) fn with_name<T>(source: &Source<'_>, index: usize, result: Result<T>) -> Result<T> {
    let name = given_name(source.root.images[index].name.as_deref());
    result.map_err(|error| match (error, name) {
        (ModelError::Invalid { location, problem }, Some(name)) if location == location_of(index) => {
            ModelError::invalid(format!("{location} ('{}')", shortened(name)), problem)
        }
        (error, _) => error,
    })
}

/// Returns the encoded bytes of an image.
pub(crate) fn bytes<'a>(source: &'a Source<'_>, index: usize) -> Result<Cow<'a, [u8]>> {
    let location = location_of(index);
    let image = &source.root.images[index];
    // glTF forbids both members in one image, but some exporters add the file name to embedded images.
    match (image.buffer_view, &image.uri) {
        (Some(view), _) => Ok(Cow::Borrowed(source.view(&location, view)?.0)),
        (None, Some(uri)) => data_uri(&location, uri).map(Cow::Owned),
        (None, None) => Err(ModelError::invalid(location, "it has neither data nor a URI")),
    }
}

/// Detects the format of an image from its first bytes. Returns `None` for unsupported formats.
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

/// Returns the name of the format of an image if it is known but not supported.
fn unsupported_format(bytes: &[u8]) -> Option<&'static str> {
    Some(match image::guess_format(bytes).ok()? {
        ImageFormat::Avif => "AVIF",
        ImageFormat::Bmp => "BMP",
        ImageFormat::Dds => "DDS",
        ImageFormat::Gif => "GIF",
        ImageFormat::Hdr => "Radiance HDR",
        ImageFormat::OpenExr => "OpenEXR",
        ImageFormat::Tiff => "TIFF",
        _ => return None,
    })
}

/// Supported image formats.
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
    ModelError::invalid(location_of(index), format!("it cannot be decoded: {problem}"))
}

/// Reads the width and the height of an image from its header, without decoding the pixels.
pub(crate) fn size(bytes: &[u8], index: usize) -> Result<(u32, u32)> {
    let (width, height) = match kind(bytes) {
        None => {
            let found = unsupported_format(bytes).map_or_else(String::new, |name| format!(", but {name}"));
            return Err(unreadable(index, format!("not a PNG, JPEG, WebP or KTX2 image{found}")));
        }
        Some(Kind::Ktx2) => checked_size(bytes).ok_or_else(|| unreadable(index, "its KTX2 header is invalid"))?,
        Some(_) => reader(bytes, index)?.into_dimensions().map_err(|e| unreadable(index, e))?,
    };
    if width == 0 || height == 0 {
        return Err(unreadable(index, "its width or height is 0"));
    }
    Ok((width, height))
}

fn reader(bytes: &[u8], index: usize) -> Result<ImageReader<Cursor<&[u8]>>> {
    ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(|e| unreadable(index, e))
}

/// Returns a hash that identifies an image. Hashing the encoded bytes takes much less time than hashing the pixels.
fn encoded_hash(bytes: &[u8]) -> [u8; 16] {
    XxHash3_128::oneshot(bytes).to_le_bytes()
}

/// Returns a function that decodes an image that was decoded before without an error. `pixels` is the number of pixels
/// in the file.
fn decode_again(bytes: Vec<u8>, pixels: u64, limits: Limits, max_side: u32) -> impl Fn() -> Vec<u8> {
    move || {
        let _decoding = Decoding::start(pixels);
        let mut scratch = Vec::new();
        #[expect(clippy::expect_used, reason = "the same program has decoded the same bytes before")]
        let raster = any_raster(&bytes, limits, max_side, &mut scratch).expect("an image that was decoded before");
        raster.into_pixels(max_side)
    }
}

/// Decodes an image of any supported format, which will be halved until neither side is longer than `max_side` pixels, if it
/// has not been halved already. See [`raster`].
fn any_raster<'a>(
    bytes: &[u8],
    limits: Limits,
    max_side: u32,
    scratch: &'a mut Vec<u8>,
) -> std::result::Result<Raster<'a>, String> {
    let format = kind(bytes);
    if format == Some(Kind::Ktx2) {
        return ktx2(bytes);
    }
    let common = match format {
        Some(Kind::Jpeg) => ycbcr_jpeg(bytes, limits, max_side),
        Some(Kind::Png) => rgb_png(bytes, limits, max_side),
        Some(Kind::WebP | Kind::Ktx2) | None => None,
    };
    common.map_or_else(|| raster(bytes, limits, scratch), Ok)
}

/// Decodes a PNG, JPEG or WebP image. Pixels that are not RGBA are decoded to the memory of `scratch`, so that it need
/// not be allocated anew for each image.
/// Errors: a message with the reason why the image cannot be decoded.
pub(crate) fn raster<'a>(
    bytes: &[u8],
    limits: Limits,
    scratch: &'a mut Vec<u8>,
) -> std::result::Result<Raster<'a>, String> {
    check_palette(bytes)?;
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(|e| e.to_string())?;
    let mut bounds = image::Limits::default();
    bounds.max_alloc = Some(limits.decoded_bytes);
    reader.limits(bounds);
    let decoder = reader.into_decoder().map_err(|e| e.to_string())?;
    let size = decoder.total_bytes();
    if size > limits.decoded_bytes {
        return Err(format!("it takes {size} bytes after decoding, more than {}", limits.decoded_bytes));
    }
    // Texture values are used as stored in the file. An embedded colour profile or orientation is ignored.
    let channels = match decoder.color_type() {
        ColorType::L8 => 1,
        ColorType::La8 => 2,
        ColorType::Rgb8 => 3,
        _ => return image::DynamicImage::from_decoder(decoder).map(Raster::from).map_err(|e| e.to_string()),
    };
    let (width, height) = decoder.dimensions();
    // A decoder leaves out the rows that are missing in a damaged file. They must not show another image.
    scratch.clear();
    scratch.resize(size as usize, 0);
    decoder.read_image(scratch).map_err(|e| e.to_string())?;
    Ok(Raster { width, height, channels, bytes: Cow::Borrowed(scratch) })
}

/// Decodes a PNG, JPEG or WebP image for display: converts its colours to sRGB, and applies its orientation. The sides
/// of the image are halved until neither is longer than `max_side` pixels.
/// Errors: if the data has another format, is invalid or exceeds the limits.
pub fn read_picture(bytes: &[u8], limits: &Limits, max_side: u32) -> Result<Image> {
    let unreadable = |problem: String| ModelError::invalid("the picture", problem);
    let format = match kind(bytes) {
        Some(Kind::Png) => ImageFormat::Png,
        Some(Kind::Jpeg) => ImageFormat::Jpeg,
        Some(Kind::WebP) => ImageFormat::WebP,
        Some(Kind::Ktx2) | None => return Err(unreadable("it is not a PNG, JPEG or WebP".to_owned())),
    };
    check_picture(bytes).map_err(|problem| unreadable(format!("it cannot be decoded: {problem}")))?;
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut bounds = image::Limits::default();
    let side = u32::try_from(limits.image_side).unwrap_or(u32::MAX);
    (bounds.max_image_width, bounds.max_image_height) = (Some(side), Some(side));
    bounds.max_alloc = Some(limits.decoded_bytes);
    reader.limits(bounds);
    let invalid = |error: image::ImageError| unreadable(format!("it cannot be decoded: {error}"));
    let mut decoder = reader.into_decoder().map_err(invalid)?;
    let orientation = decoder.orientation().map_err(invalid)?;
    if decoder.total_bytes() > limits.decoded_bytes {
        return Err(unreadable("it is too large".to_owned()));
    }
    let mut picture = image::DynamicImage::from_decoder(decoder).map_err(invalid)?;
    picture.apply_orientation(orientation);
    if picture.width() == 0 || picture.height() == 0 {
        return Err(unreadable("its width or height is 0".to_owned()));
    }
    Ok(Raster::from(picture).into_image(max_side))
}

fn ktx2(bytes: &[u8]) -> std::result::Result<Raster<'static>, String> {
    if let Some(plain) = UncompressedKtx2::open(bytes) {
        let rgba = plain.rgba().ok_or("its level data is invalid")?;
        return Ok(Raster { width: plain.width, height: plain.height, channels: 4, bytes: Cow::Owned(rgba) });
    }
    let invalid = |e: basisu::Error| format!("{e:?}");
    let bytes = without_key_values(bytes);
    let texture = basisu::Transcoder::new(&bytes).map_err(invalid)?;
    let (width, height) = texture.base_dimensions();
    let mut rgba = texture.transcode(0, basisu::TargetFormat::Rgba32, basisu::DecodeFlags::NONE).map_err(invalid)?;
    if rgba.len() as u64 != u64::from(width) * u64::from(height) * 4 {
        return Err("its data does not match its size".to_owned());
    }
    if second_slice_is_green(&bytes) {
        // The decoder always writes the second slice to the alpha channel.
        for [_, green, _, alpha] in rgba.as_chunks_mut::<4>().0 {
            (*green, *alpha) = (*alpha, 255);
        }
    }
    Ok(Raster { width, height, channels: 4, bytes: Cow::Owned(rgba) })
}

/// Decodes an sRGB value (IEC 61966-2-1).
pub(crate) fn linear_from_srgb(encoded: f32) -> f32 {
    if encoded <= 0.040_45 { encoded / 12.92 } else { ((encoded + 0.055) / 1.055).powf(2.4) }
}

/// Encodes a linear value as sRGB (IEC 61966-2-1).
pub(crate) fn srgb_from_linear(linear: f32) -> f32 {
    if linear <= 0.003_130_8 { linear * 12.92 } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 }
}
