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
/// Minimum number of different frames of a video for which a second device saves time. For a smaller number, compiling
/// the shaders again for the second device takes longer than it saves (measured, see
/// `docs/decisions/0024-a-software-driver-draws-on-two-devices.md`).
const MIN_FRAMES: usize = 60;
/// Same as [`MIN_FRAMES`], for the views of a dataset. A view takes longer to draw than a frame, because it also has
/// depth and normals.
const MIN_VIEWS: usize = 20;

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
    let PrepareInputs { scene, moving, .. } = *inputs;
    may_help(gpu, scene, picture, scene.shots.len()) && !moving.contains(&true)
}

/// Returns whether a second device may shorten the time for this number of pictures of a scene.
fn may_help(gpu: &Gpu, scene: &Scene, picture: Picture, pictures: usize) -> bool {
    let least = if scene.is_dataset { MIN_VIEWS } else { MIN_FRAMES };
    gpu.is_software()
        && pictures >= least
        && u64::from(picture.width) * u64::from(picture.height) <= MAX_PIXELS
        && std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1)
}

impl<'g> Renderer<'g> {
    /// Returns the data for drawing the scene on a second device, too. Returns `None` if a second device would not
    /// shorten the time for this number of pictures. A second device helps software drivers, because they process the
    /// triangles of a device on only one core. In any case, the mip levels for a second device are removed from `self`.
    pub(crate) fn second_device(&mut self, scene: &Scene, pictures: usize) -> Option<SecondDevice<'g>> {
        let mip_levels = std::mem::take(&mut self.mip_levels);
        let helps = may_help(self.gpu, scene, self.picture, pictures)
            && self.profile.is_none()
            && self.pose_light.is_none()
            && !self.gpu_scene.moves()
            && self.gpu.allocated_bytes().is_some_and(|bytes| bytes <= MAX_ALLOCATED_BYTES);
        helps.then(|| SecondDevice {
            first: self.gpu,
            picture: self.picture,
            light: Arc::clone(&self.light),
            mip_levels,
            cache: self.cache.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use plinth_frame::PixelFormat;

    use super::*;
    use crate::triangle_scene::triangle_scene;

    #[test]
    fn a_software_driver_draws_60_frames_or_20_views_on_two_devices() {
        let gpu = Gpu::open(&GpuOptions::default()).unwrap();
        let picture = Picture { width: 64, height: 64, format: PixelFormat::Rgba8 };
        let has_cores = std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
        for (is_dataset, least) in [(false, 60), (true, 20)] {
            let mut scene = triangle_scene();
            scene.is_dataset = is_dataset;
            let mut renderer = Renderer::new(&gpu, &scene, picture, None).unwrap();
            for (pictures, expected) in [(least - 1, false), (least, gpu.is_software() && has_cores)] {
                assert_eq!(renderer.second_device(&scene, pictures).is_some(), expected, "{pictures} pictures");
                // The mip levels for a second device are kept for the same numbers.
                let mut scene = scene.clone();
                scene.shots = vec![scene.shots[0].clone(); pictures];
                let keeps = with_prepare_inputs(&gpu, &scene, picture, |inputs| may_be_used(&gpu, inputs, picture));
                assert_eq!(keeps, expected, "{pictures} pictures");
            }
        }
    }
}
