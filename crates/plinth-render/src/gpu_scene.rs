//! Everything on the device that all views of a render share: the model and its shadow maps. If the model moves, this
//! data changes from frame to frame.

use glam::{Mat4, Vec3};
use plinth_frame::Region;
use plinth_scene::{Scene, Shot};

use crate::RenderError;
use crate::back_to_front::{SeenDecal, TransparentBatch, back_to_front};
use crate::device_sort::DeviceSort;
use crate::gpu::Gpu;
use crate::moving_model::MovingModel;
use crate::pass::shading::ShadingOrder;
use crate::pass::shadow_draws::ShadowDraws;
use crate::pass::shadow_map::ShadowMap;
use crate::pass::visibility::{joined, overlap, scissor};
use crate::pipelines::Pipelines;
use crate::pose_light::LightBetween;
use crate::region::widened;
use crate::targets::TargetDescriptor;
use crate::upload::batch::Batch;
use crate::upload::boxes::Bounds;
use crate::upload::kept_shadows::KeptShadows;
use crate::upload::material::{DrawClass, MaterialOnGpu};
use crate::upload::pool::{Model, Pool};
use crate::upload::triangles::TriangleWords;
use crate::view::View;

/// Maximum number of scene colour pyramids per frame.
const MAX_SCENE_COLOR_PYRAMIDS: usize = 8;

/// The model on the device, with its shadow maps.
pub(crate) struct GpuScene {
    pub(crate) materials: Vec<MaterialOnGpu>,
    pub(crate) pools: Vec<Pool>,
    pub(crate) batches: Vec<Batch>,
    /// The order in which the batches are shaded.
    pub(crate) shading: ShadingOrder,
    pub(crate) pipelines: Pipelines,
    pub(crate) key_map: ShadowMap,
    pub(crate) sun_map: ShadowMap,
    kept_shadows: KeptShadows,
    /// Maximum distance in pixels between a point or line and the outline with which it is drawn.
    pub(crate) sprite_reach: u32,
    /// One 32-bit word per triangle for the visibility buffer. When a batch moves, the words of its triangles are
    /// updated.
    pub(crate) triangles: TriangleWords,
    /// For each decal, the transmissive and blended batches of its surface; see
    /// [`crate::back_to_front::surfaces_of_decals`].
    surfaces_of_decals: Vec<Option<Vec<usize>>>,
    /// The indices of the batches, in the order in which they are drawn.
    order: Vec<usize>,
    /// Scale of the model in the current frame: the point that does not move, and the factor.
    grow: (Vec3, f32),
    moving: MovingModel,
    device_sort: Option<DeviceSort>,
}

impl GpuScene {
    pub(crate) fn new(
        (materials, pools, batches): (Vec<MaterialOnGpu>, Vec<Pool>, Vec<Batch>),
        surfaces_of_decals: Vec<Option<Vec<usize>>>,
        pipelines: Pipelines,
        (key_map, sun_map, kept_shadows): (ShadowMap, ShadowMap, KeptShadows),
        sprite_reach: u32,
        triangles: TriangleWords,
        (moving, device_sort): (MovingModel, Option<DeviceSort>),
    ) -> Self {
        let order = (0..batches.len()).collect();
        let grow = (Vec3::ZERO, 1.0);
        let shading = ShadingOrder::new(&batches, &materials);
        Self {
            materials,
            pools,
            batches,
            shading,
            pipelines,
            key_map,
            sun_map,
            kept_shadows,
            sprite_reach,
            triangles,
            surfaces_of_decals,
            order,
            grow,
            moving,
            device_sort,
        }
    }

    pub(crate) fn model(&self) -> Model<'_> {
        Model { pools: &self.pools, batches: &self.batches }
    }

    /// Returns the model with its materials.
    pub(crate) fn drawn(&self) -> (Model<'_>, &[MaterialOnGpu]) {
        (self.model(), &self.materials)
    }

    /// Returns the model that casts the shadows of a shot.
    pub(crate) fn shadow_draws<'a>(&'a self, gpu: &'a Gpu, shot: &'a Shot) -> ShadowDraws<'a> {
        let (pipelines, model, kept) = (&self.pipelines.shadows, self.drawn(), &self.kept_shadows);
        ShadowDraws { gpu, shot, pipelines, model, kept }
    }

    /// Returns whether any batch moves.
    pub(crate) fn moves(&self) -> bool {
        self.pools.iter().any(|pool| pool.moving)
    }

    /// Gives the model the pose at `clip_time`. The commands for the device are added to `encoder`.
    pub(crate) fn pose(
        &mut self,
        gpu: &Gpu,
        scene: &Scene,
        clip_time: Option<f32>,
        encoder: &mut wgpu::CommandEncoder,
    ) {
        let model = (&mut *self.pools, &mut *self.batches, &mut self.triangles);
        self.moving.pose(gpu, (scene, clip_time), model, encoder);
    }

    /// Replaces the baked light of all pools by `light`, that of the current pose. The commands for the device are added to
    /// `encoder`.
    /// Errors: if a buffer for the light would be larger than the adapter allows.
    pub(crate) fn relight(
        &mut self,
        gpu: &Gpu,
        layout: &wgpu::BindGroupLayout,
        light: &LightBetween<'_>,
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<(), RenderError> {
        self.moving.relight(gpu, (layout, &mut self.pools), light, encoder)
    }

    /// Prepares the model for a shot: sets the model's scale, and sorts the batches. The commands for the device are added to
    /// `encoder`.
    pub(crate) fn arrange(&mut self, gpu: &Gpu, shot: &Shot, encoder: &mut wgpu::CommandEncoder) {
        self.grow = (shot.grow_origin, shot.grow);
        self.order_batches(gpu, shot);
        if let Some(device_sort) = &self.device_sort {
            device_sort.record(gpu, forward(shot), encoder);
        }
    }

    /// Determines the order in which batches are drawn: first opaque batches by index, then transmissive and blended
    /// batches from back to front. The triangles of transmissive and blended batches are also sorted from back to
    /// front.
    fn order_batches(&mut self, gpu: &Gpu, shot: &Shot) {
        let forward = forward(shot);
        let (origin, factor) = self.grow;
        // The vertices are stored at the full size of the model, so the camera is moved instead.
        let camera = origin + (shot.camera.position - origin) / factor;
        let mut transparent = Vec::new();
        let mut order: Vec<usize> = Vec::new();
        for (index, batch) in self.batches.iter_mut().enumerate() {
            if batch.transparency.is_none() {
                order.push(index);
                continue;
            }
            if self.device_sort.is_none() {
                batch.sort(gpu, &self.pools[batch.pool], forward);
            }
            let decal = self.surfaces_of_decals[index]
                .as_deref()
                .map(|surface| SeenDecal { surface, faces_camera: surface.is_empty() || batch.faces(camera) });
            transparent.push(TransparentBatch { index, depth: batch.mean_depth(forward), bounds: batch.bounds, decal });
        }
        order.extend(back_to_front(transparent));
        self.order = order;
    }

    /// Applies the scale of the current frame to a box.
    fn grown(&self, (min, max): Bounds) -> Bounds {
        let (origin, factor) = self.grow;
        (origin + (min - origin) * factor, origin + (max - origin) * factor)
    }

    pub(crate) fn material(&self, batch: usize) -> &MaterialOnGpu {
        &self.materials[self.batches[batch].material]
    }

    /// Returns the indices of the opaque batches, in the order in which they are drawn.
    pub(crate) fn solid(&self) -> impl Iterator<Item = usize> {
        self.order.iter().copied().filter(|i| !self.material(*i).key.class.is_transparent())
    }

    /// Returns the region of a picture's canvas in which a batch can be visible.
    pub(crate) fn part_of(&self, look: &TargetDescriptor, clip_from_world: &Mat4, batch: usize) -> Option<Region> {
        let batch = &self.batches[batch];
        let reach = if batch.sprites.is_some() { self.sprite_reach } else { 0 };
        self.region_of(look, clip_from_world, batch.bounds, reach)
    }

    /// Returns the region of a picture's canvas in which a bounding box can be visible, for each of the boxes in
    /// `Batch::boxes`. Boxes outside of the picture have no region.
    pub(crate) fn box_regions<'a>(
        &'a self,
        look: &'a TargetDescriptor,
        clip_from_world: &'a Mat4,
        batch: usize,
    ) -> impl Iterator<Item = Region> {
        let boxes = self.batches[batch].boxes.iter();
        boxes.filter_map(|bounds| self.region_of(look, clip_from_world, *bounds, 0))
    }

    fn region_of(&self, look: &TargetDescriptor, clip_from_world: &Mat4, bounds: Bounds, reach: u32) -> Option<Region> {
        let (width, height) = (look.model_region.width, look.model_region.height);
        let part = widened(scissor(clip_from_world, self.grown(bounds), width, height)?, reach, width, height);
        let [x, y] = look.origin();
        Some(Region { x: part.x + x, y: part.y + y, ..part })
    }

    pub(crate) fn pool(&self, batch: usize) -> &Pool {
        &self.pools[self.batches[batch].pool]
    }

    /// Returns the part of a view's model region that transmissive and blended batches can cover.
    pub(crate) fn transparent_part(&self, view: &View) -> Option<Region> {
        let size = view.look.model_region;
        let transparent = |batch: &&Batch| self.materials[batch.material].key.class.is_transparent();
        self.batches
            .iter()
            .filter(transparent)
            .filter_map(|batch| scissor(&view.clip_from_world, self.grown(batch.bounds), size.width, size.height))
            .reduce(joined)
    }

    /// Divides transmissive and blended batches into groups. All batches of a group use the same scene colour pyramid.
    /// If glass bodies overlap in the picture, the pyramid of the nearer body must contain the farther body, so the
    /// bodies need different groups.
    pub(crate) fn transparent_groups(&self, view: &View) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = vec![Vec::new()];
        let class = |i: usize| self.material(i).key.class;
        let transparent: Vec<usize> = self.order.iter().copied().filter(|i| class(*i).is_transparent()).collect();
        let glass = transparent.iter().filter(|i| class(**i) == DrawClass::Transmissive).count();
        let mut seen = 0;
        for i in transparent {
            if class(i) == DrawClass::Transmissive {
                seen += 1;
                let overlaps = |j: &usize| match (view.parts[i], view.parts[*j]) {
                    (Some(own), Some(other)) => overlap(own, other),
                    _ => false,
                };
                // If there would be too many groups, the farthest bodies share one pyramid.
                if glass - seen < MAX_SCENE_COLOR_PYRAMIDS
                    && groups.last().is_some_and(|group| group.iter().any(overlaps))
                {
                    groups.push(Vec::new());
                }
            }
            if let Some(group) = groups.last_mut() {
                group.push(i);
            }
        }
        groups
    }
}

/// Returns the axis of a shot's camera in world space.
fn forward(shot: &Shot) -> Vec3 {
    -shot.camera.view_from_world.row(2).truncate()
}
