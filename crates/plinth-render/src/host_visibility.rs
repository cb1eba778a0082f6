//! Determines on the processor which surfaces are visible, and uploads the result.
//!
//! Software drivers run on the same processor, but draw small multisampled triangles several times slower than the crate
//! `plinth-raster` (see `docs/decisions/0087-visibility-on-the-processor.md`). The maps are those that the passes
//! `pass/visibility.wgsl` and `pass/classify.wgsl` write on other adapters.

use std::ops::Range;

use glam::{Mat4, Vec3};
use plinth_frame::Region;
use plinth_raster::{RasterView, Rasterizer, SurfaceMaps, TriangleRun};

use crate::gpu::Gpu;
use crate::gpu_scene::GpuScene;
use crate::gpu_types;
use crate::pass::depth_target;
use crate::pass::edge_tiles::{EdgeTiles, TILE_SIDE};
use crate::pass::seen_tiles::SeenTiles;
use crate::pass::visibility::SURFACES;
use crate::recorder::Recorder;
use crate::targets::{TargetDescriptor, Targets};
use crate::view::View;

/// Returns the transform that scales the model by `factor` around `origin`.
fn grow_transform(origin: Vec3, factor: f32) -> Mat4 {
    Mat4::from_translation(origin) * Mat4::from_scale(Vec3::splat(factor)) * Mat4::from_translation(-origin)
}

/// The visible surfaces of a view, as determined on the processor.
#[derive(Default)]
pub(crate) struct HostVisibility {
    rasterizer: Rasterizer,
    visible: VisibleTriangles,
    /// The tiles in which each batch is visible. `None` if there are too many batches in a tile.
    pub(crate) seen: Option<SeenTiles>,
}

/// The opaque triangles that are visible in the part of the picture over which other surfaces are drawn.
#[derive(Default)]
struct VisibleTriangles {
    /// Three vertex indices of its pool per triangle.
    indices: Option<wgpu::Buffer>,
    /// For each pool with such triangles: its index, and its range of `indices`.
    of_pools: Vec<(usize, Range<u32>)>,
}

impl HostVisibility {
    /// Determines the surfaces of a frame, and uploads them to the maps of opaque surfaces. `transparent` is the part of
    /// the canvas over which other surfaces are drawn.
    pub(crate) fn update(
        &mut self,
        gpu: &Gpu,
        (frame, transparent): (&gpu_types::Frame, Option<Region>),
        (look, targets, tiles): (&TargetDescriptor, &Targets, &EdgeTiles),
        gpu_scene: &GpuScene,
    ) {
        let (canvas, [x, y]) = (look.canvas(), look.origin());
        let region = Region { x, y, ..look.model_region };
        let grow = grow_transform(frame.grow_origin, frame.grow);
        let raster_view = RasterView {
            clip_from_world: Mat4::from_cols_array_2d(&frame.clip_from_world) * grow,
            canvas: [canvas.width, canvas.height],
            region,
            distance_numerator: frame.distance_numerator,
            depth_range: frame.depth_range,
            pixel_size: frame.pixel_size,
            camera_axis: frame.camera_axis,
        };
        let runs: Vec<_> = gpu_scene.solid().filter_map(|batch| run(gpu_scene, batch)).collect();
        // Glass also reads the depth of what is beside it.
        let wanted = if look.scene_behind.is_some() { transparent.map(|_part| region) } else { transparent };
        let maps = self.rasterizer.draw(&raster_view, &runs, &gpu_scene.triangles.copy, wanted);
        upload(gpu, (targets, tiles), [canvas.width, canvas.height], region, maps);
        self.visible.update(gpu, gpu_scene, &maps.visible);
        let row_tiles = canvas.width.div_ceil(TILE_SIDE);
        self.seen = SeenTiles::new(&maps.tile_batches, row_tiles, gpu_scene.batches.len());
    }

    /// Writes the depth of the visible triangles over which other surfaces will be drawn.
    pub(crate) fn draw_depth(&self, recorder: &mut Recorder<'_>, view: &View, gpu_scene: &GpuScene) {
        let Some(pipeline) = &gpu_scene.pipelines.visible_depth else { return };
        let depth = depth_target(&view.targets.depth, Some(1.0), true);
        let mut pass = recorder.pass("visible depth", &view.frame_group, &[], Some(depth));
        let Some(indices) = &self.visible.indices else { return };
        pass.set_pipeline(pipeline);
        pass.set_index_buffer(indices.slice(..), wgpu::IndexFormat::Uint32);
        for (pool, range) in &self.visible.of_pools {
            pass.set_vertex_buffer(0, gpu_scene.pools[*pool].pose.slice(..));
            pass.draw_indexed(range.clone(), 0, 0..1);
        }
    }
}

/// Returns the triangles of a batch.
fn run(gpu_scene: &GpuScene, batch: usize) -> Option<TriangleRun<'_>> {
    let (pool, indices) = (gpu_scene.pool(batch), &gpu_scene.batches[batch].indices);
    let host = pool.host.as_ref()?;
    Some(TriangleRun {
        positions: &host.positions,
        corners: &host.corners[indices.start as usize..indices.end as usize],
        first_number: pool.first_triangle + indices.start / 3,
        double_sided: gpu_scene.material(batch).key.double_sided,
    })
}

/// Uploads the maps. Of the surfaces, only `region` changes. Maps that are depth can only be written as a whole.
fn upload(
    gpu: &Gpu,
    (targets, tiles): (&Targets, &EdgeTiles),
    [width, height]: [u32; 2],
    region: Region,
    maps: &SurfaceMaps,
) {
    let whole = Region::whole(width, height);
    for k in 0..SURFACES {
        gpu.write_texture(&targets.surfaces[k], region, width, &maps.surfaces[k]);
        gpu.write_texture(&targets.batches[k], whole, width, &maps.batches[k]);
    }
    tiles.replace(gpu, &maps.edge_tiles);
}

impl VisibleTriangles {
    /// Uploads the corners of triangles. `numbers` are sorted.
    fn update(&mut self, gpu: &Gpu, gpu_scene: &GpuScene, numbers: &[u32]) {
        self.of_pools.clear();
        let mut indices: Vec<u32> = Vec::with_capacity(numbers.len() * 3);
        for (i, pool) in gpu_scene.pools.iter().enumerate() {
            let Some(host) = &pool.host else { continue };
            let (triangles, _) = host.corners.as_chunks::<3>();
            let end = pool.first_triangle + triangles.len() as u32;
            let own = numbers.partition_point(|n| *n < pool.first_triangle)..numbers.partition_point(|n| *n < end);
            let first = indices.len() as u32;
            indices.extend(numbers[own].iter().flat_map(|n| triangles[(n - pool.first_triangle) as usize]));
            if indices.len() as u32 > first {
                self.of_pools.push((i, first..indices.len() as u32));
            }
        }
        let bytes: &[u8] = bytemuck::cast_slice(&indices);
        let has_room = |buffer: &wgpu::Buffer| buffer.size() >= bytes.len() as u64;
        if bytes.is_empty() {
            return;
        }
        if !self.indices.as_ref().is_some_and(has_room) {
            self.indices = Some(gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("visible triangles"),
                size: (bytes.len() as u64).next_power_of_two(),
                usage: wgpu::BufferUsages::INDEX | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            }));
        }
        if let Some(buffer) = &self.indices {
            gpu.write(buffer, 0, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use plinth_frame::PixelFormat;
    use plinth_model::{AlphaMode, Topology};
    use plinth_scene::Scene;

    use super::*;
    use crate::gpu::GpuOptions;
    use crate::renderer::{Picture, Renderer};
    use crate::triangle_scene::triangle_scene;

    /// Changes a scene and its model.
    type Change = fn(&mut Scene);

    #[test]
    fn only_models_that_the_processor_can_draw_are_drawn_by_it() {
        let [gpu, mut device] = [(); 2].map(|()| Gpu::open(&GpuOptions::default()).unwrap());
        device.keep_visibility_on_device();
        let cases: [(&str, bool, Change); 5] = [
            ("triangle", true, |_scene| ()),
            ("blended", true, |scene| {
                let material = &mut model(scene).materials[0];
                (material.alpha_mode, material.base_color[3]) = (AlphaMode::Blend, 0.5);
            }),
            ("alpha-tested", false, |scene| model(scene).materials[0].alpha_mode = AlphaMode::Mask { cutoff: 0.5 }),
            ("points", false, |scene| model(scene).meshes[0].primitives[0].topology = Topology::Points),
            ("from inside", true, |scene| {
                let inside = Vec3::splat(0.1);
                scene.shots[0].camera.position = inside;
                scene.shots[0].camera.view_from_world = Mat4::from_translation(-inside);
            }),
        ];
        for (name, can_be, change) in cases {
            let mut scene = triangle_scene();
            change(&mut scene);
            let picture = Picture { width: 64, height: 64, format: PixelFormat::Rgba8 };
            let expected = can_be && gpu.is_software();
            let draft = Renderer::for_any_camera(&gpu, &scene, picture, None).unwrap();
            assert_eq!(draft.view.look.on_host, expected, "draft, {name}");
            let on_device = Renderer::new(&device, &scene, picture, None).unwrap();
            assert!(!on_device.view.look.on_host, "on the device, {name}");
            let renderer = Renderer::new(&gpu, &scene, picture, None).unwrap();
            assert_eq!(renderer.view.look.on_host, expected, "{name}");
            assert_eq!(renderer.view.host_visibility.is_some(), expected, "{name}");
            assert!(
                renderer.gpu_scene.pipelines.visibility.iter().all(Option::is_none) == expected || name == "blended"
            );
        }
    }

    fn model(scene: &mut Scene) -> &mut plinth_model::Model {
        std::sync::Arc::get_mut(&mut scene.model).unwrap()
    }
}
