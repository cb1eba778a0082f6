//! Encodes panoramas as gain maps in memory, together with a thumbnail.

use plinth_scene::{EncodedGainMap, Panorama, encode_gain_map, read_panorama};

/// Number of columns of the thumbnail.
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
    /// Thumbnail for lists of environments (WebP).
    pub thumb: Vec<u8>,
    /// Columns of the images.
    pub width: u32,
    /// Rows of the images.
    pub height: u32,
}

/// Encodes the content of a `.hdr` or `.exr` file as a gain map with at most `max_width` columns.
/// Errors: a message with the reason why the file cannot be used.
pub fn encode_panorama(bytes: &[u8], max_width: u32) -> Result<EncodedPanorama, String> {
    let Panorama { map, .. } = read_panorama(bytes, max_width).map_err(|error| error.to_string())?;
    let encoded = |map| encode_gain_map(map).map_err(|error| error.to_string());
    let EncodedGainMap { sdr, gain_map, metadata, .. } = encoded(&map)?;
    let is_small = map.width <= THUMB_WIDTH;
    // The SDR image is tone-mapped, so the SDR image of a reduced panorama can be used as the thumbnail.
    let thumb = if is_small { sdr.clone() } else { encoded(&map.reduced(THUMB_WIDTH, THUMB_WIDTH / 2))?.sdr };
    Ok(EncodedPanorama { sdr, gain_map, metadata, thumb, width: map.width, height: map.height })
}
