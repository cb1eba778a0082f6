//! Shadows that are kept on the device between scenes. Many settings, for example the background and the effects, do
//! not change the shadows of a model.

use std::sync::{Arc, Mutex, PoisonError};

use glam::{Mat4, Vec3};
use plinth_scene::Shot;

use crate::gpu::Gpu;
use crate::pass::floor::FloorArea;
use crate::recorder::Recorder;
use crate::upload::material::{AlphaTest, AlphaTestInputs, MaterialOnGpu};
use crate::upload::pool::Model;

/// Maximum number of shadows per geometry. A picture needs at most three: the shadow maps of the key light and the sun, and
/// an accumulated shadow.
const MAX_SHADOWS: usize = 4;

/// The shadows that were last drawn of a geometry, most recent first. Copies of `self` share one list.
#[derive(Clone, Default)]
pub(crate) struct KeptShadows(Option<Arc<Mutex<Vec<KeptShadow>>>>);

struct KeptShadow {
    key: ShadowKey,
    texture: wgpu::Texture,
}

/// Everything that affects a shadow of a geometry.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ShadowKey {
    /// For each batch that casts shadows, its index and what its alpha test reads.
    casters: Vec<(usize, Option<AlphaTestInputs>)>,
    /// Scale of the model, and the point that the scale does not move.
    grow: (f32, Vec3),
    /// The projections from points of the light.
    clip_from_world: Vec<Mat4>,
    /// The part of the floor on which the shadow falls. `None` for shadow maps.
    floor: Option<FloorArea>,
}

impl KeptShadows {
    /// Starts with an empty list. [`Self::default`] keeps nothing.
    pub(crate) fn empty() -> Self {
        Self(Some(Arc::default()))
    }

    /// Returns whether a copy of a shadow exists.
    pub(crate) fn contains(&self, key: Option<&ShadowKey>, size: wgpu::Extent3d) -> bool {
        let has =
            |list: &Vec<KeptShadow>| list.iter().any(|kept| Some(&kept.key) == key && kept.texture.size() == size);
        self.0.as_ref().is_some_and(|list| has(&list.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Draws a shadow to `target` with `draw`, and keeps a copy. If a copy with the same key and size exists, `target`
    /// is filled with the copy instead. Without a key, the shadow is always drawn.
    pub(crate) fn copy_or_draw(
        &self,
        gpu: &Gpu,
        recorder: &mut Recorder<'_>,
        (key, target): (Option<ShadowKey>, &wgpu::Texture),
        draw: impl FnOnce(&mut Recorder<'_>),
    ) {
        let (Some(list), Some(key)) = (&self.0, key) else { return draw(recorder) };
        let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |kept: &KeptShadow| kept.key == key && kept.texture.size() == target.size();
        if let Some(place) = list.iter().position(fits) {
            list[..=place].rotate_right(1);
            return copy(recorder, &list[0].texture, target);
        }
        draw(recorder);
        let texture = gpu.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("kept shadow"),
            size: target.size(),
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: target.format(),
            usage: COPIED,
            view_formats: &[],
        });
        copy(recorder, target, &texture);
        list.insert(0, KeptShadow { key, texture });
        list.truncate(MAX_SHADOWS);
    }
}

impl ShadowKey {
    /// Returns the key of a shadow that `model` casts in `shot`. Returns `None` if something else affects the shadow:
    /// the clip time, or the size of the picture, on which the size of points and lines depends.
    pub(crate) fn new(
        (model, materials): (Model<'_>, &[MaterialOnGpu]),
        shot: &Shot,
        clip_from_world: Vec<Mat4>,
        floor: Option<FloorArea>,
    ) -> Option<Self> {
        if model.pools.iter().any(|pool| pool.moving) || model.batches.iter().any(|batch| batch.sprites.is_some()) {
            return None;
        }
        let with_material = model.batches.iter().map(|batch| &materials[batch.material]).enumerate();
        let casters = with_material.filter(|(_batch, material)| !material.shadowless);
        let inputs = |test: &AlphaTest| test.inputs.clone();
        let casters = casters.map(|(batch, material)| (batch, material.alpha_test.as_ref().map(inputs))).collect();
        Some(Self { casters, grow: (shot.grow, shot.grow_origin), clip_from_world, floor })
    }
}

/// The usages that textures of shadows need in addition to those of drawing.
pub(crate) const COPIED: wgpu::TextureUsages = wgpu::TextureUsages::COPY_SRC.union(wgpu::TextureUsages::COPY_DST);

fn copy(recorder: &mut Recorder<'_>, from: &wgpu::Texture, to: &wgpu::Texture) {
    recorder.encoder.copy_texture_to_texture(from.as_image_copy(), to.as_image_copy(), from.size());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::GpuOptions;

    fn texture(gpu: &Gpu, side: u32) -> wgpu::Texture {
        crate::pass::shadow_map::depth_texture(gpu, side).texture().clone()
    }

    #[test]
    fn a_shadow_is_drawn_again_only_if_its_key_or_size_changes() {
        let gpu = Gpu::open(&GpuOptions::default()).unwrap();
        let key = ShadowKey { casters: vec![(0, None)], grow: (1.0, Vec3::ZERO), clip_from_world: vec![], floor: None };
        let grown = ShadowKey { grow: (0.5, Vec3::ZERO), ..key.clone() };
        let shadowless = ShadowKey { casters: vec![], ..key.clone() };
        let elsewhere = ShadowKey { clip_from_world: vec![Mat4::IDENTITY], ..key.clone() };
        let kept = KeptShadows::empty();
        let is_drawn = |kept: &KeptShadows, key: Option<&ShadowKey>, side: u32| {
            let mut drawn = false;
            let mut recorder = Recorder::new(&gpu, None);
            kept.copy_or_draw(&gpu, &mut recorder, (key.cloned(), &texture(&gpu, side)), |_recorder| drawn = true);
            gpu.queue.submit([recorder.finish().finish()]);
            gpu.check().unwrap();
            drawn
        };
        assert!(is_drawn(&kept, Some(&key), 8) && !is_drawn(&kept, Some(&key), 8));
        assert!(is_drawn(&kept, Some(&key), 16) && !is_drawn(&kept, Some(&key), 16));
        assert!([&grown, &shadowless].into_iter().all(|other| is_drawn(&kept, Some(other), 8)));
        assert!(!is_drawn(&kept, Some(&key), 8), "four shadows are kept");
        // Five shadows are too many, so the one that was not used for the longest time is drawn again.
        assert!(is_drawn(&kept, Some(&elsewhere), 8) && !is_drawn(&kept, Some(&key), 8));
        assert!(is_drawn(&kept, Some(&key), 16));
        let contains = |key, side| kept.contains(key, texture(&gpu, side).size());
        assert!(contains(Some(&key), 16) && !contains(Some(&key), 32) && !contains(None, 16));
        assert!(is_drawn(&kept, None, 8) && is_drawn(&KeptShadows::default(), Some(&key), 8));
    }
}
