//! Stills.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use crate::MediaError;
use crate::canvas::Canvas;

/// Writes an opaque picture as an 8-bit RGB PNG into `path`; messages name it `target`.
pub(crate) fn write(path: &Path, target: &Path, canvas: &Canvas) -> Result<(), MediaError> {
    let file = File::create(path).map_err(|source| MediaError::File { file: target.to_owned(), source })?;
    let fault = |source| MediaError::Png { file: target.to_owned(), source };
    let mut encoder = ::png::Encoder::new(BufWriter::new(file), canvas.width, canvas.height);
    encoder.set_color(::png::ColorType::Rgb);
    encoder.set_depth(::png::BitDepth::Eight);
    encoder.set_compression(::png::Compression::Fast);
    encoder.set_source_srgb(::png::SrgbRenderingIntent::Perceptual);
    let rgb: Vec<u8> = canvas.pixels.as_chunks::<4>().0.iter().flat_map(|[r, g, b, _]| [*r, *g, *b]).collect();
    let mut writer = encoder.write_header().map_err(fault)?;
    writer.write_image_data(&rgb).map_err(fault)?;
    writer.finish().map_err(fault)
}
