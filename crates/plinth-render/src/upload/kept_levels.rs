//! Mip levels of images, kept in the cache on disk. A model that was rendered before need not decode images of which only
//! reduced levels are drawn.

use std::borrow::Cow;
use std::sync::Arc;

use plinth_model::{Image, ImageFacts};

use super::first_level::FirstLevel;
use super::levels::{Level, Levels, Parts};
use super::read_tiles::Rectangle;
use super::texture::WantedImage;
use crate::cache::Cache;

/// Minimum size of the cache, in multiples of the mip levels of a scene. In a smaller cache, the levels of the largest images
/// are not stored, because they would displace light.
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

/// Returns the name under which the levels of an image are stored. Returns `None` if they are not stored.
pub(super) fn name(cache: &Cache, image: &Image, wanted: &WantedImage) -> Option<String> {
    let encoded_hash = image.encoded_hash?;
    // Levels with the whole level 0 are not stored, because they are many times as large as the encoded image.
    if wanted.first.is_all() {
        return None;
    }
    let mut key = cache.key("levels");
    key.list(&encoded_hash);
    key.list(&[image.width, image.height, wanted.first.number]);
    key.list(wanted.first.parts.as_ref().map(|tiles| tiles.is_read()).unwrap_or_default());
    key.debug(&wanted.encoding);
    Some(key.name())
}

/// Returns stored levels. Returns `None` if they are not stored.
pub(super) fn load(cache: &Cache, name: &str, image: &Image, first: &FirstLevel) -> Option<Arc<Levels>> {
    let mut content = cache.load(name)?;
    let places = first.parts.as_ref().map(|tiles| tiles.rectangles());
    let parts_bytes: usize = places.iter().flatten().map(Rectangle::bytes).sum();
    // If there are parts of the first level, the levels after it are whole.
    let sizes = level_sizes(image, first.number + u32::from(places.is_some()));
    let bytes = |&(width, height): &(u32, u32)| width as usize * height as usize * 4;
    if content.len() != sizes.iter().map(bytes).sum::<usize>() + parts_bytes {
        return None;
    }
    // The last ones are removed first. The first one, which is the largest one, stays where it is.
    let mut whole = Vec::new();
    for (i, size) in sizes.iter().enumerate().rev() {
        let is_all = i == 0 && places.is_none();
        let pixels = if is_all { std::mem::take(&mut content) } else { content.split_off(content.len() - bytes(size)) };
        whole.push(Level { width: size.0, height: size.1, pixels: Cow::Owned(pixels) });
    }
    whole.reverse();
    Some(Arc::new(Levels { parts: places.map(|places| Parts { places, pixels: content }), whole }))
}

/// Returns the width and the height of the mip levels of an image from level `first` on.
fn level_sizes(image: &Image, first: u32) -> Vec<(u32, u32)> {
    let halve =
        |&(width, height): &(u32, u32)| ((width, height) != (1, 1)).then(|| ((width / 2).max(1), (height / 2).max(1)));
    std::iter::successors(Some((image.width, image.height)), halve).skip(first as usize).collect()
}

/// What is not stored yet about the images of a scene.
#[derive(Default)]
pub(crate) struct UnstoredLevels(Vec<UnstoredImage>);

/// An image whose facts are not stored. If its levels are not stored either, it has `levels` with their name.
pub(super) struct UnstoredImage {
    pub(super) image: Arc<Image>,
    pub(super) levels: Option<(String, Arc<Levels>)>,
}

impl UnstoredImage {
    fn bytes(&self) -> u64 {
        let pixels = self.levels.iter().flat_map(|(_name, levels)| levels.pixels());
        pixels.map(|pixels| pixels.len() as u64).sum()
    }
}

impl UnstoredLevels {
    /// Returns as many of the images as do not take too much of the cache, beginning with the smallest ones.
    pub(super) fn new(mut images: Vec<UnstoredImage>, cache: &Cache) -> Self {
        images.sort_by_key(UnstoredImage::bytes);
        let mut bytes = 0;
        let mut fits = |one: &UnstoredImage| {
            bytes += one.bytes();
            bytes <= cache.most_bytes() / MIN_CACHE_SIZE
        };
        let number = images.iter().take_while(|one| fits(one)).count();
        images.truncate(number);
        Self(images)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Stores the levels and the facts of all images. Errors are ignored, because the images can be decoded again.
    pub(crate) fn store(&self, cache: &Cache) {
        let levels = self
            .0
            .iter()
            .filter_map(|one| one.levels.as_ref())
            .map(|(name, levels)| (name.as_str(), levels.pixels().collect::<Vec<_>>().concat()));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_levels_are_not_stored_if_they_take_too_much_of_the_cache() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path().to_owned(), 4000).unwrap();
        let image = |side: u32| {
            let level = Level { width: side, height: side, pixels: Cow::Owned(vec![0; (side * side * 4) as usize]) };
            let levels = Levels { parts: None, whole: vec![level] };
            UnstoredImage { image: Arc::default(), levels: Some((side.to_string(), Arc::new(levels))) }
        };
        let stored = |sides: &[u32]| {
            let UnstoredLevels(images) = UnstoredLevels::new(sides.iter().map(|side| image(*side)).collect(), &cache);
            images.into_iter().map(|one| one.levels.unwrap().0).collect::<Vec<_>>()
        };
        assert_eq!(stored(&[20, 12, 9]), ["9", "12"], "together a quarter of the cache at most");
        assert_eq!(stored(&[14, 12, 9]), ["9", "12"]);
        assert_eq!(stored(&[16]), [""; 0]);
    }
}
