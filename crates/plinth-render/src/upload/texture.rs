//! Uploads images with their mip levels.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use plinth_model::{Image, Model, Sampler, TextureEncoding, Wrap};
use rayon::prelude::*;
use twox_hash::XxHash3_128;

use super::first_level::FirstLevel;
use super::kept_levels::{self, UnstoredImage, UnstoredLevels};
use super::levels::{Level, Levels, Parts};
use super::read_tiles::Rectangle;
use crate::cache::Cache;
use crate::gpu::Gpu;

/// Maximum number of samples of an anisotropic texture lookup.
pub(super) const MAX_ANISOTROPY: u16 = 8;

/// An image to upload.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WantedImage {
    /// Index of the image in the model.
    pub(crate) image: usize,
    pub(crate) encoding: TextureEncoding,
    /// The finest mip level that is uploaded.
    pub(crate) first: FirstLevel,
}

/// Mip levels that were computed for one device and can be uploaded to another one.
#[derive(Default)]
pub(crate) struct MipLevels(BTreeMap<WantedImage, Arc<Levels>>);

/// What happens with the mip levels that are computed for a device.
pub(crate) enum LevelUse {
    /// They are uploaded, and dropped.
    Once,
    /// They are uploaded, and kept for a second device.
    Twice,
    /// The levels that were computed for a first device are uploaded, and dropped.
    Known(MipLevels),
}

/// The textures and samplers of a model. A sampler is created when it is first used.
pub(crate) struct Textures {
    views: Views,
    samplers: BTreeMap<SamplerKey, wgpu::Sampler>,
    levels: MipLevels,
    unstored: UnstoredLevels,
}

impl Textures {
    /// Uploads images of a model. Mip levels that are neither known nor in the cache on disk are computed.
    pub(crate) fn upload(
        gpu: &Gpu,
        model: &Model,
        wanted: BTreeSet<WantedImage>,
        levels: LevelUse,
        cache: Option<&Cache>,
    ) -> Self {
        let wanted = wanted.into_iter().collect();
        let Uploaded { views, levels, unstored } = match gpu.device.cache() {
            Some(device_cache) => {
                let mut kept = device_cache.images.lock().unwrap_or_else(PoisonError::into_inner);
                kept.upload(gpu, model, wanted, levels, cache)
            }
            None => upload_all(gpu, model, wanted, levels, cache),
        };
        Self { views, samplers: BTreeMap::new(), levels, unstored }
    }

    /// Returns the view of an uploaded image. Returns `None` if the image was not uploaded with this encoding.
    pub(crate) fn view(&self, image: usize, encoding: TextureEncoding) -> Option<&wgpu::TextureView> {
        self.views.get(&(image, encoding))
    }

    /// Returns the GPU sampler that corresponds to a sampler of the model.
    pub(crate) fn sampler(&mut self, gpu: &Gpu, sampler: Sampler) -> wgpu::Sampler {
        self.samplers.entry(sampler_key(sampler)).or_insert_with(|| create_sampler(gpu, sampler)).clone()
    }

    /// Removes and returns the mip levels that are to be stored on disk.
    pub(crate) fn take_unstored(&mut self) -> UnstoredLevels {
        std::mem::take(&mut self.unstored)
    }

    /// Returns the mip levels that were uploaded and kept for a second device.
    pub(crate) fn into_levels(self) -> MipLevels {
        self.levels
    }
}

type Views = BTreeMap<(usize, TextureEncoding), wgpu::TextureView>;

/// Uploaded images, with the mip levels that were kept.
struct Uploaded {
    views: Views,
    levels: MipLevels,
    unstored: UnstoredLevels,
}

fn upload_all(gpu: &Gpu, model: &Model, wanted: Vec<WantedImage>, levels: LevelUse, cache: Option<&Cache>) -> Uploaded {
    let keeps_levels = matches!(levels, LevelUse::Twice);
    let MipLevels(mut known) = if let LevelUse::Known(levels) = levels { levels } else { MipLevels::default() };
    let with_known = wanted.into_iter().map(|wanted| {
        let known = known.remove(&wanted);
        (wanted, known)
    });
    let with_known: Vec<_> = with_known.collect();
    let upload = |(wanted, known): (WantedImage, Option<Arc<Levels>>)| {
        let image = &model.images[wanted.image];
        let (levels, unstored) = match known {
            Some(levels) => (levels, None),
            None => stored_or_computed(image, &wanted, cache),
        };
        let level_0 = wanted.first.is_all().then(|| Level::of(image));
        let whole: Vec<&Level<'_>> = level_0.iter().chain(&levels.whole).collect();
        let size = [image.width, image.height].map(|side| (side >> wanted.first.number).max(1));
        let view = ((wanted.image, wanted.encoding), upload_levels(gpu, size, levels.parts.as_ref(), &whole));
        (view, (keeps_levels.then_some((wanted, levels)), unstored))
    };
    let uploaded: Vec<_> = with_known.into_par_iter().map(upload).collect();
    let (views, others): (Views, Vec<_>) = uploaded.into_iter().unzip();
    let (levels, unstored): (Vec<_>, Vec<_>) = others.into_iter().unzip();
    let unstored = unstored.into_iter().flatten().collect();
    Uploaded {
        views,
        levels: MipLevels(levels.into_iter().flatten().collect()),
        unstored: cache.map(|cache| UnstoredLevels::new(unstored, cache)).unwrap_or_default(),
    }
}

/// Loads what is uploaded of an image from the cache on disk, or computes it and returns what to store.
fn stored_or_computed(
    image: &Arc<Image>,
    wanted: &WantedImage,
    cache: Option<&Cache>,
) -> (Arc<Levels>, Option<UnstoredImage>) {
    let named = cache.and_then(|cache| Some((cache, kept_levels::name(cache, image, wanted)?)));
    if let Some((cache, name)) = &named
        && let Some(levels) = kept_levels::load(cache, name, image, &wanted.first)
    {
        // The facts are older than the levels, so they may have been deleted before them.
        let are_stored = |hash| cache.image_facts(&hash, (image.width, image.height)).is_some();
        let has_facts = image.pixels.known_facts().is_some() || image.encoded_hash.is_some_and(are_stored);
        return (levels, (!has_facts).then(|| UnstoredImage { image: Arc::clone(image), levels: None }));
    }
    let levels = Arc::new(Levels::computed(image, wanted.encoding, &wanted.first));
    let unstored = named
        .map(|(_cache, name)| UnstoredImage { image: Arc::clone(image), levels: Some((name, Arc::clone(&levels))) });
    (levels, unstored)
}

/// An uploaded image of the scene that was drawn last.
#[derive(Clone)]
struct CachedImage {
    first: FirstLevel,
    view: wgpu::TextureView,
}

/// Identifies a cached image: its size, its encoding, and a hash of its content.
type ImageKey = (u32, u32, TextureEncoding, u128);

/// Uploaded images of the scene that was drawn last.
#[derive(Default)]
pub(crate) struct ImageCache(BTreeMap<ImageKey, CachedImage>);

impl ImageCache {
    /// Uploads the images that are not cached with all levels that are wanted, and removes cached images that are not
    /// wanted.
    fn upload(
        &mut self,
        gpu: &Gpu,
        model: &Model,
        wanted: Vec<WantedImage>,
        levels: LevelUse,
        cache: Option<&Cache>,
    ) -> Uploaded {
        let key = |wanted: &WantedImage| -> ImageKey {
            let image = &model.images[wanted.image];
            (image.width, image.height, wanted.encoding, XxHash3_128::oneshot(image.identity()))
        };
        let keys: Vec<_> = wanted.par_iter().map(key).collect();
        let is_missing = |wanted: &WantedImage, key: &ImageKey| {
            self.0.get(key).is_none_or(|cached| !cached.first.contains(&wanted.first))
        };
        let pairs = wanted.iter().zip(&keys);
        let missing =
            pairs.filter(|(wanted, key)| is_missing(wanted, key)).map(|(wanted, _key)| wanted.clone()).collect();
        let Uploaded { views: uploaded, levels, unstored } = upload_all(gpu, model, missing, levels, cache);
        let mut views = Views::new();
        let mut kept = BTreeMap::new();
        for (wanted, key) in wanted.into_iter().zip(keys) {
            let place = (wanted.image, wanted.encoding);
            let new = uploaded.get(&place).cloned();
            let new = new.map(|view| CachedImage { first: wanted.first, view });
            if let Some(image) = new.or_else(|| self.0.get(&key).cloned()) {
                views.insert(place, image.view.clone());
                kept.insert(key, image);
            }
        }
        self.0 = kept;
        Uploaded { views, levels, unstored }
    }
}

/// The properties of a sampler, in a form by which samplers are compared.
pub(super) type SamplerKey = (u8, u8, bool, bool);

pub(super) const fn sampler_key(sampler: Sampler) -> SamplerKey {
    (wrap_key(sampler.wrap_u), wrap_key(sampler.wrap_v), sampler.mag_nearest, sampler.min_nearest)
}

const fn wrap_key(wrap: Wrap) -> u8 {
    match wrap {
        Wrap::Repeat => 0,
        Wrap::Mirror => 1,
        Wrap::Clamp => 2,
    }
}

const fn address_mode(wrap: Wrap) -> wgpu::AddressMode {
    match wrap {
        Wrap::Repeat => wgpu::AddressMode::Repeat,
        Wrap::Mirror => wgpu::AddressMode::MirrorRepeat,
        Wrap::Clamp => wgpu::AddressMode::ClampToEdge,
    }
}

fn create_sampler(gpu: &Gpu, sampler: Sampler) -> wgpu::Sampler {
    let filter = |nearest| if nearest { wgpu::FilterMode::Nearest } else { wgpu::FilterMode::Linear };
    // If a minified texture is not filtered, it has jagged edges that crawl in a video. Therefore nearest-neighbour
    // minification is used only for pixel art, whose sampler asks for nearest-neighbour magnification, too.
    let min_nearest = sampler.mag_nearest && sampler.min_nearest;
    let smooth = !sampler.mag_nearest;
    gpu.device.create_sampler(&wgpu::SamplerDescriptor {
        label: Some("material"),
        address_mode_u: address_mode(sampler.wrap_u),
        address_mode_v: address_mode(sampler.wrap_v),
        mag_filter: filter(sampler.mag_nearest),
        min_filter: filter(min_nearest),
        mipmap_filter: if smooth { wgpu::MipmapFilterMode::Linear } else { wgpu::MipmapFilterMode::Nearest },
        // On software drivers, anisotropic filtering more than doubles the time of a frame.
        anisotropy_clamp: if smooth && !gpu.is_software() { MAX_ANISOTROPY } else { 1 },
        ..Default::default()
    })
}

/// Uploads parts of the first level of `size` texels, if there are any, and the other levels as a whole.
fn upload_levels(
    gpu: &Gpu,
    [width, height]: [u32; 2],
    parts: Option<&Parts>,
    whole: &[&Level<'_>],
) -> wgpu::TextureView {
    let first_whole = u32::from(parts.is_some());
    let texture = gpu.device.create_texture(&wgpu::TextureDescriptor {
        label: Some("image"),
        size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
        mip_level_count: first_whole + whole.len() as u32,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: wgpu::TextureFormat::Rgba8Unorm,
        usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
        view_formats: &[],
    });
    if let Some(Parts { places, pixels }) = parts {
        let mut rest = pixels.as_slice();
        for place in places {
            let (part, others) = rest.split_at(place.bytes());
            write(gpu, &texture, 0, *place, part);
            rest = others;
        }
    }
    for (mip, level) in (first_whole..).zip(whole) {
        let place = Rectangle { x: 0, y: 0, width: level.width, height: level.height };
        write(gpu, &texture, mip, place, &level.pixels);
    }
    // This empty submission releases the staging memory of the image before the next image is written.
    gpu.queue.submit([]);
    texture.create_view(&wgpu::TextureViewDescriptor::default())
}

fn write(gpu: &Gpu, texture: &wgpu::Texture, mip_level: u32, place: Rectangle, pixels: &[u8]) {
    gpu.queue.write_texture(
        wgpu::TexelCopyTextureInfo {
            texture,
            mip_level,
            origin: wgpu::Origin3d { x: place.x, y: place.y, z: 0 },
            aspect: wgpu::TextureAspect::All,
        },
        pixels,
        wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(place.width * 4),
            rows_per_image: Some(place.height),
        },
        wgpu::Extent3d { width: place.width, height: place.height, depth_or_array_layers: 1 },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::GpuOptions;
    use crate::upload::read_tiles::ReadTiles;

    #[test]
    fn levels_are_kept_only_for_a_second_device() {
        let gpu = Gpu::open(&GpuOptions::default()).unwrap();
        let image = Image { width: 8, height: 8, pixels: vec![200; 8 * 8 * 4].into(), ..Image::default() };
        let model = Model { images: vec![image.into()], ..Model::default() };
        let upload = |levels: LevelUse| {
            let first = FirstLevel { number: 1, parts: None };
            let wanted = WantedImage { image: 0, encoding: TextureEncoding::Srgb, first };
            Textures::upload(&gpu, &model, BTreeSet::from([wanted]), levels, None).into_levels()
        };
        assert_eq!(upload(LevelUse::Once).0.len(), 0);
        let kept = upload(LevelUse::Twice);
        assert_eq!(kept.0.values().map(|levels| levels.whole.len()).collect::<Vec<_>>(), [3]);
        assert_eq!(upload(LevelUse::Known(kept)).0.len(), 0);
        gpu.check().unwrap();
    }

    #[test]
    fn a_cached_image_is_uploaded_again_only_for_finer_levels_or_other_parts() {
        let gpu = Gpu::open(&GpuOptions::default()).unwrap();
        let image = Image { width: 256, height: 256, pixels: vec![200; 256 * 256 * 4].into(), ..Image::default() };
        let model = Model { images: vec![image.into()], ..Model::default() };
        // The part around a texel of level 1.
        let part = |x: f32| {
            let mut tiles = ReadTiles::new([128, 128]);
            tiles.mark([glam::vec2(x, 30.0); 3], [Wrap::Clamp; 2]);
            Some(Arc::new(tiles))
        };
        let mut cache = ImageCache::default();
        let mut upload = |number: u32, parts: Option<Arc<ReadTiles>>| {
            let first = FirstLevel { number, parts };
            let wanted = WantedImage { image: 0, encoding: TextureEncoding::Srgb, first };
            let Uploaded { views, levels, .. } = cache.upload(&gpu, &model, vec![wanted], LevelUse::Twice, None);
            let texture = views[&(0, TextureEncoding::Srgb)].texture().clone();
            (texture.width(), texture.mip_level_count(), levels.0.len())
        };
        assert_eq!(upload(1, part(30.0)), (128, 8, 1));
        assert_eq!(upload(1, part(30.0)), (128, 8, 0));
        assert_eq!(upload(2, None), (64, 7, 1), "negligible triangles could read the rest of the finer level");
        assert_eq!(upload(1, part(90.0)), (128, 8, 1), "another part");
        assert_eq!(upload(1, part(60.0)), (128, 8, 1), "both parts");
        assert_eq!(upload(1, part(30.0)), (128, 8, 0));
        assert_eq!(upload(1, None), (128, 8, 1), "the whole level");
        assert_eq!(upload(1, part(90.0)), (128, 8, 0));
        assert_eq!(upload(0, None), (256, 9, 1));
        assert_eq!(upload(1, None), (256, 9, 0));
        gpu.check().unwrap();
    }
}
