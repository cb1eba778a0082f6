//! A second device, which helps a software driver to draw long videos and datasets (see `draw_in_order.rs`).

use std::sync::{Arc, PoisonError};

use plinth_scene::Scene;

use crate::RenderError;
use crate::cache::Cache;
use crate::gpu::{Gpu, GpuOptions};
use crate::prepare::{PrepareInputs, Prepared};
use crate::renderer::{Picture, Renderer, with_prepare_inputs};
use crate::upload::texture::{LevelUse, MipLevels, Textures};
use crate::used_materials::wanted_images;

/// Maximum number of pixels of a picture for which a second device is opened. With larger pictures, two sets of render
/// targets take too much memory, and little of the time is spent on triangles.
const MAX_PIXELS: u64 = 1920 * 1080;
/// Number of bytes. If the first device has allocated more memory than this, no second device is opened.
const MAX_ALLOCATED_BYTES: u64 = 512 << 20;
/// Minimum number of pictures of any kind for which a second device saves time.
pub(crate) const MIN_PICTURES: usize = 20;

/// The data that is needed to draw a scene on a second device.
pub(crate) struct SecondDevice<'g> {
    first: &'g Gpu,
    picture: Picture,
    light: Arc<Prepared>,
    mip_levels: MipLevels,
    /// The cache that contains further mip levels.
    cache: Option<Cache>,
}

impl SecondDevice<'_> {
    /// Opens a second device of the same adapter. If the first device has a cache, the second device also gets a cache,
    /// and is stored in the cache of the first, so that later scenes reuse it. Returns `None` if the device cannot be
    /// opened.
    pub(crate) fn open(&self) -> Option<Arc<Gpu>> {
        let open = || {
            let mut opened = Gpu::open(&GpuOptions { adapter: Some(self.first.report().name.clone()) }).ok()?;
            opened.keeps_visibility = self.first.keeps_visibility;
            opened.keeps_levels = self.first.keeps_levels;
            Some(opened)
        };
        let Some(cache) = self.first.device.cache() else { return open().map(Arc::new) };
        let mut kept = cache.second_device.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.is_none() {
            let mut opened = open()?;
            opened.enable_cache();
            *kept = Some(Arc::new(opened));
        }
        kept.clone()
    }

    /// Creates the renderer for the second device.
    /// Errors: if the device fails.
    pub(crate) fn renderer<'g>(self, gpu: &'g Gpu, scene: &Scene) -> Result<Renderer<'g>, RenderError> {
        let Self { picture, light, mip_levels, cache, .. } = self;
        with_prepare_inputs(gpu, scene, picture, |inputs| {
            let wanted = wanted_images(gpu, inputs, &light.model.indices, (picture.width, picture.height));
            let textures = Textures::upload(gpu, &scene.model, wanted, LevelUse::Known(mip_levels), cache.as_ref());
            Renderer::assemble(gpu, picture, inputs, (light, None), textures)
        })
    }
}

/// Returns whether a scene may be drawn on a second device. This is not certain before the first device has allocated
/// its memory.
pub(crate) fn may_be_used(gpu: &Gpu, inputs: &PrepareInputs<'_>, picture: Picture) -> bool {
    gpu.is_software()
        && u64::from(picture.width) * u64::from(picture.height) <= MAX_PIXELS
        && !inputs.moving.contains(&true)
        && inputs.scene.shots.len() >= MIN_PICTURES
}

impl<'g> Renderer<'g> {
    /// Returns the data for drawing the scene on a second device, too. Returns `None` if a second device would not
    /// shorten the time for this number of pictures. `min_pictures` is the minimum number for which it may. A second
    /// device helps software drivers, because they process the triangles of a device on only one core. In any case, the
    /// mip levels for a second device are removed from `self`.
    pub(crate) fn second_device(&mut self, pictures: usize, min_pictures: usize) -> Option<SecondDevice<'g>> {
        let mip_levels = std::mem::take(&mut self.mip_levels);
        let size = u64::from(self.picture.width) * u64::from(self.picture.height);
        let helps = self.gpu.is_software()
            && pictures >= min_pictures
            && size <= MAX_PIXELS
            && self.profile.is_none()
            && self.pose_light.is_none()
            && !self.gpu_scene.moves()
            && self.gpu.allocated_bytes().is_some_and(|bytes| bytes <= MAX_ALLOCATED_BYTES)
            && std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
        helps.then(|| SecondDevice {
            first: self.gpu,
            picture: self.picture,
            light: Arc::clone(&self.light),
            mip_levels,
            cache: self.cache.clone(),
        })
    }
}
