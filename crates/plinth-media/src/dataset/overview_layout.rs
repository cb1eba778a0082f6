//! The layout of `overview.webp`. The image shows all views in four panels: colour, depth, normals and masks.

use std::collections::BTreeMap;

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster_width};
use plinth_spec::DatasetLayer;
use serde::Serialize;

/// Returns the layers that have a panel, with the headings of the panels. A view has one tile in each panel.
pub(crate) fn panels() -> impl Iterator<Item = (DatasetLayer, &'static str)> {
    DatasetLayer::ALL.iter().filter_map(|layer| Some((*layer, layer.panel_heading()?)))
}

/// Approximate side length of a panel in pixels.
const PANEL_SIDE: u32 = 1200;
/// Maximum side length of a tile in pixels.
const LARGEST_TILE: u32 = 400;
/// Space around each panel in pixels.
pub(crate) const MARGIN: u32 = 24;
/// Space between neighbouring tiles in pixels.
const GAP: u32 = 2;
/// Height of a heading including the space around it, in pixels.
pub(crate) const HEADING: u32 = 48;
/// Font sizes of the headings and of the view numbers.
pub(crate) const LARGE: RasterHeight = RasterHeight::Size32;
pub(crate) const SMALL: RasterHeight = RasterHeight::Size24;
/// Number of digits of a view number.
const DIGITS: u32 = 4;

/// The layout of an overview image, as described by the manifest. Tile `i` of a panel is a square. Its top left corner
/// is at the corner of the panel plus (`i` % `columns`, `i` / `columns`) · `step`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct OverviewLayout {
    /// Size of the image in pixels.
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// Side length of a tile in pixels.
    pub(crate) tile: u32,
    /// Distance in pixels between the left edges of tiles beside each other, and between the top edges of tiles above
    /// each other.
    pub(crate) step: u32,
    /// Number of tiles in a row of a panel.
    pub(crate) columns: u32,
    /// Top left corner of the first tile of each panel. The key is the folder of the layer's images.
    pub(crate) panels: BTreeMap<&'static str, [u32; 2]>,
}

/// Returns the number of columns of a panel, given the number of views.
fn columns(views: usize) -> u32 {
    let root = (views as f64).sqrt().ceil();
    (root as u32).max(1)
}

/// Returns the side length of the tiles in pixels, given the number of views.
pub(crate) fn tile_side(views: usize) -> u32 {
    (PANEL_SIDE / columns(views)).saturating_sub(GAP).clamp(8, LARGEST_TILE)
}

/// Returns the width of a character in pixels.
pub(crate) fn advance(letters: RasterHeight) -> u32 {
    get_raster_width(FontWeight::Regular, letters) as u32
}

/// Returns the width of the view numbers to the left of a panel's tiles, in pixels.
pub(crate) fn numbers_width() -> u32 {
    DIGITS * advance(SMALL) + MARGIN / 2
}

impl OverviewLayout {
    /// Computes the layout for a number of views.
    pub(crate) fn of(views: usize) -> Self {
        let (columns, tile) = (columns(views), tile_side(views));
        let step = tile + GAP;
        let rows = (views as u32).div_ceil(columns).max(1);
        let longest = panels().map(|(_, heading)| heading.len() as u32).fold(0, u32::max) * advance(LARGE);
        let panel_width = (numbers_width() + columns * step).max(longest);
        let panel_height = rows * step + HEADING;
        let corner = |panel: u32| {
            let (right, down) = (panel % 2 * (panel_width + MARGIN), panel / 2 * (panel_height + MARGIN));
            // The line of text at the top of the image and the heading of the panel are above the tiles.
            [MARGIN + right + numbers_width(), MARGIN + 2 * HEADING + down]
        };
        Self {
            width: 2 * panel_width + 3 * MARGIN,
            height: 2 * panel_height + 3 * MARGIN + HEADING,
            tile,
            step,
            columns,
            panels: (0..).zip(panels()).map(|(i, (layer, _))| (layer.as_str(), corner(i))).collect(),
        }
    }

    /// Returns the top left corner of a view's tile relative to the corner of the panel.
    pub(crate) const fn tile_at(&self, view: usize) -> [u32; 2] {
        let view = view as u32;
        [view % self.columns * self.step, view / self.columns * self.step]
    }
}
