//! A second device that helps a software driver to draw long videos and datasets (see `lanes.rs`).

use std::sync::Arc;

use plinth_scene::Scene;

use crate::RenderError;
use crate::gpu::{Gpu, GpuOptions};
use crate::prepare::Prepared;
use crate::renderer::{Picture, Renderer, wanted_images, with_setting};
use crate::upload::texture::Textures;

/// With fewer pictures, drawing ends before a second device is ready.
const LEAST_PICTURES: usize = 20;
/// Larger pictures use one device: two sets of render targets take too much memory, and triangles take little of the time.
const MOST_PIXELS: u64 = 1920 * 1080;
/// If the first device has allocated more bytes, no second one is opened.
const MOST_BYTES: u64 = 512 << 20;

/// The data needed to draw a still scene on a second device.
pub(crate) struct Helper {
    adapter: String,
    picture: Picture,
    light: Arc<Prepared>,
}

impl Helper {
    /// Opens a second device of the same adapter.
    pub(crate) fn open(&self) -> Option<Gpu> {
        Gpu::open(&GpuOptions { adapter: Some(self.adapter.clone()) }).ok()
    }

    /// Creates the renderer on the second device.
    /// Errors: the device fails.
    pub(crate) fn renderer<'g>(self, gpu: &'g Gpu, scene: &Scene) -> Result<Renderer<'g>, RenderError> {
        with_setting(gpu, scene, self.picture, |setting| {
            let textures = Textures::upload(gpu, &scene.model, wanted_images(scene, setting.posed));
            Renderer::assemble(gpu, self.picture, setting, (self.light, None), textures)
        })
    }
}

impl Renderer<'_> {
    /// Returns what is needed to draw the scene on a second device too, if that shortens the time for `pictures`
    /// pictures: a software driver processes the triangles of a device on one core.
    pub(crate) fn helper(&self, pictures: usize) -> Option<Helper> {
        let size = u64::from(self.picture.width) * u64::from(self.picture.height);
        let helps = self.gpu.is_software()
            && pictures >= LEAST_PICTURES
            && size <= MOST_PIXELS
            && self.profile.is_none()
            && self.pose_light.is_none()
            && !self.stage.moves()
            && self.gpu.allocated_bytes().is_some_and(|bytes| bytes <= MOST_BYTES)
            && std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
        helps.then(|| Helper {
            adapter: self.gpu.report().name.clone(),
            picture: self.picture,
            light: Arc::clone(&self.light),
        })
    }
}
