//! Decodes the most common PNG images to RGBA. The crate `png` reads the chunks and decompresses them. The filters of
//! the rows, which take most of the time, are reversed here, because the crate does that row by row.

mod filtered;
mod filters;
mod halved;

use std::borrow::Cow;
use std::sync::mpsc::{channel, sync_channel};
use std::thread;

use png::{BitDepth, ColorType, Info};

use self::filtered::{FilteredBytes, FilteredPixels};
use self::filters::{Layout, Pixel, ROWS};
use self::halved::HalvedImage;
use super::raster::{Raster, halvings};
use crate::limits::Limits;

/// Decodes a PNG image that has RGB or RGBA pixels with 8 bits per channel, and halves both sides until neither is longer than
/// `max_side` pixels. The pixels are those of [`raster`], halved by [`Raster::into_pixels`].
///
/// Returns `None` for images that are left to [`raster`]: those with other pixels, interlacing, a transparent colour or
/// animations, those that take more than `limits.decoded_bytes`, those with errors, so that each error has one message,
/// and those that are halved more than three times or to nothing.
///
/// [`raster`]: super::image::raster
pub(super) fn rgb_png(bytes: &[u8], limits: Limits, max_side: u32) -> Option<Raster<'static>> {
    let filtered = FilteredPixels::open(bytes)?;
    let info = filtered.info()?;
    let (layout, (width, height)) = (layout(info)?, info.size());
    let size = u64::from(width) * u64::from(height) * 4;
    if size > limits.decoded_bytes {
        return None;
    }
    let times = halvings((width, height), max_side);
    let rows = FilteredRows { filtered, layout, columns: width as usize, rows: height as usize };
    let bytes = if times == 0 { rows.whole()? } else { rows.halved(HalvedImage::new((width, height), times)?)? };
    Some(Raster { width: width >> times, height: height >> times, channels: 4, bytes: Cow::Owned(bytes) })
}

/// Minimum number of bytes of an image that is decompressed on another thread. Models have few images of this size (3344 × 3344
/// RGB pixels), so some cores have nothing else to do.
const MIN_BYTES: usize = 1 << 25;
/// Minimum number of bytes that are decompressed at a time.
const PART: usize = 1 << 18;

/// The rows of an image.
struct FilteredRows<'a> {
    filtered: FilteredPixels<'a>,
    layout: Layout,
    columns: usize,
    rows: usize,
}

impl FilteredRows<'_> {
    /// Returns R, G, B, A bytes of the pixels.
    fn whole(self) -> Option<Vec<u8>> {
        let Self { layout, columns, rows, .. } = self;
        let mut rgba = vec![0_u8; columns * rows * 4];
        let mut above: &[Pixel] = &vec![[0; 4]; columns];
        let mut groups = rgba.as_chunks_mut::<4>().0.chunks_mut(ROWS * columns);
        self.for_each_group(|bytes| {
            let rows = groups.next()?;
            layout.reverse(bytes, above, rows)?;
            above = &rows[rows.len() - columns..];
            Some(())
        })?;
        Some(rgba)
    }

    /// Returns R, G, B, A bytes of the halved pixels.
    fn halved(self, mut image: HalvedImage) -> Option<Vec<u8>> {
        let (layout, columns) = (self.layout, self.columns);
        let (mut above, mut all): (Vec<Pixel>, Vec<Pixel>) = (vec![[0; 4]; columns], vec![[0; 4]; ROWS * columns]);
        self.for_each_group(|bytes| {
            let rows = &mut all[..bytes.len() / layout.row_bytes(columns) * columns];
            layout.reverse(bytes, &above, rows)?;
            image.add(rows);
            above.copy_from_slice(&rows[rows.len() - columns..]);
            Some(())
        })?;
        Some(image.into_bytes())
    }

    /// Calls `process` with the filtered bytes of [`ROWS`] rows, or of the last rows, one group after the other. While it
    /// processes rows of a large image, the next rows are decompressed on another thread, which takes about as long. Returns
    /// `None` if the file is invalid, `process` returns `None`, or no thread can be started.
    fn for_each_group(self, mut process: impl FnMut(&[u8]) -> Option<()>) -> Option<()> {
        let Self { mut filtered, layout, columns, rows } = self;
        let row_bytes = layout.row_bytes(columns);
        let (group, all) = (ROWS * row_bytes, rows * row_bytes);
        let part = PART.next_multiple_of(group);
        let mut parts = (0..all).step_by(part).map(|first| part.min(all - first));
        let mut process = |part: &FilteredBytes| part.bytes().chunks(group).try_for_each(&mut process);
        if all < MIN_BYTES {
            let mut spare = Vec::new();
            for length in parts {
                let part = filtered.take(length, spare)?;
                process(&part)?;
                spare = part.into_buffer();
            }
            return filtered.check_rest();
        }
        let (send, decompressed) = sync_channel(1);
        let (give_back, spares) = channel();
        thread::scope(|scope| {
            let decompress = move || {
                parts.try_for_each(|length| {
                    let spare = spares.try_recv().unwrap_or_default();
                    send.send(filtered.take(length, spare)?).ok()
                })?;
                filtered.check_rest()
            };
            let decompressing = thread::Builder::new().spawn_scoped(scope, decompress).ok()?;
            for part in decompressed {
                process(&part)?;
                // The other thread may have ended.
                let _ended = give_back.send(part.into_buffer());
            }
            decompressing.join().ok()?
        })
    }
}

/// Returns the layout of the pixels of an image. Returns `None` for images that are left to another decoder.
fn layout(info: &Info<'_>) -> Option<Layout> {
    let is_still = info.animation_control.is_none() && info.frame_control.is_none();
    if info.bit_depth != BitDepth::Eight || info.interlaced || info.trns.is_some() || !is_still {
        return None;
    }
    match info.color_type {
        ColorType::Rgb => Some(Layout::Rgb),
        ColorType::Rgba => Some(Layout::Rgba),
        ColorType::Grayscale | ColorType::GrayscaleAlpha | ColorType::Indexed => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a PNG image of the seeds for fuzzing.
    fn seed(name: &str) -> Vec<u8> {
        std::fs::read(format!("{}/../../fuzz/seeds/image/{name}.png", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    /// Returns an image of two frames.
    fn animated() -> Vec<u8> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, 2, 1);
        encoder.set_color(ColorType::Rgb);
        encoder.set_animated(2, 0).unwrap();
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&[1, 2, 3, 4, 5, 6]).unwrap();
        writer.write_image_data(&[7, 8, 9, 1, 2, 3]).unwrap();
        writer.finish().unwrap();
        file
    }

    #[test]
    fn images_with_rgb_or_rgba_pixels_become_rgba_at_once() {
        let is_decoded = |png: &[u8]| rgb_png(png, Limits::default(), 4096).is_some();
        for name in ["a", "rgb8_filters", "rgba8_filters", "stored_two_idat"] {
            assert!(is_decoded(&seed(name)), "{name}");
        }
        for name in ["grey1", "grey_alpha16", "palette8_filters", "rgb16_interlaced", "rgb8_trns", "rgba16"] {
            assert!(!is_decoded(&seed(name)), "{name}");
        }
        assert!(!is_decoded(&animated()));
    }

    #[test]
    fn images_that_exceed_the_limit_are_left_to_another_decoder() {
        let png = seed("rgb8_filters");
        let is_decoded =
            |decoded_bytes, max_side| rgb_png(&png, Limits { decoded_bytes, ..Limits::default() }, max_side).is_some();
        let size = 13 * 11 * 4;
        assert!(is_decoded(size, 13) && !is_decoded(size - 1, 13));
        assert!(is_decoded(size, 6) && !is_decoded(size - 1, 6), "the limit applies before the image is halved");
    }

    #[test]
    fn images_are_halved_while_they_are_decoded() {
        // 13 × 11 pixels.
        let size = |max_side| {
            rgb_png(&seed("rgb8_filters"), Limits::default(), max_side).map(|raster| (raster.width, raster.height))
        };
        assert_eq!(
            [13, 12, 6, 3, 1].map(size),
            [Some((13, 11)), Some((6, 5)), Some((6, 5)), Some((3, 2)), Some((1, 1))]
        );
    }
}
