//! Mip levels of images, kept in the cache on disk. A model that was rendered before need not decode images of which only
//! reduced levels are drawn.

use std::borrow::Cow;
use std::sync::Arc;

use plinth_model::{Image, ImageFacts};

use super::texture::{Level, WantedImage};
use crate::cache::Cache;

/// Maximum number of pixels of an image that is decoded when its pixels are read. Several of them may be decoded at the
/// same time.
const MAX_PIXELS: u64 = 1 << 24;
/// The mip levels of a scene are stored only if they take at most this fraction of the cache.
const MAX_SHARE: u64 = 4;

impl Cache {
    /// Returns the facts about an image that was decoded before. See [`plinth_model::KnownImages`].
    pub fn image_facts(&self, encoded_hash: &[u8; 16], size: (u32, u32)) -> Option<ImageFacts> {
        let content = self.load(&self.facts_name(encoded_hash, size))?;
        Some(ImageFacts { least: content.try_into().ok()? })
    }

    fn facts_name(&self, encoded_hash: &[u8; 16], (width, height): (u32, u32)) -> String {
        let mut key = self.key("image");
        key.list(encoded_hash);
        key.list(&[width, height]);
        key.name()
    }
}

/// The mip levels of one image.
pub(crate) type Levels = Arc<Vec<Level<'static>>>;

/// Returns the name under which the levels of an image are stored. Returns `None` if they are not stored.
pub(super) fn name(cache: &Cache, image: &Image, wanted: WantedImage) -> Option<String> {
    let encoded_hash = image.encoded_hash?;
    let pixels = u64::from(image.source_width) * u64::from(image.source_height);
    // Level 0 is not stored, because decoding it takes little more time than reading it.
    if wanted.first_level == 0 || pixels > MAX_PIXELS {
        return None;
    }
    let mut key = cache.key("levels");
    key.list(&encoded_hash);
    key.list(&[image.width, image.height, wanted.first_level]);
    key.debug(&wanted.encoding);
    Some(key.name())
}

/// Returns stored levels. Returns `None` if they are not stored.
pub(super) fn load(cache: &Cache, name: &str, image: &Image, first_level: u32) -> Option<Levels> {
    let content = cache.load(name)?;
    let mut rest = content.as_slice();
    let mut levels = Vec::new();
    let (mut width, mut height) = (image.width, image.height);
    for number in 0.. {
        if number >= first_level {
            let length = width as usize * height as usize * 4;
            let (pixels, after) = rest.split_at_checked(length)?;
            levels.push(Level { width, height, pixels: Cow::Owned(pixels.to_vec()) });
            rest = after;
        }
        if (width, height) == (1, 1) {
            break;
        }
        (width, height) = ((width / 2).max(1), (height / 2).max(1));
    }
    rest.is_empty().then(|| Arc::new(levels))
}

/// Images with mip levels that are not stored yet.
#[derive(Default)]
pub(crate) struct UnstoredLevels(pub(super) Vec<UnstoredImage>);

pub(super) struct UnstoredImage {
    pub(super) name: String,
    pub(super) image: Arc<Image>,
    pub(super) levels: Levels,
}

impl UnstoredLevels {
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Stores the levels and the facts of all images. Errors are ignored, because the images can be decoded again.
    pub(crate) fn store(&self, cache: &Cache) {
        let bytes = |one: &UnstoredImage| one.levels.iter().map(|level| level.pixels.len() as u64).sum::<u64>();
        if self.0.iter().map(bytes).sum::<u64>() > cache.most_bytes() / MAX_SHARE {
            return;
        }
        for UnstoredImage { name, image, levels } in &self.0 {
            let parts: Vec<&[u8]> = levels.iter().map(|level| &*level.pixels).collect();
            let Some(encoded_hash) = &image.encoded_hash else { continue };
            let facts = cache.facts_name(encoded_hash, (image.width, image.height));
            let stored = cache.store(name, &parts.concat());
            drop(stored.and_then(|()| cache.store(&facts, &image.pixels.facts().least)));
        }
    }
}
