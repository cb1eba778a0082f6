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
    /// Draws every shot of the scene in order, with depth and normals. The scene's background has to be transparent and
    /// the picture's format `Rgba8`.
    /// Errors: a background that is not, a device that fails, or a sink that takes no more.
    pub fn render_layers(&mut self, scene: &Scene, sink: &mut dyn LayersSink) -> Result<(), RenderError> {
        if scene.background != Background::Transparent || self.picture.format != PixelFormat::Rgba8 {
            return Err(RenderError::LayersNeedTransparency);
        }
        let part = self.view.look.model_region;
        let targets = GeometryTargets::new(self.gpu, part);
        let planes = [(self.view.look.region, self.color_bytes()), (part, 16)];
        let mut ring = Readback::new(self.gpu, &planes, self.frames_in_flight());
        let mut clip_time = None;
        for (i, shot) in scene.shots.iter().enumerate() {
            if ring.is_full()
                && let Some((index, read)) = ring.take(self.gpu)?
            {
                self.deliver_layers(index, &read, sink)?;
            }
            let pose_changed = i == 0 || clip_time != shot.clip_time;
            clip_time = shot.clip_time;
            let mut recorder = Recorder::new(self.gpu, None);
            self.encode(&mut recorder, scene, shot, i == 0, pose_changed)?;
            self.encode_geometry(&mut recorder, &targets)?;
            ring.submit(self.gpu, recorder.finish(), &[&self.view.targets.finished, &targets.surface], i as u32);
            self.gpu.check()?;
        }
        while let Some((index, read)) = ring.take(self.gpu)? {
            self.deliver_layers(index, &read, sink)?;
        }
        Ok(())
    }

    fn deliver_layers(&self, index: u32, read: &[Vec<u8>], sink: &mut dyn LayersSink) -> Result<(), RenderError> {
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
        let color = straight_bytes(read[0].clone());
        place(&mut layers.color, width, self.view.look.region, color.as_chunks::<4>().0);
        let surfaces: Vec<[f32; 4]> =
            read[1].as_chunks::<16>().0.iter().map(|bytes| bytemuck::pod_read_unaligned(bytes)).collect();
        let depth: Vec<f32> = surfaces.iter().map(|s| s[3]).collect();
        let normal: Vec<[f32; 3]> = surfaces.iter().map(|s| [s[0], s[1], s[2]]).collect();
        place(&mut layers.depth, width, self.view.look.model_region, &depth);
        place(&mut layers.normal, width, self.view.look.model_region, &normal);
        sink.layers(&layers).map_err(|source| RenderError::Sink { source })
    }
}

/// Copies the rows of a part into a whole picture.
fn place<T: Copy>(whole: &mut [T], width: u32, part: Region, values: &[T]) {
    for (y, row) in (part.y..).zip(values.chunks_exact(part.width as usize)) {
        let start = (y * width + part.x) as usize;
        whole[start..start + row.len()].copy_from_slice(row);
    }
}
