//! Colour, depth and normals of each view, aligned to the pixel.

use plinth_frame::{Layers, LayersSink, PixelFormat, Region};
use plinth_scene::{Background, Scene};

use crate::RenderError;
use crate::delivery::straight_bytes;
use crate::pass::geometry::GeometryTargets;
use crate::readback::Readback;
use crate::recorder::Recorder;
use crate::renderer::Renderer;

impl Renderer<'_> {
    /// Draws the shots of the scene that are `wanted`, by their place, in that order, with depth and normals. A shot gives
    /// the same layers whatever others are wanted. The scene's background has to be transparent and the picture's format
    /// `Rgba8`.
    /// Errors: a background that is not, a device that fails, or a sink that takes no more.
    pub fn render_layers(
        &mut self,
        scene: &Scene,
        wanted: &[u32],
        sink: &mut dyn LayersSink,
    ) -> Result<(), RenderError> {
        if scene.background != Background::Transparent || self.picture.format != PixelFormat::Rgba8 {
            return Err(RenderError::LayersNeedTransparency);
        }
        let part = self.view.look.model_region;
        let targets = GeometryTargets::new(self.gpu, part);
        let planes = [(self.view.look.region, self.color_bytes()), (part, 16)];
        let mut ring = Readback::new(self.gpu, &planes, self.frames_in_flight());
        let mut clip_time = None;
        let mut first = true;
        for shot in wanted.iter().filter_map(|index| scene.shots.get(*index as usize)) {
            if ring.is_full()
                && let Some((index, read)) = ring.take(self.gpu)?
            {
                self.deliver_layers(index, read, sink)?;
            }
            let pose_changed = first || clip_time != shot.clip_time;
            clip_time = shot.clip_time;
            let mut recorder = Recorder::new(self.gpu, None);
            self.encode(&mut recorder, scene, shot, first, pose_changed)?;
            self.encode_geometry(&mut recorder, &targets)?;
            ring.submit(self.gpu, recorder.finish(), &[&self.view.targets.finished, &targets.surface], shot.index);
            first = false;
            self.gpu.check()?;
        }
        while let Some((index, read)) = ring.take(self.gpu)? {
            self.deliver_layers(index, read, sink)?;
        }
        Ok(())
    }

    fn deliver_layers(&self, index: u32, mut read: Vec<Vec<u8>>, sink: &mut dyn LayersSink) -> Result<(), RenderError> {
        let (width, height) = (self.picture.width, self.picture.height);
        let count = width as usize * height as usize;
        let mut layers = Layers {
            index,
            width,
            height,
            color: vec![[0; 4]; count],
            depth: vec![0.0; count],
            normal: vec![[0.0; 3]; count],
        };
        let color = straight_bytes(std::mem::take(&mut read[0]));
        place(&mut layers.color, width, self.view.look.region, color.as_chunks::<4>().0, |pixel| *pixel);
        let surfaces = read[1].as_chunks::<16>().0;
        let surface = |bytes: &[u8; 16]| -> [f32; 4] { bytemuck::pod_read_unaligned(bytes) };
        place(&mut layers.depth, width, self.view.look.model_region, surfaces, |bytes| surface(bytes)[3]);
        place(&mut layers.normal, width, self.view.look.model_region, surfaces, |bytes| {
            let [x, y, z, _] = surface(bytes);
            [x, y, z]
        });
        sink.layers(layers).map_err(|source| RenderError::Sink { source })
    }
}

/// Reads the rows of a part into a whole picture.
fn place<T, S>(whole: &mut [T], width: u32, part: Region, values: &[S], read: impl Fn(&S) -> T) {
    for (y, row) in (part.y..).zip(values.chunks_exact(part.width as usize)) {
        let start = (y * width + part.x) as usize;
        for (to, from) in whole[start..start + row.len()].iter_mut().zip(row) {
            *to = read(from);
        }
    }
}
