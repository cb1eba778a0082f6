//! The backdrop of output files that have no alpha channel.

use std::sync::Arc;

use plinth_frame::{Backdrop, Frame, FrameSink, PixelFormat, SinkError};
use plinth_render::{Gpu, Picture, RenderError, Renderer, backdrop};
use plinth_scene::{Background, Scene};

/// Returns the backdrop of output files that have no alpha channel, with the given width and height in pixels. Frames
/// with alpha contain the post-processing effects only where the model is. Therefore the effects that depend only on
/// the colour and the position of a pixel are applied to the background here.
/// Errors: if the renderer cannot be created, or drawing fails.
pub(crate) fn opaque_backdrop(gpu: &Gpu, scene: &Scene, (width, height): (u32, u32)) -> Result<Backdrop, RenderError> {
    let background = scene.of_background_only();
    let Some(shot) = background.shots.first() else { return Ok(backdrop(&scene.opaque_background)) };
    if scene.background != Background::Transparent || !background.post.changes_colors() {
        return Ok(backdrop(&scene.opaque_background));
    }
    let mut renderer = Renderer::new(gpu, &background, Picture { width, height, format: PixelFormat::Rgba8 }, None)?;
    let mut drawn = Pixels(Vec::new());
    renderer.render_one(&background, shot, &mut drawn)?;
    Ok(Backdrop::Picture(Arc::new(drawn.0)))
}

/// A sink that keeps the pixels of the last frame. The frame must cover the whole picture.
struct Pixels(Vec<u8>);

impl FrameSink for Pixels {
    fn frame(&mut self, frame: &Frame) -> Result<(), SinkError> {
        self.0.clone_from(&frame.pixels);
        Ok(())
    }
}
