//! Writes sprite sheets: JPEG images that contain many thumbnails.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read as _, Write as _};
use std::path::Path;

use image::codecs::jpeg::JpegEncoder;
use image::{ExtendedColorType, ImageEncoder as _, ImageError};

use crate::MediaError;

/// Number of tiles per row and per column of a sheet. With the tile sizes below, the sides of a sheet do not exceed
/// 4096 pixels, a size that all players support.
const TILES: u32 = 8;
/// Approximate number of pixels of a tile. Tiles have sizes such as 256×144, 192×192 or 144×256.
const TILE_PIXELS: f64 = 36_864.0;
/// The sides of tiles are multiples of the JPEG block size, so that compression artefacts do not cross the borders of
/// tiles.
const BLOCK: f64 = 8.0;
/// Maximum side length of a tile in pixels. It matters for very wide and very tall videos.
const LONGEST_TILE: u32 = 512;
/// JPEG quality, from 0 to 100.
const QUALITY: u8 = 88;

/// The size of the tiles, and their layout on the sheets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    pub(super) tile_width: u32,
    pub(super) tile_height: u32,
}

impl Grid {
    /// Computes the layout for a video of this size. A tile is never larger than the video.
    pub(super) fn new(width: u32, height: u32) -> Self {
        let shape = f64::from(width) / f64::from(height);
        let blocks = |side: f64| (((side / BLOCK).round() * BLOCK) as u32).clamp(BLOCK as u32, LONGEST_TILE);
        let (tile_width, tile_height) =
            (blocks((TILE_PIXELS * shape).sqrt()).min(width), blocks((TILE_PIXELS / shape).sqrt()).min(height));
        Self { tile_width, tile_height }
    }

    /// Returns the number of the sheet that contains a tile, and the position (x, y) of the tile's top left corner in
    /// pixels.
    pub(super) fn place(self, tile: u32) -> (u32, u32, u32) {
        let on_sheet = tile % (TILES * TILES);
        (tile / (TILES * TILES), on_sheet % TILES * self.tile_width, on_sheet / TILES * self.tile_height)
    }
}

/// Returns the file name of a sprite sheet.
pub(super) fn sprite_name(sheet: u32) -> String {
    format!("sprite-{sheet}.jpg")
}

/// Writes `count` tiles as sprite sheets to `folder`. The file `raw` contains the R, G, B bytes of all tiles, one tile
/// after the other.
/// Errors: if `raw` contains fewer or more tiles than `count`.
pub(super) fn write_sheets(raw: &Path, count: u32, grid: Grid, folder: &Path) -> Result<Vec<String>, MediaError> {
    let broken = |problem| MediaError::Incomplete { file: folder.to_owned(), problem };
    let fault = |error: std::io::Error| broken(format!("the thumbnails cannot be read: {error}"));
    let mut file = BufReader::new(File::open(raw).map_err(fault)?);
    let mut tile = vec![0; grid.tile_width as usize * grid.tile_height as usize * 3];
    let mut names = Vec::new();
    let (mut done, mut sheet) = (0, Sheet::new(grid, count));
    while done < count {
        file.read_exact(&mut tile).map_err(fault)?;
        sheet.put(grid.place(done), &tile, grid);
        done += 1;
        if done == count || grid.place(done).0 as usize != names.len() {
            let name = sprite_name(names.len() as u32);
            sheet.write(&folder.join(&name))?;
            names.push(name);
            sheet = Sheet::new(grid, count - done);
        }
    }
    if file.read(&mut tile).map_err(fault)? != 0 {
        return Err(broken("there are more thumbnails than expected".to_owned()));
    }
    Ok(names)
}

/// A sprite sheet to which tiles are added.
struct Sheet {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
}

impl Sheet {
    /// Creates an empty sheet. `left` is the number of tiles that have not been drawn yet. The sheet is not larger than
    /// these tiles need.
    fn new(grid: Grid, left: u32) -> Self {
        let (columns, rows) = (left.min(TILES), left.div_ceil(TILES).min(TILES));
        let (width, height) = (columns * grid.tile_width, rows * grid.tile_height);
        Self { width, height, pixels: vec![0; width as usize * height as usize * 3] }
    }

    fn put(&mut self, (_, x, y): (u32, u32, u32), tile: &[u8], grid: Grid) {
        let (row_bytes, stride) = (grid.tile_width as usize * 3, self.width as usize * 3);
        for (row, bytes) in tile.chunks_exact(row_bytes).enumerate() {
            let at = (y as usize + row) * stride + x as usize * 3;
            self.pixels[at..at + row_bytes].copy_from_slice(bytes);
        }
    }

    fn write(&self, path: &Path) -> Result<(), MediaError> {
        let fault = |source| MediaError::File { file: path.to_owned(), source };
        let mut out = BufWriter::new(File::create(path).map_err(fault)?);
        let encoder = JpegEncoder::new_with_quality(&mut out, QUALITY);
        encoder.write_image(&self.pixels, self.width, self.height, ExtendedColorType::Rgb8).map_err(
            |error| match error {
                ImageError::IoError(source) => fault(source),
                other => fault(std::io::Error::other(other)),
            },
        )?;
        // The encoder does not flush, and dropping the writer would ignore errors.
        out.flush().map_err(fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tile(width: u32, height: u32) -> (u32, u32) {
        let grid = Grid::new(width, height);
        (grid.tile_width, grid.tile_height)
    }

    #[test]
    fn tiles_have_the_shape_of_the_video_and_sheets_fit_in_4096() {
        assert_eq!(tile(1920, 1080), (256, 144));
        assert_eq!(tile(1080, 1080), (192, 192));
        assert_eq!(tile(1080, 1920), (144, 256));
        assert_eq!(tile(64, 36), (64, 36));
        for (width, height) in [(4096, 32), (32, 4096), (1920, 1080)] {
            let (width, height) = tile(width, height);
            assert!(width * TILES <= 4096 && height * TILES <= 4096, "{width}×{height}");
        }
    }

    #[test]
    fn tiles_fill_rows_then_sheets() {
        let grid = Grid::new(1920, 1080);
        assert_eq!(grid.place(0), (0, 0, 0));
        assert_eq!(grid.place(9), (0, 256, 144));
        assert_eq!(grid.place(64), (1, 0, 0));
    }
}
