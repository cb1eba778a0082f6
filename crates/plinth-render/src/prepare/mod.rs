//! Computations on the CPU before anything is drawn. Triangles are simplified, and light that does not change during a
//! video is computed. The results depend only on the model, its first pose, which parts the clip moves or reshapes, the
//! lights and the cameras. Therefore a [`Cache`] can store the results.

mod at_vertex;
mod bake_input;
mod cache_key;
mod check_cached;
mod closest_point;
pub(crate) mod distance_field;
mod eyes;
mod light;
mod serialized;
mod simplify;

use std::sync::Arc;

use plinth_bake::{BakedMesh, MeshGeometry, Sun};
use plinth_scene::{PosedPrimitive, Scene};

use crate::cache::Cache;
use crate::ibl::OctahedralMap;
use crate::pass::floor::FloorArea;
pub(crate) use cache_key::LightCacheKeys;
use distance_field::DistanceField;
pub(crate) use light::Sky;

pub(crate) use at_vertex::is_polished;
pub(crate) use simplify::{drawn_indices, min_visible_size};

/// The inputs of the computations.
#[derive(Clone, Copy)]
pub(crate) struct PrepareInputs<'a> {
    pub(crate) scene: &'a Scene,
    /// The primitives of the model in the first pose.
    pub(crate) posed: &'a [PosedPrimitive],
    /// For each posed primitive, whether it moves during this video.
    pub(crate) moving: &'a [bool],
    /// The part of the floor that receives light.
    pub(crate) floor: Option<FloorArea>,
    /// Size of details in world units that may be removed; see [`min_visible_size`]. `None` if all details are kept.
    pub(crate) smallest: Option<f32>,
    /// Whether frames will also be drawn from cameras that are not in `scene`.
    pub(crate) any_camera: bool,
}

/// The results of all computations.
pub(crate) struct Prepared {
    pub(crate) environment: EnvironmentLight,
    pub(crate) model: ModelLight,
}

/// The environment's light, filtered for shading.
pub(crate) struct EnvironmentLight {
    pub(crate) sun: Option<Sun>,
    /// Radiance of the environment. Each mip level is filtered for one roughness.
    pub(crate) specular: OctahedralMap,
    pub(crate) irradiance: OctahedralMap,
}

/// For each posed primitive, the indices with which it is drawn.
pub(crate) type DrawnIndices = Arc<Vec<Vec<u32>>>;

/// Triangles that were selected for another scene with the same surfaces, and can be drawn without a new selection.
#[derive(Clone)]
pub(crate) struct KnownTriangles {
    pub(crate) indices: DrawnIndices,
    /// The geometry of the triangles, if it is still in memory.
    pub(crate) geometry: Option<Arc<MeshGeometry>>,
}

impl KnownTriangles {
    /// Selects the triangles to draw.
    fn choose(inputs: &PrepareInputs<'_>) -> Self {
        Self { indices: Arc::new(drawn_indices(inputs.scene, inputs.posed, inputs.smallest)), geometry: None }
    }
}

/// The triangles that are drawn, and the light on them.
pub(crate) struct ModelLight {
    pub(crate) indices: DrawnIndices,
    /// The geometry of the triangles. It is kept in memory only for
    /// [`LightDetail::Interactive`](plinth_scene::LightDetail), because the next picture probably shows the same triangles
    /// in other light.
    pub(crate) geometry: Option<Arc<MeshGeometry>>,
    pub(crate) light: SurfaceLight,
    /// Distance field for reflections of the model in its own polished surfaces.
    pub(crate) field: DistanceField,
}

/// The light on the model and on the floor in one pose.
#[derive(Default)]
pub(crate) struct SurfaceLight {
    /// Light on each posed primitive.
    pub(crate) baked: Vec<BakedMesh>,
    /// For each point of the floor's grid, the fraction of the environment's light that arrives.
    pub(crate) floor_ambient: Vec<f32>,
}

/// The names in the cache of those results that were computed and are not stored yet.
#[derive(Default)]
pub(crate) struct NewResults {
    environment: Option<String>,
    model: Option<String>,
}

impl NewResults {
    /// Returns whether there is nothing to store.
    pub(crate) const fn is_empty(&self) -> bool {
        self.environment.is_none() && self.model.is_none()
    }

    /// Serialises the results, which are parts of `prepared`.
    pub(crate) fn serialize(&self, prepared: &Prepared) -> SerializedResults {
        let environment = self.environment.iter().map(|name| (name.clone(), prepared.environment.to_bytes()));
        let model = self.model.iter().map(|name| (name.clone(), prepared.model.to_bytes()));
        SerializedResults(environment.chain(model).collect())
    }
}

/// The names and contents of files that are not stored in the cache yet.
pub(crate) struct SerializedResults(Vec<(String, Vec<u8>)>);

impl SerializedResults {
    /// Stores all results in the cache. Errors are ignored, because the results can be computed again.
    pub(crate) fn store(self, cache: &Cache) {
        for (name, content) in self.0 {
            drop(cache.store(&name, &content));
        }
    }
}

/// Loads results from the cache, and computes those that the cache does not contain. If triangles were already selected
/// for another scene with the same surfaces, `known` contains them. As soon as the triangles are known, and while the
/// light is computed, `use_triangles` is called. Its result is returned.
pub(crate) fn prepare<T: Send>(
    inputs: &PrepareInputs<'_>,
    cache: Option<(&Cache, &LightCacheKeys)>,
    known: Option<KnownTriangles>,
    use_triangles: impl FnOnce(&[Vec<u32>]) -> T + Send,
) -> (Prepared, NewResults, T) {
    let Some((cache, names)) = cache else {
        let (prepared, used) = compute_missing(inputs, None, None, known, use_triangles);
        return (prepared, NewResults::default(), used);
    };
    let (environment, model) = rayon::join(
        || {
            cache
                .load(&names.environment)
                .and_then(|bytes| EnvironmentLight::from_bytes(&bytes))
                .filter(EnvironmentLight::is_valid)
        },
        || {
            cache
                .load(&names.model)
                .and_then(|bytes| ModelLight::from_bytes(&bytes))
                .filter(|light| light.matches_inputs(inputs))
        },
    );
    let fresh = NewResults {
        environment: environment.is_none().then(|| names.environment.clone()),
        model: model.is_none().then(|| names.model.clone()),
    };
    let (prepared, used) = compute_missing(inputs, environment, model, known, use_triangles);
    (prepared, fresh, used)
}

/// Loads or computes the light on the triangles `indices` in the pose `inputs.posed`. The triangles were chosen for
/// another pose.
pub(crate) fn light_of_pose(
    inputs: &PrepareInputs<'_>,
    indices: &[Vec<u32>],
    sky: &Sky,
    cache: Option<&Cache>,
) -> SurfaceLight {
    let Some(cache) = cache else { return SurfaceLight::new(inputs, indices, sky) };
    let name = cache_key::pose_name(cache, inputs, indices);
    let known = cache.load(&name).and_then(|bytes| SurfaceLight::from_bytes(&bytes));
    let known = known.filter(|light| light.matches_inputs(inputs, indices));
    known.unwrap_or_else(|| {
        let light = SurfaceLight::new(inputs, indices, sky);
        // If storing fails, the next render computes the light again.
        drop(cache.store(&name, &light.to_bytes()));
        light
    })
}

fn compute_missing<T: Send>(
    inputs: &PrepareInputs<'_>,
    environment: Option<EnvironmentLight>,
    model: Option<ModelLight>,
    known: Option<KnownTriangles>,
    use_triangles: impl FnOnce(&[Vec<u32>]) -> T + Send,
) -> (Prepared, T) {
    let (environment, model) = match (environment, model) {
        (Some(environment), Some(model)) => {
            let used = use_triangles(&model.indices);
            return (Prepared { environment, model }, used);
        }
        missing => missing,
    };
    let sky = Sky::of(inputs.scene);
    let of_model = || {
        if let Some(model) = model {
            let used = use_triangles(&model.indices);
            return (model, used);
        }
        let known = known.unwrap_or_else(|| KnownTriangles::choose(inputs));
        let indices = Arc::clone(&known.indices);
        // The light takes longer, so it begins first. Parts of it run on one thread.
        rayon::join(|| ModelLight::new(inputs, &sky, known), || use_triangles(&indices))
    };
    let of_environment = || environment.unwrap_or_else(|| EnvironmentLight::new(&sky, inputs.scene.light_detail));
    let ((model, used), environment) = rayon::join(of_model, of_environment);
    (Prepared { environment, model }, used)
}
