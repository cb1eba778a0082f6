//! Computations on the CPU before anything is drawn: simplification of triangles, and light that does not change during
//! a video. The results depend only on the model, its first pose, the lights and the cameras, so a [`Cache`] can store
//! them.

mod at_vertex;
pub(crate) mod distance_field;
mod fits;
mod inputs;
mod key;
mod light;
mod simplify;
mod stored;

use plinth_bake::{BakedMesh, Sun};
use plinth_scene::{PosedPrimitive, Scene};

use crate::cache::Cache;
use crate::ibl::OctahedralMap;
use crate::pass::floor::FloorArea;
use distance_field::DistanceField;
pub(crate) use key::LightNames;
pub(crate) use light::Sky;

pub(crate) use simplify::smallest_shown;

/// Inputs of the computations.
#[derive(Clone, Copy)]
pub(crate) struct Setting<'a> {
    pub(crate) scene: &'a Scene,
    /// The model in its first pose.
    pub(crate) posed: &'a [PosedPrimitive],
    /// For each posed primitive, whether it moves in this video.
    pub(crate) moving: &'a [bool],
    /// The part of the floor that receives light.
    pub(crate) floor: Option<FloorArea>,
    /// Size in world units of details that may be dropped, see [`smallest_shown`].
    pub(crate) smallest: Option<f32>,
}

/// Results of all computations.
pub(crate) struct Prepared {
    pub(crate) environment: EnvironmentLight,
    pub(crate) model: ModelLight,
}

/// Light of the environment.
pub(crate) struct EnvironmentLight {
    pub(crate) sun: Option<Sun>,
    /// Radiance; each mip is filtered for a roughness.
    pub(crate) specular: OctahedralMap,
    pub(crate) irradiance: OctahedralMap,
}

/// The triangles that are drawn, and the light on them.
pub(crate) struct ModelLight {
    /// For each posed primitive the indices with which it is drawn.
    pub(crate) indices: Vec<Vec<u32>>,
    pub(crate) light: SurfaceLight,
    /// Reflections of the model in polished surfaces.
    pub(crate) field: DistanceField,
}

/// The light on the model and on the floor in one pose.
#[derive(Default)]
pub(crate) struct SurfaceLight {
    /// One entry per posed primitive.
    pub(crate) baked: Vec<BakedMesh>,
    /// For each cell of the floor's grid, the fraction of the environment's light that arrives.
    pub(crate) floor_ambient: Vec<f32>,
}

/// Computed results that are not yet stored in the cache.
#[derive(Default)]
pub(crate) struct Fresh(Vec<(String, Vec<u8>)>);

impl Fresh {
    /// Stores all results. A failure is ignored: it only means that they are computed again.
    pub(crate) fn store(self, cache: &Cache) {
        for (name, content) in self.0 {
            drop(cache.store(&name, &content));
        }
    }
}

/// Loads results from the cache and computes the others.
pub(crate) fn prepare(setting: &Setting<'_>, cache: Option<&Cache>) -> (Prepared, Fresh) {
    let Some(cache) = cache else { return (work_out(setting, None, None), Fresh::default()) };
    let LightNames { environment: of_environment, model: of_model, .. } = LightNames::of(cache, setting);
    let (environment, model) = rayon::join(
        || {
            cache
                .load(&of_environment)
                .and_then(|bytes| EnvironmentLight::from_bytes(&bytes))
                .filter(EnvironmentLight::is_sound)
        },
        || cache.load(&of_model).and_then(|bytes| ModelLight::from_bytes(&bytes)).filter(|light| light.fits(setting)),
    );
    let missing = [environment.is_none(), model.is_none()];
    let prepared = work_out(setting, environment, model);
    let mut fresh = Fresh::default();
    if missing[0] {
        fresh.0.push((of_environment, prepared.environment.to_bytes()));
    }
    if missing[1] {
        fresh.0.push((of_model, prepared.model.to_bytes()));
    }
    (prepared, fresh)
}

/// Loads or computes the light of a pose on triangles that were chosen for another pose.
pub(crate) fn light_of_pose(
    setting: &Setting<'_>,
    indices: &[Vec<u32>],
    sky: &Sky,
    cache: Option<&Cache>,
) -> SurfaceLight {
    let Some(cache) = cache else { return SurfaceLight::new(setting, indices, sky) };
    let name = key::pose_name(cache, setting, indices);
    let known = cache.load(&name).and_then(|bytes| SurfaceLight::from_bytes(&bytes));
    let known = known.filter(|light| light.fits(setting, indices));
    known.unwrap_or_else(|| {
        let light = SurfaceLight::new(setting, indices, sky);
        // A failure only means that it is computed again.
        drop(cache.store(&name, &light.to_bytes()));
        light
    })
}

fn work_out(setting: &Setting<'_>, environment: Option<EnvironmentLight>, model: Option<ModelLight>) -> Prepared {
    match (environment, model) {
        (Some(environment), Some(model)) => Prepared { environment, model },
        (environment, model) => {
            let sky = Sky::of(setting.scene);
            let (environment, model) = rayon::join(
                || environment.unwrap_or_else(|| EnvironmentLight::new(&sky)),
                || model.unwrap_or_else(|| ModelLight::new(setting, &sky)),
            );
            Prepared { environment, model }
        }
    }
}
