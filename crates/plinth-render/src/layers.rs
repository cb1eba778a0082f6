//! Colour, depth and normals of each view, aligned to the pixel.

use plinth_frame::{Layers, LayersSink, PixelFormat, Region};
use plinth_scene::{Background, Scene};

use crate::RenderError;
use crate::delivery::straight_bytes;
use crate::pass::{cleared, depth_target};
use crate::pipelines::{DEPTH_FORMAT, GEOMETRY_FORMAT};
use crate::readback::Readback;
use crate::recorder::Recorder;
use crate::renderer::{Renderer, pipeline_base};
use crate::targets::texture;

/// Targets of the first surface of each pixel.
struct GeometryTargets {
    /// Normal and distance.
    surface: wgpu::Texture,
    view: wgpu::TextureView,
    depth: wgpu::TextureView,
}

impl Renderer<'_> {
    /// Draws every shot of the scene in order, with depth and normals. The scene's background has to be transparent and
    /// the picture's format `Rgba8`.
    /// Errors: a background that is not, a device that fails, or a sink that takes no more.
    pub fn render_layers(&mut self, scene: &Scene, sink: &mut dyn LayersSink) -> Result<(), RenderError> {
        if scene.background != Background::Transparent || self.picture.format != PixelFormat::Rgba8 {
            return Err(RenderError::LayersNeedTransparency);
        }
        let part = self.look.model_region;
        let usage = wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC;
        let surface = texture(self.gpu, part, 1, GEOMETRY_FORMAT, usage, 1);
        let depth = texture(self.gpu, part, 1, DEPTH_FORMAT, usage, 1);
        let targets = GeometryTargets {
            view: surface.create_view(&wgpu::TextureViewDescriptor::default()),
            surface,
            depth: depth.create_view(&wgpu::TextureViewDescriptor::default()),
        };
        let planes = [(self.look.region, self.color_bytes()), (part, 16)];
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
            ring.submit(self.gpu, recorder.finish(), &[&self.targets.finished, &targets.surface], i as u32);
            self.gpu.check()?;
        }
        while let Some((index, read)) = ring.take(self.gpu)? {
            self.deliver_layers(index, &read, sink)?;
        }
        Ok(())
    }

    fn encode_geometry(&mut self, recorder: &mut Recorder<'_>, targets: &GeometryTargets) -> Result<(), RenderError> {
        let depth = depth_target(&targets.depth, Some(1.0), false);
        let mut pass = recorder.pass("geometry", &self.frame_group, &[cleared(&targets.view)], Some(depth));
        let base = pipeline_base(self.gpu, &self.layouts, self.look, self.switches);
        for batch in self.batches.iter().filter(|batch| !self.materials[batch.material].overlay) {
            let material = &self.materials[batch.material];
            pass.set_pipeline(self.pipelines.geometry(&base, material)?);
            crate::frame_plan::draw(&mut pass, batch, material, 0);
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
        place(&mut layers.color, width, self.look.region, color.as_chunks::<4>().0);
        let surfaces: Vec<[f32; 4]> =
            read[1].as_chunks::<16>().0.iter().map(|bytes| bytemuck::pod_read_unaligned(bytes)).collect();
        let depth: Vec<f32> = surfaces.iter().map(|s| s[3]).collect();
        let normal: Vec<[f32; 3]> = surfaces.iter().map(|s| [s[0], s[1], s[2]]).collect();
        place(&mut layers.depth, width, self.look.model_region, &depth);
        place(&mut layers.normal, width, self.look.model_region, &normal);
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
