//! Batches that are kept on the device between scenes.

use std::sync::{Arc, PoisonError};

use plinth_scene::Scene;

use crate::RenderError;
use crate::gpu::Gpu;
use crate::prepare::Prepared;
use crate::upload::batch::Batch;
use crate::upload::geometry::{self, Geometry, PosedModel};
use crate::upload::kept_shadows::KeptShadows;
use crate::upload::sprites::SpriteInputs;
use crate::used_materials::MaterialUses;

/// Maximum number of entries: one for drafts, and one for the full picture, which can have smaller triangles.
const MAX_ENTRIES: usize = 2;

/// Geometry of the scenes that were drawn last, most recent first.
#[derive(Default)]
pub(crate) struct GeometryCache(Vec<KeptGeometry>);

struct KeptGeometry {
    light: Arc<Prepared>,
    uses: MaterialUses,
    geometry: Geometry,
}

impl GeometryCache {
    /// Removes and returns the geometry that has the triangles of `light`, in main memory if `in_main_memory` is true.
    /// The lists of triangles are compared by address, because light of the same surfaces shares one list.
    fn take(&mut self, light: &Prepared, uses: &MaterialUses, in_main_memory: bool) -> Option<KeptGeometry> {
        let fits = |kept: &KeptGeometry| {
            Arc::ptr_eq(&kept.light.model.indices, &light.model.indices)
                && kept.uses == *uses
                && (kept.geometry.in_main_memory || !in_main_memory)
        };
        let at = self.0.iter().position(fits)?;
        Some(self.0.remove(at))
    }

    fn keep(&mut self, entry: KeptGeometry) {
        self.0.insert(0, entry);
        self.0.truncate(MAX_ENTRIES);
    }
}

/// Returns the batches of a scene from the device's cache, or builds them. If cached batches have other light, their
/// light is replaced. Models that move are not cached, and neither are models with points or lines, whose size depends
/// on the size of the picture.
/// Errors: those of [`geometry::build`].
pub(crate) fn geometry(
    gpu: &Gpu,
    light_layout: &wgpu::BindGroupLayout,
    scene: &Scene,
    all: &PosedModel<'_>,
    light: &Arc<Prepared>,
    uses: &MaterialUses,
    inputs: &SpriteInputs<'_>,
) -> Result<Geometry, RenderError> {
    let baked = &light.model.light.baked;
    let build = || geometry::build(gpu, light_layout, scene, all, baked, uses, inputs);
    let Some(device_cache) = gpu.device.cache().filter(|_cache| !all.moving.contains(&true)) else { return build() };
    let mut cache = device_cache.geometry.lock().unwrap_or_else(PoisonError::into_inner);
    let in_main_memory = geometry::wants_main_memory(gpu, scene, all, uses);
    let geometry = match cache.take(light, uses, in_main_memory) {
        Some(kept) if Arc::ptr_eq(&kept.light, light) => kept.geometry,
        Some(KeptGeometry { geometry, .. }) => {
            let relit = geometry.pools.iter().map(|pool| pool.with_light(gpu, light_layout, baked));
            Geometry { pools: relit.collect::<Result<_, _>>()?, ..geometry }
        }
        None => Geometry { kept_shadows: KeptShadows::empty(), ..build()? },
    };
    if geometry.batches.iter().all(|batch: &Batch| batch.sprites.is_none()) {
        cache.keep(KeptGeometry { light: Arc::clone(light), uses: uses.clone(), geometry: geometry.clone() });
    }
    Ok(Geometry { in_main_memory, ..geometry })
}
