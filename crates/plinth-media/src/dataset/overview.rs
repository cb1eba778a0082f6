//! Draws `overview.webp`, an image that shows all views of a dataset.

use image::ExtendedColorType;
use image::codecs::webp::WebPEncoder;
use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster};
use plinth_frame::{Resampler, RgbaImage};

use super::overview_layout::{HEADING, LARGE, MARGIN, OverviewLayout, SMALL, advance, numbers_width, panels};
use crate::MediaError;

/// Grey levels of the background and the text.
const SHEET: u8 = 64;
const INK: u8 = 240;

/// An image that is scaled down to a tile.
#[derive(Clone, Copy)]
pub(crate) enum Picture<'a> {
    /// Three bytes R, G, B per pixel.
    Color(&'a [u8]),
    /// One byte per pixel.
    Grey(&'a [u8]),
}

/// Scales an image down by area averaging, and returns the R, G, B bytes of a square of `side` pixels. An image that is
/// not square keeps its aspect ratio, and the rest of the square is black.
pub(crate) fn tile(picture: Picture<'_>, width: u32, height: u32, side: u32) -> Result<Vec<u8>, MediaError> {
    let long = u64::from(width.max(height).max(1));
    let scaled = |length: u32| ((u64::from(length) * u64::from(side) / long) as u32).clamp(1, side);
    let (w, h) = (scaled(width), scaled(height));
    let pixels: Vec<u8> = match picture {
        Picture::Color(pixels) => pixels.as_chunks::<3>().0.iter().flat_map(|[r, g, b]| [*r, *g, *b, 255]).collect(),
        Picture::Grey(pixels) => pixels.iter().flat_map(|v| [*v, *v, *v, 255]).collect(),
    };
    let small = Resampler::default()
        .average(RgbaImage { width, height, pixels: &pixels }, w, h)
        .map_err(|e| MediaError::Frames { problem: format!("the overview cannot be drawn: {e}") })?;
    let small: Vec<u8> = small.as_chunks::<4>().0.iter().flat_map(|[r, g, b, _]| [*r, *g, *b]).collect();
    let mut out = Sheet { width: side, pixels: vec![0; (side * side * 3) as usize] };
    out.put(&small, w, (side - w) / 2, (side - h) / 2);
    Ok(out.pixels)
}

/// Draws the overview image as WebP, with the text `line` at the top. To the left of each row of tiles is the number of
/// the row's first view. `tiles` returns the tiles of a view, one for each panel, which [`tile`] must have made with
/// the side length [`tile_side`].
pub(crate) fn overview(
    line: &str,
    views: usize,
    mut tiles: impl FnMut(usize) -> Result<Vec<u8>, MediaError>,
) -> Result<Vec<u8>, MediaError> {
    let layout = OverviewLayout::of(views);
    let (width, height, side) = (layout.width, layout.height, layout.tile);
    let mut sheet = Sheet { width, pixels: vec![SHEET; (width * height * 3) as usize] };
    sheet.write(line, LARGE, MARGIN, MARGIN);
    let corners: Vec<[u32; 2]> = panels().map(|(layer, _)| layout.panels[layer.as_str()]).collect();
    for (&[x, y], (_, heading)) in corners.iter().zip(panels()) {
        sheet.write(heading, LARGE, x, y - HEADING);
        for first in (0..views.max(1)).step_by(layout.columns as usize) {
            let down = layout.tile_at(first)[1] + side.saturating_sub(SMALL.val() as u32) / 2;
            sheet.write(&format!("{first:04}"), SMALL, x - numbers_width(), y + down);
        }
    }
    for view in 0..views {
        let [right, down] = layout.tile_at(view);
        for (&[x, y], tile) in corners.iter().zip(tiles(view)?.chunks_exact((side * side * 3) as usize)) {
            sheet.put(tile, side, x + right, y + down);
        }
    }
    let mut out = Vec::new();
    let encoder = WebPEncoder::new_lossless(&mut out);
    let fault = |e: image::ImageError| MediaError::Frames { problem: format!("the overview cannot be written: {e}") };
    encoder.encode(&sheet.pixels, width, height, ExtendedColorType::Rgb8).map_err(fault)?;
    Ok(out)
}

/// Image with R, G, B bytes onto which tiles and text are drawn.
struct Sheet {
    width: u32,
    pixels: Vec<u8>,
}

impl Sheet {
    /// Copies an image that is `width` pixels wide to a position.
    fn put(&mut self, picture: &[u8], width: u32, x: u32, y: u32) {
        for (row, from) in (y..).zip(picture.chunks_exact(width as usize * 3)) {
            let start = (row * self.width + x) as usize * 3;
            if let Some(to) = self.pixels.get_mut(start..start + from.len()) {
                to.copy_from_slice(from);
            }
        }
    }

    /// Draws a line of text. The line is cut off at the right edge of the image.
    fn write(&mut self, text: &str, letters: RasterHeight, x: u32, y: u32) {
        let advance = advance(letters);
        for (i, c) in (0..self.width.saturating_sub(x) / advance).zip(text.chars()) {
            let Some(glyph) = get_raster(c, FontWeight::Regular, letters) else { continue };
            for (row, values) in (y..).zip(glyph.rows()) {
                for (column, value) in (x + i * advance..).zip(values.iter()) {
                    let start = (row * self.width + column) as usize * 3;
                    let ink = u32::from(SHEET) + u32::from(INK - SHEET) * u32::from(*value) / 255;
                    if let Some(pixel) = self.pixels.get_mut(start..start + 3) {
                        pixel.fill(ink as u8);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::overview_layout::tile_side;

    #[test]
    fn every_view_is_shown_in_every_panel() {
        let side = tile_side(5);
        let tile_of = |value: u8| vec![value; (side * side * 3) as usize];
        let webp =
            overview("five views", 5, |view| Ok([0, 50, 100, 150].map(|v| tile_of(v + view as u8)).concat())).unwrap();
        let sheet = image::load_from_memory(&webp).unwrap().to_rgb8();
        for value in [0, 4, 50, 54, 100, 104, 150, 154] {
            let found = sheet.pixels().filter(|p| p.0 == [value; 3]).count();
            assert!(found >= (side * side) as usize, "{value}: {found}");
        }
        // Each tile must be at the position that the layout describes.
        let layout = OverviewLayout::of(5);
        assert_eq!((sheet.width(), sheet.height()), (layout.width, layout.height));
        for (folder, first) in [("images", 0), ("depth", 50), ("normals", 100), ("masks", 150)] {
            let ([x, y], [right, down]) = (layout.panels[folder], layout.tile_at(4));
            for corner in [0, side - 1] {
                assert_eq!(sheet.get_pixel(x + right + corner, y + down + corner).0, [first + 4; 3], "{folder}");
            }
            assert_eq!(sheet.get_pixel(x - 1, y).0, [SHEET; 3], "{folder}");
        }
        let ink = sheet.pixels().filter(|p| p.0 == [INK; 3]).count();
        assert!(ink > 200, "headings: {ink}");
    }

    #[test]
    fn tiles_keep_the_aspect_ratio() {
        let wide = tile(Picture::Grey(&[200; 80 * 40]), 80, 40, 20).unwrap();
        let bright = wide.chunks(3).filter(|p| p[0] == 200).count();
        assert_eq!(bright, 20 * 10);
    }
}
