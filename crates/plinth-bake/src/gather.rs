//! Casts rays from a sample point, and sums up the light that arrives along these rays.

use std::f32::consts::PI;

use glam::{Mat4, Vec3, Vec4};
use plinth_scene::EnvironmentMap;
use rayon::prelude::*;
use smallvec::SmallVec;

use crate::bvh::Hit;
use crate::occluders::Occluders;
use crate::samples::SamplePoint;
use crate::sampling::{LightDistribution, RayDirections, RaySample};
use crate::sky::Sky;
use crate::types::{BakeLight, BakeMesh, BakeTexture};

/// Distance between a surface and the origins of rays that start on it, in world units. For comparison, the model's
/// size is 2 units.
const ORIGIN_OFFSET: f32 = 1e-3;
/// Maximum number of transparent surfaces that one ray passes through.
const MAX_TRANSPARENT_HITS: usize = 16;
/// Minimum transparency (0 to 1) of surfaces through which a camera sees.
const MIN_SEE_THROUGH: f32 = 0.05;

/// Irradiance from an environment without geometry up to which it counts as no light.
const NO_IRRADIANCE: f32 = 1e-6;

/// A sample point counts as inside a body if at least this fraction of its rays, by weight, hit a back face first.
const MIN_INSIDE_SHARE: f32 = 0.95;

/// The surface that counts most for a ray: by the fraction of the light that it blocks, times 1 + its emitted radiance.
#[derive(Clone, Copy)]
pub(crate) struct Occluder {
    pub(crate) direction: Vec3,
    pub(crate) hit: Hit,
    /// Whether the ray hit the back face.
    pub(crate) back: bool,
    /// Fraction of the ray's light that the surface blocks, multiplied by the weight of the ray.
    pub(crate) share: f32,
}

/// The light that the rays of a sample point encountered.
#[derive(Default)]
pub(crate) struct GatherResult {
    /// Irradiance from the environment, shadowed by geometry.
    pub(crate) direct: Vec3,
    /// Irradiance from the environment if there were no geometry.
    pub(crate) unoccluded: Vec3,
    /// Fraction of the environment's light from a direction that arrives, as coefficients of spherical harmonics up to
    /// degree 1.
    pub(crate) visibility: Vec4,
    /// Inverse of the normal matrix of a least-squares fit over the rays' directions. Multiplied by the weighted sum of
    /// value × `basis(direction)`, this inverse gives the coefficients of a function of direction that approximates the
    /// values. The coefficients have the same form as `visibility`.
    pub(crate) harmonics_solver: Mat4,
    blocked_share: f32,
    /// Irradiance from each of `Scene::lights`, shadowed by geometry.
    pub(crate) light_irradiance: SmallVec<[Vec3; 2]>,
    /// Fraction of the rays, by weight, that first hit the back face of a single-sided opaque surface.
    back_hit_share: f32,
    /// Mean of the inverse distances to the occluders.
    pub(crate) mean_inverse_distance: f32,
    /// Largest irradiance from the environment that arrived along a single ray.
    pub(crate) max_ray_irradiance: f32,
}

impl GatherResult {
    /// Returns the cosine-weighted fraction of the directions that are blocked. The result is at least 0.02, so that
    /// callers can divide by it.
    pub(crate) fn blocked_share(&self) -> f32 {
        self.blocked_share.max(0.02)
    }

    /// Returns whether the sample point is inside another body.
    pub(crate) fn is_inside_body(&self) -> bool {
        self.back_hit_share >= MIN_INSIDE_SHARE
    }

    /// Returns for each colour channel the fraction of the environment's irradiance that arrives at the sample point.
    pub(crate) fn direct_share(&self) -> Vec3 {
        ratio(self.direct, self.unoccluded)
    }
}

/// The geometry and the light sources that rays can hit.
pub(crate) struct Scene<'a> {
    pub(crate) occluders: &'a Occluders,
    pub(crate) meshes: &'a [BakeMesh],
    pub(crate) sky: Sky,
    distribution: LightDistribution,
    pub(crate) lights: &'a [BakeLight],
}

impl<'a> Scene<'a> {
    pub(crate) fn new(
        meshes: &'a [BakeMesh],
        occluders: &'a Occluders,
        environment: &EnvironmentMap,
        lights: &'a [BakeLight],
    ) -> Self {
        let sky = Sky::new(environment);
        let distribution = LightDistribution::new(&sky);
        Self { occluders, meshes, sky, distribution, lights }
    }

    /// Casts all rays of a sample point, and returns their combined result. Adds the occluders of the rays to `occluders`.
    pub(crate) fn gather(
        &self,
        sample: &SamplePoint,
        directions: &RayDirections,
        occluders: &mut Vec<Occluder>,
    ) -> GatherResult {
        let origin = ray_origin(sample);
        let first_occluder = occluders.len();
        let light_irradiance = self.light_irradiance(sample, origin);
        let mut out = GatherResult { light_irradiance, ..GatherResult::default() };
        let mut visibility_fit = LeastSquares::default();
        let mut weights = 0.0;
        for RaySample { direction, point, weight } in
            directions.over_hemisphere(&self.distribution, sample.position, sample.normal)
        {
            let light = self.sky.radiance_at(&point) * weight;
            let cast = self.cast(origin, direction);
            out.unoccluded += light;
            out.direct += light * cast.transmitted;
            out.max_ray_irradiance = out.max_ray_irradiance.max((light * cast.transmitted).max_element());
            out.blocked_share += weight * (1.0 - cast.transmitted);
            if cast.hit_back_first {
                out.back_hit_share += weight;
            }
            out.mean_inverse_distance += weight * cast.mean_inverse_distance;
            occluders.extend(cast.occluder.map(|o| Occluder { share: o.share * weight, ..o }));
            visibility_fit.add(direction, cast.transmitted, weight);
            weights += weight;
        }
        // The weights add up to 1 except for sampling noise. Dividing by their sum removes this error.
        let scale = 1.0 / weights.max(1e-6);
        out.direct *= scale * PI;
        out.unoccluded *= scale * PI;
        out.max_ray_irradiance *= scale * PI;
        out.blocked_share *= scale;
        out.back_hit_share *= scale;
        out.mean_inverse_distance *= scale;
        for occluder in &mut occluders[first_occluder..] {
            occluder.share *= scale;
        }
        out.harmonics_solver = visibility_fit.solver(scale);
        out.visibility = out.harmonics_solver * (visibility_fit.right_hand_side * scale);
        out
    }

    /// Returns what [`gather`](Self::gather) returns if each ray is blocked by a back face of an opaque double-sided mesh.
    /// Otherwise returns `None` and adds nothing to `occluders`.
    pub(crate) fn gather_if_enclosed(
        &self,
        sample: &SamplePoint,
        directions: &RayDirections,
        occluders: &mut Vec<Occluder>,
    ) -> Option<GatherResult> {
        let first_occluder = occluders.len();
        let mut out = self.gather(sample, directions, occluders);
        let found = &occluders[first_occluder..];
        if found.len() < directions.len() || !found.iter().all(|occluder| self.is_opaque_back(occluder)) {
            occluders.truncate(first_occluder);
            return None;
        }
        // If all rays miss the lamps of a dark environment, `direct_share` would be 1, as where there is no light to block.
        out.unoccluded = out.unoccluded.max(Vec3::splat(2.0 * NO_IRRADIANCE));
        Some(out)
    }

    /// Returns whether an occluder is the back face of an opaque double-sided mesh. Such an occluder ends its ray.
    fn is_opaque_back(&self, occluder: &Occluder) -> bool {
        let mesh = occluder.hit.id.mesh as usize;
        occluder.back && self.meshes[mesh].double_sided && self.occluders.opaque[mesh]
    }

    /// Returns whether no ray of a sample point reaches the environment.
    pub(crate) fn is_dark(&self, sample: &SamplePoint, directions: &RayDirections) -> bool {
        let origin = ray_origin(sample);
        let rays = directions.over_hemisphere(&self.distribution, sample.position, sample.normal);
        rays.iter().all(|ray| self.transmitted(origin, ray.direction) <= 0.0)
    }

    /// Returns for points with the same normal the value of [`GatherResult::direct_share`], without computing the rest of
    /// the result. `directions` must be the same for all points with the same normal.
    pub(crate) fn direct_shares(&self, points: &[Vec3], normal: Vec3, directions: &RayDirections) -> Vec<Vec3> {
        let rays: Vec<(Vec3, Vec3)> = directions
            .over_hemisphere(&self.distribution, Vec3::ZERO, normal)
            .into_iter()
            .map(|RaySample { direction, point, weight }| (direction, self.sky.radiance_at(&point) * weight))
            .collect();
        let unoccluded = rays.iter().fold(Vec3::ZERO, |sum, (_direction, light)| sum + *light);
        let share_at = |position: &Vec3| {
            let origin = ray_origin(&SamplePoint { position: *position, normal, inset: Vec3::ZERO });
            let arriving = |(direction, light): &(Vec3, Vec3)| *light * self.transmitted(origin, *direction);
            ratio(rays.iter().fold(Vec3::ZERO, |sum, ray| sum + arriving(ray)), unoccluded)
        };
        points.par_iter().map(share_at).collect()
    }

    /// Returns whether a camera sees a sample point, directly or through transparent surfaces.
    pub(crate) fn is_seen(&self, sample: &SamplePoint, camera_positions: &[Vec3]) -> bool {
        let origin = ray_origin(sample);
        camera_positions
            .iter()
            .any(|camera| sample.normal.dot(camera - sample.position) > 0.0 && self.has_line_of_sight(origin, *camera))
    }

    fn has_line_of_sight(&self, mut origin: Vec3, camera: Vec3) -> bool {
        for _ in 0..MAX_TRANSPARENT_HITS {
            let distance = origin.distance(camera);
            let direction = (camera - origin) / distance.max(ORIGIN_OFFSET);
            let Some(hit) = self.occluders.bvh.intersect(origin, direction, ORIGIN_OFFSET * 0.1, distance) else {
                return true;
            };
            if self.transparency(&hit) < MIN_SEE_THROUGH {
                return false;
            }
            origin += direction * (hit.t + ORIGIN_OFFSET);
        }
        false
    }

    /// Returns the fraction of a ray's light that passes through all surfaces.
    fn transmitted(&self, origin: Vec3, direction: Vec3) -> f32 {
        if !self.occluders.all_opaque {
            return self.cast(origin, direction).transmitted;
        }
        if self.occluders.bvh.is_blocked(origin, direction, ORIGIN_OFFSET * 0.1) { 0.0 } else { 1.0 }
    }

    /// Follows a ray through transparent surfaces, until the ray is blocked or leaves the model.
    fn cast(&self, mut origin: Vec3, direction: Vec3) -> RayResult {
        let mut out = RayResult { transmitted: 1.0, occluder: None, hit_back_first: false, mean_inverse_distance: 0.0 };
        let mut travelled = 0.0;
        let mut largest_importance = 0.0;
        for hit_count in 0..MAX_TRANSPARENT_HITS {
            let Some(hit) = self.occluders.bvh.intersect(origin, direction, ORIGIN_OFFSET * 0.1, f32::INFINITY) else {
                return out;
            };
            let transparency = self.transparency(&hit);
            let share = out.transmitted * (1.0 - transparency);
            let back = self.is_back(&hit, direction);
            out.mean_inverse_distance += share / (travelled + hit.t + ORIGIN_OFFSET);
            let mesh = &self.meshes[hit.id.mesh as usize];
            let importance = share * (1.0 + mesh.emitted(hit.id.triangle as usize, hit.weights()).max_element());
            if importance > largest_importance {
                largest_importance = importance;
                out.occluder = Some(Occluder { direction, hit, back, share });
            }
            if hit_count == 0 {
                out.hit_back_first = back && !mesh.double_sided && self.occluders.opaque[hit.id.mesh as usize];
            }
            out.transmitted *= transparency;
            if out.transmitted < 0.02 {
                out.transmitted = 0.0;
                return out;
            }
            origin += direction * (hit.t + ORIGIN_OFFSET);
            travelled += hit.t + ORIGIN_OFFSET;
        }
        out
    }

    fn transparency(&self, hit: &Hit) -> f32 {
        if self.occluders.opaque[hit.id.mesh as usize] {
            return 0.0;
        }
        let mesh = &self.meshes[hit.id.mesh as usize];
        let vertex_transparency = if mesh.transparency.is_empty() {
            0.0
        } else {
            let ([a, b, c], [wa, wb, wc]) = (mesh.corners(hit.id.triangle as usize), hit.weights());
            mesh.transparency[a] * wa + mesh.transparency[b] * wb + mesh.transparency[c] * wc
        };
        let texel = |texture: &BakeTexture| texture.texel(mesh.corners(hit.id.triangle as usize), hit.weights());
        let coverage = mesh.texture.as_ref().map_or(1.0, |texture| texel(texture)[3]);
        (1.0 - (1.0 - vertex_transparency) * coverage).clamp(0.0, 1.0)
    }

    /// Returns whether a ray hits the side of a surface that faces away from its normals.
    fn is_back(&self, hit: &Hit, direction: Vec3) -> bool {
        let mesh = &self.meshes[hit.id.mesh as usize];
        let corners = mesh.corners(hit.id.triangle as usize);
        BakeMesh::interpolate(corners, hit.weights(), &mesh.normals).dot(direction) > 0.0
    }

    fn light_irradiance(&self, sample: &SamplePoint, origin: Vec3) -> SmallVec<[Vec3; 2]> {
        self.lights
            .iter()
            .map(|light| {
                let (to_light, irradiance) = light.irradiance_at(origin);
                let cosine = sample.normal.dot(to_light);
                if cosine > 0.0 { irradiance * (cosine * self.transmitted(origin, to_light)) } else { Vec3::ZERO }
            })
            .collect()
    }
}

impl BakeLight {
    /// Returns the unit vector from `point` to the light, and the irradiance of a surface that faces the light.
    pub(crate) fn irradiance_at(&self, point: Vec3) -> (Vec3, Vec3) {
        match *self {
            Self::Directional { to_light, irradiance } => (to_light, irradiance),
            Self::Point { position, intensity } => {
                let offset = position - point;
                let distance2 = offset.length_squared().max(1e-4);
                (offset / distance2.sqrt(), intensity / distance2)
            }
        }
    }
}

struct RayResult {
    /// Fraction of the light that passes through all surfaces.
    transmitted: f32,
    /// `None` if the ray hit nothing.
    occluder: Option<Occluder>,
    /// Whether the first surface that the ray hit is single-sided and opaque, and was hit on its back face.
    hit_back_first: bool,
    /// Sum over all hits of the inverse distance times the fraction of light that the surface blocks.
    mean_inverse_distance: f32,
}

fn ray_origin(sample: &SamplePoint) -> Vec3 {
    sample.position + sample.inset + sample.normal * ORIGIN_OFFSET
}

fn ratio(direct: Vec3, unoccluded: Vec3) -> Vec3 {
    let of_channel = |c: usize| if unoccluded[c] > NO_IRRADIANCE { direct[c] / unoccluded[c] } else { 1.0 };
    Vec3::from_array(std::array::from_fn(of_channel))
}

/// Returns the values of the basis functions of the least-squares fit for a direction.
pub(crate) fn basis(d: Vec3) -> Vec4 {
    Vec4::new(1.0, d.x, d.y, d.z)
}

/// A weighted least-squares fit of a function of direction: `value(d) ≈ c0 + c·d`.
#[derive(Default)]
struct LeastSquares {
    normal_matrix: [Vec4; 4],
    right_hand_side: Vec4,
}

impl LeastSquares {
    fn add(&mut self, d: Vec3, value: f32, weight: f32) {
        let basis = basis(d);
        for (column, component) in self.normal_matrix.iter_mut().zip(basis.to_array()) {
            *column += basis * (component * weight);
        }
        self.right_hand_side += basis * (value * weight);
    }

    /// Returns the inverse of the normal matrix. `scale` is the reciprocal of the sum of the weights.
    fn solver(&self, scale: f32) -> Mat4 {
        // Ridge regression keeps the linear coefficients small if there are few rays.
        let ridge = 0.02;
        let mut columns = self.normal_matrix.map(|c| c * scale);
        columns[1].y += ridge;
        columns[2].z += ridge;
        columns[3].w += ridge;
        let inverse = Mat4::from_cols(columns[0], columns[1], columns[2], columns[3]).inverse();
        if inverse.is_finite() { inverse } else { Mat4::from_diagonal(Vec4::X) }
    }
}
