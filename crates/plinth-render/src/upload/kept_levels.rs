//! Mip levels of images, kept in the cache on disk. A model that was rendered before need not decode images of which only
//! reduced levels are drawn.

use std::borrow::Cow;
use std::sync::Arc;

use plinth_model::{Image, ImageFacts};

use super::texture::{Level, WantedImage};
use crate::cache::Cache;

/// Minimum size of the cache, in multiples of the mip levels of a scene. In a smaller cache, the levels are not stored,
/// because they would displace light.
const MIN_CACHE_SIZE: u64 = 4;

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
    // Levels with level 0 are not stored, because they are many times as large as the encoded image.
    if wanted.first_level == 0 {
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
    let mut content = cache.load(name)?;
    let mut levels = Vec::new();
    let (mut width, mut height) = (image.width, image.height);
    for number in 0.. {
        if number >= first_level {
            let length = width as usize * height as usize * 4;
            if content.len() < length {
                return None;
            }
            // Most of the content is the first level, which stays where it is.
            let rest = content.split_off(length);
            levels.push(Level { width, height, pixels: Cow::Owned(std::mem::replace(&mut content, rest)) });
        }
        if (width, height) == (1, 1) {
            break;
        }
        (width, height) = ((width / 2).max(1), (height / 2).max(1));
    }
    content.is_empty().then(|| Arc::new(levels))
}

/// What is not stored yet about the images of a scene.
#[derive(Default)]
pub(crate) struct UnstoredLevels(Vec<UnstoredImage>);

/// An image whose facts are not stored. If its levels are not stored either, it has `levels` with their name.
pub(super) struct UnstoredImage {
    pub(super) image: Arc<Image>,
    pub(super) levels: Option<(String, Levels)>,
}

impl UnstoredImage {
    fn bytes(&self) -> u64 {
        let levels = self.levels.iter().flat_map(|(_name, levels)| levels.iter());
        levels.map(|level| level.pixels.len() as u64).sum()
    }
}

impl UnstoredLevels {
    /// Returns `images`, or nothing if they would take too much of the cache.
    pub(super) fn new(images: Vec<UnstoredImage>, cache: &Cache) -> Self {
        let bytes: u64 = images.iter().map(UnstoredImage::bytes).sum();
        if bytes <= cache.most_bytes() / MIN_CACHE_SIZE { Self(images) } else { Self::default() }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Stores the levels and the facts of all images. Errors are ignored, because the images can be decoded again.
    pub(crate) fn store(&self, cache: &Cache) {
        let levels = self.0.iter().filter_map(|one| one.levels.as_ref()).map(|(name, levels)| {
            let parts: Vec<&[u8]> = levels.iter().map(|level| &*level.pixels).collect();
            (name.as_str(), parts.concat())
        });
        let named = |one: &UnstoredImage| {
            let size = (one.image.width, one.image.height);
            let name = cache.facts_name(&one.image.encoded_hash?, size);
            Some((name, one.image.pixels.facts().least.to_vec()))
        };
        let facts: Vec<_> = self.0.iter().filter_map(named).collect();
        let facts = facts.iter().map(|(name, content)| (name.as_str(), content.clone()));
        drop(cache.store_all(levels.chain(facts)));
    }
}
