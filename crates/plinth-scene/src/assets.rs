//! The environment and the images that render settings refer to.

use std::collections::BTreeMap;

use plinth_model::{Image, Limits, read_picture};

use crate::EnvironmentMap;
use crate::error::SceneError;

static NO_IMAGES: BTreeMap<String, Vec<u8>> = BTreeMap::new();

/// The environment and the images that a render's settings refer to.
#[derive(Clone, Debug)]
pub struct SceneAssets<'a> {
    /// The environment map, or `None` for the built-in studio.
    pub environment: Option<EnvironmentMap>,
    /// Image files (PNG, JPEG or WebP) by asset ID.
    pub images: &'a BTreeMap<String, Vec<u8>>,
}

impl From<Option<EnvironmentMap>> for SceneAssets<'_> {
    fn from(environment: Option<EnvironmentMap>) -> Self {
        Self { environment, images: &NO_IMAGES }
    }
}

impl SceneAssets<'_> {
    /// Decodes an image, and scales it down so that no side is longer than `max_side` pixels.
    /// Errors: if the asset is missing or cannot be decoded.
    pub(crate) fn image(&self, id: &str, max_side: u32) -> Result<Image, SceneError> {
        let bytes = self.images.get(id).ok_or_else(|| SceneError::NoSuchAsset { id: id.to_owned() })?;
        read_picture(bytes, &Limits::default(), max_side)
            .map_err(|error| SceneError::Asset { id: id.to_owned(), problem: error.to_string() })
    }
}
