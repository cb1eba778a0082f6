//! One view: its layers become six PNG files, tiles of the overview and points.

use plinth_frame::Layers;
use rayon::prelude::*;

use super::cameras::DatasetCameras;
use super::layout::Layer;
use super::overview::{self, Picture};
use super::points::{Point, points_of};
use super::{depth, normals};
use crate::MediaError;
use crate::png;

/// A view, ready to be written.
pub(crate) struct EncodedView {
    /// Path inside of the set, and content.
    pub(crate) files: Vec<(String, Vec<u8>)>,
    /// Tiles of the overview: R, G, B bytes, one tile after the other.
    pub(crate) tiles: Vec<u8>,
    pub(crate) points: Vec<Point>,
}

/// Encodes a view. `tile` is the side of its tiles in pixels, `quota` the number of its points at most.
pub(crate) fn encode(
    layers: &Layers,
    cameras: &DatasetCameras,
    tile: u32,
    quota: usize,
) -> Result<EncodedView, MediaError> {
    let pixels = layers.width as usize * layers.height as usize;
    let same_size = (layers.width, layers.height) == (cameras.width, cameras.height);
    if !same_size || [layers.color.len(), layers.depth.len(), layers.normal.len()].iter().any(|n| *n != pixels) {
        let problem = format!("view {} does not hold the pixels that it should", layers.index);
        return Err(MediaError::Frames { problem });
    }
    let (encoded, points) = rayon::join(
        || Layer::ALL.into_par_iter().map(|layer| file(layer, layers, cameras, tile)).collect::<Result<Vec<_>, _>>(),
        || points_of(layers, cameras, quota),
    );
    let mut view = EncodedView { files: Vec::new(), tiles: Vec::new(), points };
    for (layer, LayerFile { content, tile }) in Layer::ALL.into_iter().zip(encoded?) {
        view.files.push((layer.path(layers.index as usize), content));
        view.tiles.extend(tile);
    }
    Ok(view)
}

/// One layer as a file, and its tile where the overview shows it.
struct LayerFile {
    content: Vec<u8>,
    tile: Vec<u8>,
}

fn file(layer: Layer, layers: &Layers, cameras: &DatasetCameras, side: u32) -> Result<LayerFile, MediaError> {
    let (near, far) = (cameras.depth_near, cameras.depth_far);
    let (width, height) = (layers.width, layers.height);
    let fault = |source| MediaError::Png { file: layer.path(layers.index as usize).into(), source };
    let shown = |content, picture| Ok(LayerFile { content, tile: overview::tile(picture, width, height, side)? });
    let hidden = |content| Ok(LayerFile { content, tile: Vec::new() });
    match layer {
        Layer::Image => {
            let rgb = on_white(&layers.color);
            shown(png::rgb_8(width, height, &rgb).map_err(fault)?, Picture::Color(&rgb))
        }
        Layer::Depth => {
            let grey = depth::depth_8(&layers.depth, near, far);
            shown(png::grey_8(width, height, &grey).map_err(fault)?, Picture::Grey(&grey))
        }
        Layer::Depth16 => {
            hidden(png::grey_16(width, height, &depth::depth_16(&layers.depth, near, far)).map_err(fault)?)
        }
        Layer::DepthMetric => hidden(png::grey_16(width, height, &depth::depth_metric(&layers.depth)).map_err(fault)?),
        Layer::Normal => {
            let rgb = normals::normals_8(&layers.normal);
            shown(png::vectors_8(width, height, &rgb).map_err(fault)?, Picture::Color(&rgb))
        }
        Layer::Mask => {
            let grey: Vec<u8> = layers.color.iter().map(|[.., alpha]| *alpha).collect();
            shown(png::grey_8(width, height, &grey).map_err(fault)?, Picture::Grey(&grey))
        }
    }
}

/// Straight alpha composed over white in display space.
fn on_white(color: &[[u8; 4]]) -> Vec<u8> {
    let over = |c: u8, a: u8| ((u32::from(c) * u32::from(a) + 255 * u32::from(255 - a) + 127) / 255) as u8;
    color.iter().flat_map(|[r, g, b, a]| [over(*r, *a), over(*g, *a), over(*b, *a)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_covered_is_white() {
        let colors = [[0, 0, 0, 0], [10, 20, 30, 255], [0, 100, 200, 128]];
        assert_eq!(on_white(&colors), [255, 255, 255, 10, 20, 30, 127, 177, 227]);
    }
}
