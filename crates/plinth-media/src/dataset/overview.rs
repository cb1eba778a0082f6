//! Draws `overview.webp`, an image that shows all views in four panels: colour, depth, normals and masks.

use image::ExtendedColorType;
use image::codecs::webp::WebPEncoder;
use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};
use plinth_frame::{Resampler, RgbaImage};

use crate::MediaError;

/// Headings of the panels. A view has one tile per panel, in the same order.
const PANELS: [&str; 4] =
    ["images", "depth: closer is darker", "normals: +X red, +Y green, +Z blue", "masks: the model is white"];
/// Approximate side length of a panel in pixels.
const PANEL_SIDE: u32 = 1200;
/// Maximum side length of a tile in pixels.
const LARGEST_TILE: u32 = 400;
/// Space around each panel in pixels.
const MARGIN: u32 = 24;
/// Space between neighbouring tiles in pixels.
const GAP: u32 = 2;
/// Height of a heading with the space around it, in pixels.
const HEADING: u32 = 48;
/// Font sizes of the headings and of the view numbers.
const LARGE: RasterHeight = RasterHeight::Size32;
const SMALL: RasterHeight = RasterHeight::Size24;
/// Number of digits of a view number.
const DIGITS: u32 = 4;
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

/// Returns the number of columns of a panel with this many views.
fn columns(views: usize) -> u32 {
    let root = (views as f64).sqrt().ceil();
    (root as u32).max(1)
}

/// Returns the side length of the tiles of a dataset with this many views, in pixels.
pub(crate) fn tile_side(views: usize) -> u32 {
    (PANEL_SIDE / columns(views)).saturating_sub(GAP).clamp(8, LARGEST_TILE)
}

/// Scales an image to a square of `side` pixels by area averaging, and returns R, G, B bytes. An image that is not
/// square keeps its aspect ratio and is placed on black.
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

/// Draws the overview as WebP, with the text `line` at the top. Beside each row of a panel is the number of its first
/// view. `tiles` returns the tiles of a view; each is made by [`tile`] with the side length [`tile_side`].
pub(crate) fn overview(
    line: &str,
    views: usize,
    mut tiles: impl FnMut(usize) -> Result<Vec<u8>, MediaError>,
) -> Result<Vec<u8>, MediaError> {
    let (columns, side) = (columns(views), tile_side(views));
    let rows = (views as u32).div_ceil(columns).max(1);
    let numbers = DIGITS * advance(SMALL) + MARGIN / 2;
    let longest = PANELS.iter().map(|heading| heading.len() as u32).fold(0, u32::max) * advance(LARGE);
    let panel_width = (numbers + columns * (side + GAP)).max(longest);
    let panel_height = rows * (side + GAP) + HEADING;
    let (width, height) = (2 * panel_width + 3 * MARGIN, 2 * panel_height + 3 * MARGIN + HEADING);
    let mut sheet = Sheet { width, pixels: vec![SHEET; (width * height * 3) as usize] };
    sheet.write(line, LARGE, MARGIN, MARGIN);
    let corner = |panel: u32| {
        let (right, down) = (panel % 2 * (panel_width + MARGIN), panel / 2 * (panel_height + MARGIN));
        (MARGIN + right, MARGIN + HEADING + down)
    };
    for (panel, heading) in (0..).zip(PANELS) {
        let (x, y) = corner(panel);
        sheet.write(heading, LARGE, x + numbers, y);
        for row in 0..rows {
            let down = HEADING + row * (side + GAP) + side.saturating_sub(SMALL.val() as u32) / 2;
            sheet.write(&format!("{:04}", row * columns), SMALL, x, y + down);
        }
    }
    for view in 0..views {
        let (column, row) = (view as u32 % columns, view as u32 / columns);
        for (panel, tile) in (0..).zip(tiles(view)?.chunks_exact((side * side * 3) as usize)) {
            let (x, y) = corner(panel);
            sheet.put(tile, side, x + numbers + column * (side + GAP), y + HEADING + row * (side + GAP));
        }
    }
    let mut out = Vec::new();
    let encoder = WebPEncoder::new_lossless(&mut out);
    let fault = |e: image::ImageError| MediaError::Frames { problem: format!("the overview cannot be written: {e}") };
    encoder.encode(&sheet.pixels, width, height, ExtendedColorType::Rgb8).map_err(fault)?;
    Ok(out)
}

/// Returns the width of a character in pixels.
fn advance(letters: RasterHeight) -> u32 {
    get_raster_width(FontWeight::Regular, letters) as u32
}

/// Image with R, G, B bytes to which tiles and text are drawn.
struct Sheet {
    width: u32,
    pixels: Vec<u8>,
}

impl Sheet {
    /// Copies an image of this width to a position.
    fn put(&mut self, picture: &[u8], width: u32, x: u32, y: u32) {
        for (row, from) in (y..).zip(picture.chunks_exact(width as usize * 3)) {
            let start = (row * self.width + x) as usize * 3;
            if let Some(to) = self.pixels.get_mut(start..start + from.len()) {
                to.copy_from_slice(from);
            }
        }
    }

    /// Draws a line of text, which is cut off at the right edge.
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
