//! Rectangles of pixels, and the tiles into which a canvas is divided.

use std::ops::Range;

use plinth_frame::Region;

/// Side length of a tile in pixels.
pub(crate) const TILE_SIDE: usize = 32;

/// A rectangle of pixels on the canvas. `right` and `bottom` are the first column and the first row behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Area {
    pub(crate) left: usize,
    pub(crate) top: usize,
    pub(crate) right: usize,
    pub(crate) bottom: usize,
}

impl Area {
    pub(crate) const EMPTY: Self = Self { left: 0, top: 0, right: 0, bottom: 0 };

    /// Returns the part of a region that is inside the canvas.
    pub(crate) fn of(region: Region, [width, height]: [u32; 2]) -> Self {
        let end = |start: u32, length: u32, limit: u32| start.saturating_add(length).min(limit) as usize;
        Self {
            left: region.x as usize,
            top: region.y as usize,
            right: end(region.x, region.width, width),
            bottom: end(region.y, region.height, height),
        }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.left >= self.right || self.top >= self.bottom
    }

    pub(crate) fn intersection(self, other: Self) -> Self {
        Self {
            left: self.left.max(other.left),
            top: self.top.max(other.top),
            right: self.right.min(other.right),
            bottom: self.bottom.min(other.bottom),
        }
    }
}

/// The tiles of a canvas. Tiles are numbered row by row from the top left.
#[derive(Clone, Copy)]
pub(crate) struct Grid {
    /// Width of the canvas in pixels.
    pub(crate) width: usize,
    /// Height of the canvas in pixels.
    pub(crate) height: usize,
    /// The part of the canvas that is drawn.
    pub(crate) area: Area,
    /// Number of tiles in a row.
    pub(crate) row_tiles: usize,
}

impl Grid {
    pub(crate) fn new(canvas: [u32; 2], region: Region) -> Self {
        let [width, height] = canvas.map(|length| length as usize);
        Self { width, height, area: Area::of(region, canvas), row_tiles: width.div_ceil(TILE_SIDE) }
    }

    /// Number of tiles.
    pub(crate) fn tiles(&self) -> usize {
        self.row_tiles * self.height.div_ceil(TILE_SIDE)
    }

    /// Returns the rows of tiles that contain drawn pixels.
    pub(crate) fn drawn_rows(&self) -> Range<usize> {
        self.area.top / TILE_SIDE..self.area.bottom.div_ceil(TILE_SIDE)
    }

    /// Returns the columns of tiles that contain drawn pixels.
    pub(crate) fn drawn_columns(&self) -> Range<usize> {
        self.area.left / TILE_SIDE..self.area.right.div_ceil(TILE_SIDE)
    }

    /// Returns the drawn pixels of a tile.
    pub(crate) fn drawn_part(&self, column: usize, row: usize) -> Area {
        let (left, top) = (column * TILE_SIDE, row * TILE_SIDE);
        self.area.intersection(Area { left, top, right: left + TILE_SIDE, bottom: top + TILE_SIDE })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_end_at_the_canvas() {
        let region = Region { x: 5, y: 7, width: u32::MAX, height: 10 };
        assert_eq!(Area::of(region, [40, 12]), Area { left: 5, top: 7, right: 40, bottom: 12 });
        assert!(Area::of(Region { x: 40, ..region }, [40, 12]).is_empty());
        assert!(Area::of(Region::EMPTY, [40, 12]).is_empty());
    }

    #[test]
    fn tiles_are_aligned_to_the_canvas() {
        let grid = Grid::new([100, 70], Region { x: 33, y: 31, width: 31, height: 2 });
        assert_eq!((grid.row_tiles, grid.tiles()), (4, 12));
        assert_eq!((grid.drawn_columns(), grid.drawn_rows()), (1..2, 0..2));
        assert_eq!(grid.drawn_part(1, 0), Area { left: 33, top: 31, right: 64, bottom: 32 });
        assert_eq!(grid.drawn_part(1, 1), Area { left: 33, top: 32, right: 64, bottom: 33 });
    }
}
