//! Uploads images with their mip levels.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, PoisonError};

use plinth_model::{Image, Model, Sampler, TextureEncoding, Wrap};
use rayon::prelude::*;
use twox_hash::XxHash3_128;

use super::first_level::FirstLevel;
use super::kept_levels::{self, UnstoredImage, UnstoredLevels};
use super::read_tiles::{ReadTiles, Rectangle};
use crate::cache::Cache;
use crate::gpu::Gpu;
use crate::gpu_types::rounded;

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

/// What is uploaded of an image. The whole level 0 is not among it, because it is the image itself.
#[derive(Default)]
pub(crate) struct Levels {
    /// Parts of the first level. `None` if the whole level is uploaded.
    pub(super) parts: Option<Parts>,
    /// All other levels from level 1 on that are not finer than the first one.
    pub(super) whole: Vec<Level<'static>>,
}

impl Levels {
    /// Returns the pixels in the order in which they are stored on disk.
    pub(super) fn pixels(&self) -> impl Iterator<Item = &[u8]> {
        let parts = self.parts.iter().map(|parts| parts.pixels.as_slice());
        parts.chain(self.whole.iter().map(|level| &*level.pixels))
    }
}

/// Parts of a mip level.
pub(super) struct Parts {
    pub(super) places: Vec<Rectangle>,
    /// R, G, B, A bytes of the rectangles, one after the other.
    pub(super) pixels: Vec<u8>,
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
    let levels = Arc::new(computed(image, wanted));
    let unstored = named
        .map(|(_cache, name)| UnstoredImage { image: Arc::clone(image), levels: Some((name, Arc::clone(&levels))) });
    (levels, unstored)
}

/// Computes what is uploaded of an image.
fn computed(image: &Image, wanted: &WantedImage) -> Levels {
    let level_0 = Level::of(image);
    let mut whole = smaller_levels(&level_0, wanted.encoding, wanted.first.number);
    let Some(tiles) = &wanted.first.parts else { return Levels { parts: None, whole } };
    let parts = if wanted.first.number == 0 { cut(&level_0, tiles) } else { cut(&whole.remove(0), tiles) };
    Levels { parts: Some(parts), whole }
}

/// Copies the parts of a level that are read.
fn cut(level: &Level<'_>, tiles: &ReadTiles) -> Parts {
    let places = tiles.rectangles();
    let mut pixels = Vec::with_capacity(places.iter().map(Rectangle::bytes).sum());
    for place in &places {
        let (left, bytes) = (place.x as usize * 4, place.width as usize * 4);
        let rows = level.pixels.chunks_exact(level.width as usize * 4);
        for row in rows.skip(place.y as usize).take(place.height as usize) {
            pixels.extend_from_slice(&row[left..left + bytes]);
        }
    }
    Parts { places, pixels }
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

/// A mip level: R, G, B, A bytes.
pub(crate) struct Level<'a> {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) pixels: Cow<'a, [u8]>,
}

impl<'a> Level<'a> {
    /// Returns level 0 of an image.
    fn of(image: &'a Image) -> Self {
        let pixels = Cow::Borrowed(&*image.pixels);
        Self { width: image.width.max(1), height: image.height.max(1), pixels }
    }

    const fn is_last(&self) -> bool {
        self.width == 1 && self.height == 1
    }
}

/// Returns the mip levels from level 1 or, if it is greater, from `first` down to one texel. Each level is averaged
/// from the previous level, in the space that the encoding requires. `whole` is level 0.
fn smaller_levels(whole: &Level<'_>, encoding: TextureEncoding, first: u32) -> Vec<Level<'static>> {
    let mut levels: Vec<Level<'static>> = Vec::new();
    for number in 1.. {
        let next = match levels.last() {
            Some(above) if !above.is_last() => halve(above, encoding),
            None if !whole.is_last() => halve(whole, encoding),
            _ => break,
        };
        // Only the last one of the levels before `first` is needed, to compute the next level.
        if number <= first {
            levels.clear();
        }
        levels.push(next);
    }
    levels
}

fn halve(above: &Level<'_>, encoding: TextureEncoding) -> Level<'static> {
    match encoding {
        TextureEncoding::Linear => halve_with(above, average_linear),
        TextureEncoding::Srgb => {
            let tables = &*SRGB;
            halve_with(above, |texels| average_srgb(tables, texels))
        }
        TextureEncoding::Normal => halve_with(above, average_normal),
    }
}

/// Minimum number of texels that are averaged on one thread.
const MIN_TEXELS: usize = 1 << 14;

/// Halves the width and the height of a mip level. `average` returns the mean of four texels.
fn halve_with(above: &Level<'_>, average: impl Fn([[u8; 4]; 4]) -> [u8; 4] + Sync) -> Level<'static> {
    let (width, height) = ((above.width / 2).max(1), (above.height / 2).max(1));
    let mut pixels = vec![0_u8; width as usize * height as usize * 4];
    let texels = above.pixels.as_chunks::<4>().0;
    let columns = above.width as usize;
    let rows = |y: usize| y.min(above.height as usize - 1) * columns;
    let halve_row = |(y, row): (usize, &mut [[u8; 4]])| {
        let [upper, lower] = [2 * y, 2 * y + 1].map(|y| &texels[rows(y)..rows(y) + columns]);
        // A single column is averaged with itself. If there is an odd number of columns, the last column is ignored.
        if columns == 1 {
            row[0] = average([upper[0], upper[0], lower[0], lower[0]]);
            return;
        }
        let pairs = upper.as_chunks::<2>().0.iter().zip(lower.as_chunks::<2>().0);
        for (texel, ([a, b], [c, d])) in row.iter_mut().zip(pairs) {
            *texel = average([*a, *b, *c, *d]);
        }
    };
    let halved = pixels.as_chunks_mut::<4>().0.par_chunks_exact_mut(width as usize);
    halved.with_min_len(MIN_TEXELS.div_ceil(width as usize)).enumerate().for_each(halve_row);
    Level { width, height, pixels: Cow::Owned(pixels) }
}

// The functions below list the channels, because `array::map` is not inlined everywhere. They are inlined into the loop
// over the texels, which is compiled in another unit.

#[inline]
fn average_linear([a, b, c, d]: [[u8; 4]; 4]) -> [u8; 4] {
    let channel = |i: usize| mean([a[i], b[i], c[i], d[i]]);
    [channel(0), channel(1), channel(2), channel(3)]
}

#[inline]
fn mean([a, b, c, d]: [u8; 4]) -> u8 {
    ((u16::from(a) + u16::from(b) + u16::from(c) + u16::from(d) + 2) / 4) as u8
}

/// Averages sRGB colours as linear light. Lookup tables convert in both directions.
#[inline]
fn average_srgb(tables: &SrgbTables, [a, b, c, d]: [[u8; 4]; 4]) -> [u8; 4] {
    let linear = |encoded: u8| u32::from(tables.decode[usize::from(encoded)]);
    let channel = |i: usize| {
        let sum = linear(a[i]) + linear(b[i]) + linear(c[i]) + linear(d[i]);
        tables.encode[(sum / 4) as usize >> 4]
    };
    [channel(0), channel(1), channel(2), mean([a[3], b[3], c[3], d[3]])]
}

#[inline]
fn average_normal([a, b, c, d]: [[u8; 4]; 4]) -> [u8; 4] {
    let sum = |i: usize| f32::from(u16::from(a[i]) + u16::from(b[i]) + u16::from(c[i]) + u16::from(d[i])) - 4.0 * 127.5;
    let n = glam::Vec3::new(sum(0), sum(1), sum(2)).normalize_or(glam::Vec3::Z) * 127.5 + 127.5;
    [rounded(n.x) as u8, rounded(n.y) as u8, rounded(n.z) as u8, mean([a[3], b[3], c[3], d[3]])]
}

struct SrgbTables {
    /// The 16-bit linear value of each sRGB byte.
    decode: [u16; 256],
    /// The sRGB byte for the upper 12 bits of each 16-bit linear value.
    encode: [u8; 4096],
}

static SRGB: LazyLock<SrgbTables> = LazyLock::new(|| {
    let decode = std::array::from_fn(|i| (linear_from_srgb(i as f32 / 255.0) * 65535.0).round() as u16);
    let encode = std::array::from_fn(|i| {
        let linear = (i as f32 + 0.5) / 4096.0;
        let encoded = if linear <= 0.003_130_8 { 12.92 * linear } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 };
        (encoded * 255.0).round() as u8
    });
    SrgbTables { decode, encode }
});

/// Decodes an sRGB value to linear (IEC 61966-2-1).
pub(crate) fn linear_from_srgb(encoded: f32) -> f32 {
    if encoded <= 0.040_45 { encoded / 12.92 } else { ((encoded + 0.055) / 1.055).powf(2.4) }
}

/// The linear value of each sRGB byte.
static LINEAR: LazyLock<[f32; 256]> = LazyLock::new(|| std::array::from_fn(|i| linear_from_srgb(i as f32 / 255.0)));

/// Decodes an sRGB byte to linear.
pub(crate) fn linear_from_byte(encoded: u8) -> f32 {
    LINEAR[usize::from(encoded)]
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

    #[test]
    fn levels_are_means_of_the_level_above_also_with_odd_sides() {
        for (width, height) in [(8, 4), (5, 3), (1, 6), (7, 1), (1, 1)] {
            let pixels: Vec<u8> = (0..width * height * 4).map(|i| (i * 37 % 251) as u8).collect();
            let image = Image { width, height, pixels: pixels.into(), ..Image::default() };
            let mut levels = vec![Level::of(&image)];
            levels.extend(smaller_levels(&Level::of(&image), TextureEncoding::Linear, 0));
            for pair in levels.windows(2) {
                let [above, level] = pair else { continue };
                assert_eq!((level.width, level.height), ((above.width / 2).max(1), (above.height / 2).max(1)));
                for (i, found) in level.pixels.iter().enumerate() {
                    let (texel, channel) = (i as u32 / 4, i % 4);
                    let [x, y] = [texel % level.width, texel / level.width];
                    let read = |dx: u32, dy: u32| {
                        let (x, y) = ((2 * x + dx).min(above.width - 1), (2 * y + dy).min(above.height - 1));
                        u32::from(above.pixels[(y * above.width + x) as usize * 4 + channel])
                    };
                    let sum = read(0, 0) + read(1, 0) + read(0, 1) + read(1, 1);
                    assert_eq!(u32::from(*found), (sum + 2) / 4, "{width}×{height}");
                }
            }
            assert_eq!(levels.last().map(|level| level.pixels.len()), Some(4));
        }
    }

    #[test]
    fn levels_are_the_same_if_finer_ones_are_left_out() {
        let pixels: Vec<u8> = (0..16 * 8 * 4_u32).map(|i| (i * 37 % 251) as u8).collect();
        let image = Image { width: 16, height: 8, pixels: pixels.into(), ..Image::default() };
        for encoding in [TextureEncoding::Linear, TextureEncoding::Srgb, TextureEncoding::Normal] {
            let levels = |first: u32| {
                let levels = smaller_levels(&Level::of(&image), encoding, first).into_iter();
                levels.map(|level| (level.width, level.height, level.pixels.into_owned())).collect::<Vec<_>>()
            };
            let all = levels(0);
            assert_eq!(all.len(), 4);
            for first in 1..=4 {
                assert!(levels(first) == all[first as usize - 1..], "{encoding:?} from level {first}");
            }
        }
    }

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

    #[test]
    fn parts_have_the_pixels_of_their_places() {
        let [width, height] = [200_u32, 130];
        let pixels: Vec<u8> = (0..width * height).flat_map(u32::to_le_bytes).collect();
        let image = Image { width, height, pixels: pixels.into(), ..Image::default() };
        let mut tiles = ReadTiles::new([width, height]);
        for corner in [[20.0, 20.0], [150.0, 90.0]] {
            tiles.mark([glam::Vec2::from(corner); 3], [Wrap::Clamp; 2]);
        }
        let Parts { places, pixels } = cut(&Level::of(&image), &tiles);
        let expected: Vec<u8> = places
            .iter()
            .flat_map(|place| (place.y..place.y + place.height).map(move |y| (place, y)))
            .flat_map(|(place, y)| (place.x..place.x + place.width).map(move |x| y * width + x))
            .flat_map(u32::to_le_bytes)
            .collect();
        assert_eq!(places.len(), 2, "{places:?}");
        assert!(pixels == expected);
    }

    #[test]
    fn the_mean_of_equal_normals_is_the_same_normal() {
        for normal in [[255, 128, 128, 255], [128, 128, 255, 0], [128, 0, 127, 9], [201, 201, 201, 255]] {
            let mean = average_normal([normal; 4]);
            assert!(mean.iter().zip(normal).all(|(a, b)| a.abs_diff(b) <= 1), "{mean:?} {normal:?}");
        }
    }
}
