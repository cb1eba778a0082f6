//! Encodes a view: its six PNG files, its tiles of the overview image, and its surface points.

use plinth_frame::Layers;
use plinth_spec::DatasetLayer;
use rayon::prelude::*;

use super::cameras::DatasetCameras;
use super::overview::{self, Picture};
use super::overview_layout::tile_side;
use super::points::{Point, points_of, quota};
use super::{depth, normals};
use crate::MediaError;
use crate::png;
use crate::watermark::Watermark;

/// An encoded view, ready to be written.
pub(crate) struct EncodedView {
    /// Path of each file inside the dataset, with its content.
    pub(crate) files: Vec<(String, Vec<u8>)>,
    /// Tiles of the overview image: the R, G, B bytes of all tiles of this view, one tile after the other.
    pub(crate) tiles: Vec<u8>,
    pub(crate) points: Vec<Point>,
}

/// State that is shared by the encoding of all views.
pub(crate) struct ViewEncoder {
    cameras: DatasetCameras,
    mark: Option<Watermark>,
    /// Side length of an overview tile in pixels.
    tile: u32,
    /// Maximum number of points per view.
    quota: usize,
}

impl ViewEncoder {
    /// Creates an encoder for these cameras. If `watermark` is true, the preview watermark is drawn on the colour
    /// images.
    pub(crate) fn new(cameras: DatasetCameras, watermark: bool) -> Self {
        let views = cameras.world_from_camera.len();
        let mark = watermark.then(|| Watermark::new(cameras.width, cameras.height));
        Self { cameras, mark, tile: tile_side(views), quota: quota(views) }
    }

    /// Encodes a view.
    /// Errors: if the layers and the cameras have different sizes in pixels.
    pub(crate) fn encode(&self, layers: &Layers) -> Result<EncodedView, MediaError> {
        let pixels = layers.width as usize * layers.height as usize;
        let same_size = (layers.width, layers.height) == (self.cameras.width, self.cameras.height);
        if !same_size || [layers.color.len(), layers.depth.len(), layers.normal.len()].iter().any(|n| *n != pixels) {
            let problem = format!("view {} has the wrong number of pixels", layers.index);
            return Err(MediaError::Frames { problem });
        }
        let (encoded, points) = rayon::join(
            || DatasetLayer::ALL.par_iter().map(|layer| self.file(*layer, layers)).collect::<Result<Vec<_>, _>>(),
            || points_of(layers, &self.cameras, self.quota),
        );
        let mut view = EncodedView { files: Vec::new(), tiles: Vec::new(), points };
        for (layer, LayerFile { content, tile }) in DatasetLayer::ALL.iter().zip(encoded?) {
            view.files.push((layer.path(layers.index as usize), content));
            view.tiles.extend(tile);
        }
        Ok(view)
    }

    fn file(&self, layer: DatasetLayer, layers: &Layers) -> Result<LayerFile, MediaError> {
        let (near, far) = (self.cameras.depth_near, self.cameras.depth_far);
        let (width, height) = (layers.width, layers.height);
        let fault = |source| MediaError::Png { file: layer.path(layers.index as usize).into(), source };
        let shown =
            |content, picture| Ok(LayerFile { content, tile: overview::tile(picture, width, height, self.tile)? });
        let hidden = |content| Ok(LayerFile { content, tile: Vec::new() });
        match layer {
            DatasetLayer::Image => {
                let mut rgb = on_white(&layers.color);
                if let Some(mark) = &self.mark {
                    mark.mark_rgb(rgb.as_chunks_mut::<3>().0);
                }
                shown(png::rgb_8(width, height, &rgb).map_err(fault)?, Picture::Color(&rgb))
            }
            DatasetLayer::Depth => {
                let grey = depth::depth_8(&layers.depth, near, far);
                shown(png::grey_8(width, height, &grey).map_err(fault)?, Picture::Grey(&grey))
            }
            DatasetLayer::Depth16 => {
                let grey = depth::depth_16(&layers.depth, near, far);
                hidden(png::grey_16(width, height, &grey).map_err(fault)?)
            }
            DatasetLayer::DepthMetric => {
                hidden(png::grey_16(width, height, &depth::depth_metric(&layers.depth)).map_err(fault)?)
            }
            DatasetLayer::Normal => {
                let rgb = normals::normals_8(&layers.normal);
                shown(png::vectors_8(width, height, &rgb).map_err(fault)?, Picture::Color(&rgb))
            }
            DatasetLayer::Mask => {
                let grey: Vec<u8> = layers.color.iter().map(|[.., alpha]| *alpha).collect();
                shown(png::grey_8(width, height, &grey).map_err(fault)?, Picture::Grey(&grey))
            }
        }
    }
}

/// An encoded image file of a view. `tile` is the scaled-down image for the overview image. `tile` is empty for layers
/// that the overview image does not show.
struct LayerFile {
    content: Vec<u8>,
    tile: Vec<u8>,
}

/// Composites a colour with straight alpha over white in display space (without decoding sRGB).
fn on_white(color: &[[u8; 4]]) -> Vec<u8> {
    let over = |c: u8, a: u8| ((u32::from(c) * u32::from(a) + 255 * u32::from(255 - a) + 127) / 255) as u8;
    let mut out = vec![0; color.len() * 3];
    for (to, [r, g, b, a]) in out.as_chunks_mut::<3>().0.iter_mut().zip(color) {
        *to = [over(*r, *a), over(*g, *a), over(*b, *a)];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uncovered_pixels_are_white() {
        let colors = [[0, 0, 0, 0], [10, 20, 30, 255], [0, 100, 200, 128]];
        assert_eq!(on_white(&colors), [255, 255, 255, 10, 20, 30, 127, 177, 227]);
    }
}
