//! Draws the frames of a video or a still.

use plinth_frame::{Backdrop, Frame, FrameSink, PixelFormat, Region};
use plinth_scene::{Scene, Shot};

use crate::RenderError;
use crate::delivery::{Delivery, PictureReuse, straight_bytes, words_from_halves};
use crate::draw_in_order::{self, PictureKind};
use crate::readback::PlaneView;
use crate::recorder::Recorder;
use crate::renderer::Renderer;

impl Renderer<'_> {
    /// Draws all shots of the scene in order. If consecutive frames are equal, their picture is drawn once and
    /// delivered several times.
    /// Errors: if the device fails, or the sink accepts no more frames.
    pub fn render(&mut self, scene: &Scene, sink: &mut dyn FrameSink) -> Result<(), RenderError> {
        let plan = PictureReuse::of(&scene.shots);
        let drawn = scene.shots.iter().enumerate().filter(|(i, _)| plan.source[*i] == *i);
        let shots: Vec<&Shot> = drawn.map(|(_, shot)| shot).collect();
        let mut sources = (0..scene.shots.len()).filter(|i| plan.source[*i] == *i);
        let mut delivery = Delivery::new(&plan);
        draw_in_order::draw(self, scene, &shots, &Frames, &mut |frame| {
            let index = sources.next().unwrap_or_default() as u32;
            delivery.deliver(Frame { index, ..frame }, sink).map(Some)
        })
    }

    /// Draws one shot of the scene as a single frame with the index 0. The pixels are the same as in a video of all
    /// shots.
    /// Errors: those of [`Self::render`].
    pub fn render_one(&mut self, scene: &Scene, shot: &Shot, sink: &mut dyn FrameSink) -> Result<(), RenderError> {
        self.pose(scene, shot.clip_time)?;
        let shot = Shot { index: 0, ..shot.clone() };
        let plan = PictureReuse::of(std::slice::from_ref(&shot));
        let mut delivery = Delivery::new(&plan);
        draw_in_order::draw(self, scene, &[&shot], &Frames, &mut |frame| delivery.deliver(frame, sink).map(Some))
    }

    fn frame(&self, index: u32, planes: &[PlaneView<'_>], spare: Option<Frame>) -> Frame {
        let spare = spare.map(|frame| frame.pixels).unwrap_or_default();
        let pixels = planes.first().map(|plane| plane.packed(spare)).unwrap_or_default();
        let transparent = self.backdrop == Backdrop::Transparent;
        let pixels = match self.picture.format {
            PixelFormat::Rgba8 if transparent => straight_bytes(pixels),
            PixelFormat::Rgba8 => pixels,
            PixelFormat::Rgba16 => words_from_halves(pixels, transparent),
        };
        Frame {
            index,
            width: self.picture.width,
            height: self.picture.height,
            region: self.view.look.region,
            backdrop: self.backdrop.clone(),
            format: self.picture.format,
            pixels,
        }
    }
}

/// The [`PictureKind`] of finished frames.
struct Frames;

impl PictureKind for Frames {
    type Picture = Frame;
    type Targets = ();

    fn targets(&self, _renderer: &Renderer<'_>) -> Result<(), RenderError> {
        Ok(())
    }

    fn planes(&self, renderer: &Renderer<'_>, (): &()) -> Vec<(wgpu::Texture, Region, u32)> {
        vec![(renderer.view.targets.finished.clone(), renderer.view.look.region, renderer.color_bytes())]
    }

    fn record(&self, _renderer: &Renderer<'_>, (): &(), _recorder: &mut Recorder<'_>) {}

    fn read(&self, renderer: &Renderer<'_>, shot: &Shot, planes: &[PlaneView<'_>], spare: Option<Frame>) -> Frame {
        renderer.frame(shot.index, planes, spare)
    }
}
