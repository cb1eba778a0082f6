//! Encodes panoramas as gain maps in memory, with a small picture for lists.

use plinth_scene::{EncodedGainMap, Panorama, encode_gain_map, read_panorama};

/// Columns of the small picture.
const THUMB_WIDTH: u32 = 512;

/// The files of an encoded panorama.
#[derive(Clone, Debug)]
pub struct EncodedPanorama {
    /// SDR image (WebP).
    pub sdr: Vec<u8>,
    /// Gain image (WebP).
    pub gain_map: Vec<u8>,
    /// Metadata (JSON).
    pub metadata: Vec<u8>,
    /// Small picture for lists (WebP).
    pub thumb: Vec<u8>,
    /// Columns of the images.
    pub width: u32,
    /// Rows of the images.
    pub height: u32,
}

/// Encodes the content of a `.hdr` or `.exr` file with at most `max_width` columns.
/// Errors: the reason why the file cannot be used.
pub fn encode_panorama(bytes: &[u8], max_width: u32) -> Result<EncodedPanorama, String> {
    let Panorama { map, .. } = read_panorama(bytes, max_width).map_err(|error| error.to_string())?;
    let encoded = |map| encode_gain_map(map).map_err(|error| error.to_string());
    let EncodedGainMap { sdr, gain_map, metadata, .. } = encoded(&map)?;
    let is_small = map.width <= THUMB_WIDTH;
    // The SDR image is tone-mapped, so that of a smaller panorama is a picture of it.
    let thumb = if is_small { sdr.clone() } else { encoded(&map.reduced(THUMB_WIDTH, THUMB_WIDTH / 2))?.sdr };
    Ok(EncodedPanorama { sdr, gain_map, metadata, thumb, width: map.width, height: map.height })
}
