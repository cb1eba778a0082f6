//! Casts the rays of one place.

use std::f32::consts::PI;

use glam::{Mat4, Vec2, Vec3, Vec4};
use plinth_scene::EnvironmentMap;

use crate::bvh::{Bvh, Hit, TriangleId};
use crate::hull::is_inside_out;
use crate::places::Place;
use crate::sampling::{Directions, Distribution};
use crate::sky::Sky;
use crate::types::{BakeLight, BakeMesh};

/// How far rays start from their surface, in world units (the model spans 2).
const OFFSET: f32 = 1e-3;
/// Transparent surfaces and holes that a ray passes, at most.
const MAX_PASSES: usize = 16;
/// Transparency from which on a surface is seen through.
const CLEAR: f32 = 0.05;

/// That share from which on a place is taken to be inside of a body.
const INSIDE: f32 = 0.95;

/// What a ray found: the surface that stops it and its share of the light.
#[derive(Clone, Copy)]
pub(crate) struct Blocked {
    pub(crate) direction: Vec3,
    pub(crate) id: TriangleId,
    pub(crate) u: f32,
    pub(crate) v: f32,
    /// Whether the ray came to its back.
    pub(crate) back: bool,
    /// Opacity times the weight of the direction.
    pub(crate) share: f32,
}

/// What the rays of one place found.
pub(crate) struct Gathered {
    /// Irradiance that arrives from the environment.
    pub(crate) direct: Vec3,
    /// Irradiance that would arrive without any geometry.
    pub(crate) open: Vec3,
    /// Visibility over directions, degree-1 spherical harmonics.
    pub(crate) visibility: Vec4,
    /// Turns weighted sums of values times `basis` of their directions into such harmonics.
    pub(crate) fit: Mat4,
    pub(crate) blocked: Vec<Blocked>,
    closed: f32,
    /// Irradiance of each light with a direction.
    pub(crate) beams: Vec<Vec3>,
    /// Share of light that would come through the inner side of a single-sided surface.
    inside: f32,
    /// Mean of the inverse distance to what blocks light.
    pub(crate) nearness: f32,
    /// Most irradiance that a single ray has brought from the environment.
    pub(crate) largest: f32,
}

impl Gathered {
    /// Share of cosine-distributed directions that are blocked, at least a little.
    pub(crate) fn closed(&self) -> f32 {
        self.closed.max(0.02)
    }

    /// Whether the place is inside of another body.
    pub(crate) fn is_inside(&self) -> bool {
        self.inside >= INSIDE
    }

    /// Per channel: the share of the environment's irradiance that arrives.
    pub(crate) fn direct_share(&self) -> Vec3 {
        share(self.direct, self.open)
    }
}

/// Geometry and light that rays meet.
pub(crate) struct Scene<'a> {
    bvh: Bvh,
    pub(crate) meshes: &'a [BakeMesh],
    pub(crate) sky: Sky,
    distribution: Distribution,
    pub(crate) lights: &'a [BakeLight],
}

impl<'a> Scene<'a> {
    pub(crate) fn new(meshes: &'a [BakeMesh], environment: &EnvironmentMap, lights: &'a [BakeLight]) -> Self {
        let sky = Sky::new(environment);
        let distribution = Distribution::new(&sky);
        Self { bvh: Bvh::new(triangles(meshes)), meshes, sky, distribution, lights }
    }

    /// Gathers everything at a place.
    pub(crate) fn gather(&self, place: &Place, directions: &Directions) -> Gathered {
        let origin = origin(place);
        let mut out = Gathered {
            direct: Vec3::ZERO,
            open: Vec3::ZERO,
            visibility: Vec4::ZERO,
            fit: Mat4::ZERO,
            blocked: Vec::new(),
            closed: 0.0,
            beams: self.beams(place, origin),
            inside: 0.0,
            nearness: 0.0,
            largest: 0.0,
        };
        let mut fit = Fit::default();
        let mut weights = 0.0;
        for (direction, weight) in directions.around(&self.distribution, place.position, place.normal) {
            let light = self.sky.radiance(direction) * weight;
            let cast = self.cast(origin, direction);
            out.open += light;
            out.direct += light * cast.through;
            out.largest = out.largest.max((light * cast.through).max_element());
            out.closed += weight * (1.0 - cast.through);
            if cast.from_inside {
                out.inside += weight;
            }
            out.nearness += weight * cast.nearness;
            out.blocked.extend(cast.blocked.map(|b| Blocked { share: b.share * weight, ..b }));
            fit.add(direction, cast.through, weight);
            weights += weight;
        }
        // Weights are those of a mean: what they lack or have too much is noise.
        let scale = 1.0 / weights.max(1e-6);
        out.direct *= scale * PI;
        out.open *= scale * PI;
        out.largest *= scale * PI;
        out.closed *= scale;
        out.inside *= scale;
        out.nearness *= scale;
        for blocked in &mut out.blocked {
            blocked.share *= scale;
        }
        out.fit = fit.solver(scale);
        out.visibility = out.fit * (fit.right * scale);
        out
    }

    /// The share of the environment's irradiance that arrives.
    pub(crate) fn probe(&self, place: &Place, directions: &Directions) -> Vec3 {
        let origin = origin(place);
        let (mut direct, mut open) = (Vec3::ZERO, Vec3::ZERO);
        for (direction, weight) in directions.around(&self.distribution, place.position, place.normal) {
            let light = self.sky.radiance(direction) * weight;
            open += light;
            direct += light * self.cast(origin, direction).through;
        }
        share(direct, open)
    }

    /// Whether a place is seen from one of the eyes, through clear surfaces too.
    pub(crate) fn is_seen(&self, place: &Place, eyes: &[Vec3]) -> bool {
        let origin = origin(place);
        eyes.iter().any(|eye| place.normal.dot(eye - place.position) > 0.0 && self.reaches(origin, *eye))
    }

    fn reaches(&self, mut origin: Vec3, eye: Vec3) -> bool {
        for _ in 0..MAX_PASSES {
            let distance = origin.distance(eye);
            let direction = (eye - origin) / distance.max(OFFSET);
            let Some(hit) = self.bvh.intersect(origin, direction, OFFSET * 0.1, distance) else { return true };
            if self.transparency(&hit) < CLEAR {
                return false;
            }
            origin += direction * (hit.t + OFFSET);
        }
        false
    }

    /// Follows a ray.
    fn cast(&self, mut origin: Vec3, direction: Vec3) -> Cast {
        let mut out = Cast { through: 1.0, blocked: None, from_inside: false, nearness: 0.0 };
        let mut travelled = 0.0;
        for pass in 0..MAX_PASSES {
            let Some(hit) = self.bvh.intersect(origin, direction, OFFSET * 0.1, f32::INFINITY) else { return out };
            let transparency = self.transparency(&hit);
            let share = out.through * (1.0 - transparency);
            let back = self.is_back(&hit, direction);
            out.nearness += share / (travelled + hit.t + OFFSET);
            if share > out.blocked.map_or(0.0, |b| b.share) {
                out.blocked = Some(Blocked { direction, id: hit.id, u: hit.u, v: hit.v, back, share });
            }
            if pass == 0 {
                let mesh = &self.meshes[hit.id.mesh as usize];
                out.from_inside = back && !mesh.double_sided && mesh.transparency.is_empty() && mesh.texture.is_none();
            }
            out.through *= transparency;
            if out.through < 0.02 {
                out.through = 0.0;
                return out;
            }
            origin += direction * (hit.t + OFFSET);
            travelled += hit.t + OFFSET;
        }
        out
    }

    fn transparency(&self, hit: &Hit) -> f32 {
        let mesh = &self.meshes[hit.id.mesh as usize];
        let own = if mesh.transparency.is_empty() {
            0.0
        } else {
            let [a, b, c] = mesh.corners(hit.id.triangle as usize).map(|i| mesh.transparency[i]);
            a * (1.0 - hit.u - hit.v) + b * hit.u + c * hit.v
        };
        let coverage = texel(mesh, hit.id, hit.u, hit.v).map_or(1.0, |(alpha, cutoff)| match cutoff {
            Some(cutoff) => f32::from(u8::from(alpha[3] >= cutoff)),
            None => alpha[3],
        });
        (1.0 - (1.0 - own) * coverage).clamp(0.0, 1.0)
    }

    /// Whether a ray comes to the side that the normals do not point to.
    fn is_back(&self, hit: &Hit, direction: Vec3) -> bool {
        let mesh = &self.meshes[hit.id.mesh as usize];
        let [a, b, c] = mesh.corners(hit.id.triangle as usize).map(|i| mesh.normals[i]);
        (a * (1.0 - hit.u - hit.v) + b * hit.u + c * hit.v).dot(direction) > 0.0
    }

    fn beams(&self, place: &Place, origin: Vec3) -> Vec<Vec3> {
        self.lights
            .iter()
            .map(|light| {
                let (to_light, irradiance) = light.arriving(origin);
                let cosine = place.normal.dot(to_light);
                if cosine > 0.0 { irradiance * (cosine * self.cast(origin, to_light).through) } else { Vec3::ZERO }
            })
            .collect()
    }
}

impl BakeLight {
    /// Unit vector to the light, and irradiance on a surface facing it.
    pub(crate) fn arriving(&self, at: Vec3) -> (Vec3, Vec3) {
        match *self {
            Self::Directional { to_light, irradiance } => (to_light, irradiance),
            Self::Point { position, intensity } => {
                let offset = position - at;
                let distance2 = offset.length_squared().max(1e-4);
                (offset / distance2.sqrt(), intensity / distance2)
            }
        }
    }
}

/// What a ray found.
struct Cast {
    /// Share of the light that comes through.
    through: f32,
    /// The surface that blocks most of it.
    blocked: Option<Blocked>,
    /// The first surface shows its inner side.
    from_inside: bool,
    /// Inverse distance of what blocks light, times how much it blocks.
    nearness: f32,
}

fn triangles(meshes: &[BakeMesh]) -> impl Iterator<Item = ([Vec3; 3], TriangleId)> + '_ {
    meshes.iter().enumerate().filter(|(_, mesh)| mesh.occludes && !is_inside_out(mesh)).flat_map(|(m, mesh)| {
        (0..mesh.indices.len() / 3).map(move |t| (mesh.triangle(t), TriangleId { mesh: m as u32, triangle: t as u32 }))
    })
}

/// The texel of a hit, and from which alpha on it is there.
pub(crate) fn texel(mesh: &BakeMesh, id: TriangleId, u: f32, v: f32) -> Option<([f32; 4], Option<f32>)> {
    let texture = mesh.texture.as_ref()?;
    let [a, b, c] = mesh.corners(id.triangle as usize).map(|i| texture.uvs.get(i).copied().unwrap_or(Vec2::ZERO));
    Some((texture.image.texel(a * (1.0 - u - v) + b * u + c * v), texture.cutoff))
}

fn origin(place: &Place) -> Vec3 {
    place.position + place.inset + place.normal * OFFSET
}

fn share(direct: Vec3, open: Vec3) -> Vec3 {
    Vec3::from_array(std::array::from_fn(|c| if open[c] > 1e-6 { direct[c] / open[c] } else { 1.0 }))
}

/// A direction as least squares see it.
pub(crate) fn basis(d: Vec3) -> Vec4 {
    Vec4::new(1.0, d.x, d.y, d.z)
}

/// Weighted least squares of a value over directions: `value(d) ≈ c0 + c·d`.
#[derive(Default)]
struct Fit {
    normal: [Vec4; 4],
    right: Vec4,
}

impl Fit {
    fn add(&mut self, d: Vec3, value: f32, weight: f32) {
        let basis = basis(d);
        for (column, part) in self.normal.iter_mut().zip(basis.to_array()) {
            *column += basis * (part * weight);
        }
        self.right += basis * (value * weight);
    }

    /// The inverse of the normal matrix; `scale` makes the sum of weights 1.
    fn solver(&self, scale: f32) -> Mat4 {
        // A little weight on «no slope» keeps few samples from tilting the fit.
        let ridge = 0.02;
        let mut columns = self.normal.map(|c| c * scale);
        columns[1].y += ridge;
        columns[2].z += ridge;
        columns[3].w += ridge;
        let inverse = Mat4::from_cols(columns[0], columns[1], columns[2], columns[3]).inverse();
        if inverse.is_finite() { inverse } else { Mat4::from_diagonal(Vec4::X) }
    }
}
