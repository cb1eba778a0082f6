//! Casts the rays of one receiver.

use std::f32::consts::PI;

use glam::{Mat4, Vec3, Vec4};
use plinth_scene::EnvironmentMap;

use crate::bvh::{Bvh, Hit, TriangleId};
use crate::hemisphere::Hemisphere;
use crate::sky::Sky;
use crate::types::{BakeLight, BakeMesh};
use crate::weld::Receiver;

/// How far rays start from their surface, in world units (the model spans 2).
const OFFSET: f32 = 1e-3;
/// Transparent surfaces that a ray passes, at most.
const MAX_PASSES: usize = 4;

/// Transparency from which on a surface is seen through.
const CLEAR: f32 = 0.05;

/// What a ray found: the surface that stops it and its share of the light.
#[derive(Clone, Copy)]
pub(crate) struct Blocked {
    pub(crate) direction: Vec3,
    pub(crate) id: TriangleId,
    pub(crate) u: f32,
    pub(crate) v: f32,
    pub(crate) share: f32,
}

/// What the rays of one receiver found.
pub(crate) struct Gathered {
    /// Irradiance that arrives from the environment.
    pub(crate) direct: Vec3,
    /// Irradiance that would arrive without any geometry.
    pub(crate) open: Vec3,
    /// Visibility over directions, degree-1 spherical harmonics.
    pub(crate) visibility: Vec4,
    /// Turns sums of values times `basis` of their directions into such harmonics.
    pub(crate) fit: Mat4,
    pub(crate) blocked: Vec<Blocked>,
    closed: f32,
    /// Irradiance of each light with a direction.
    pub(crate) beams: Vec<Vec3>,
    /// Share of rays that see the inner side of a closed surface: near 1 for a place inside of another body.
    pub(crate) inside: f32,
}

impl Gathered {
    /// Share of cosine-distributed directions that are blocked, at least a little.
    pub(crate) fn closed(&self) -> f32 {
        self.closed.max(0.02)
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
    pub(crate) lights: &'a [BakeLight],
}

impl<'a> Scene<'a> {
    pub(crate) fn new(meshes: &'a [BakeMesh], environment: &EnvironmentMap, lights: &'a [BakeLight]) -> Self {
        Self { bvh: Bvh::new(triangles(meshes)), meshes, sky: Sky::new(environment), lights }
    }

    /// Gathers everything at a receiver.
    pub(crate) fn gather(&self, receiver: &Receiver, hemisphere: &Hemisphere) -> Gathered {
        let origin = origin(receiver);
        let mut out = Gathered {
            direct: Vec3::ZERO,
            open: Vec3::ZERO,
            visibility: Vec4::ZERO,
            fit: Mat4::ZERO,
            blocked: Vec::new(),
            closed: 0.0,
            beams: self.beams(receiver, origin),
            inside: 0.0,
        };
        let mut fit = Fit::default();
        for direction in hemisphere.around(receiver.normal, shifts(receiver)) {
            let light = self.sky.radiance(direction);
            let cast = self.cast(origin, direction);
            out.open += light;
            out.direct += light * cast.through;
            out.closed += 1.0 - cast.through;
            out.inside += f32::from(u8::from(cast.from_inside));
            out.blocked.extend(cast.blocked);
            fit.add(direction, cast.through);
        }
        // Irradiance: π times the mean radiance of cosine-distributed directions.
        let scale = PI / hemisphere.count() as f32;
        out.direct *= scale;
        out.open *= scale;
        out.closed /= hemisphere.count() as f32;
        out.inside /= hemisphere.count() as f32;
        out.fit = fit.solver();
        out.visibility = out.fit * fit.right;
        out
    }

    /// The share of the environment's irradiance that arrives. Directions are the same for equal normals, so that
    /// noise is the same too and differences between places are real.
    pub(crate) fn probe(&self, receiver: &Receiver, hemisphere: &Hemisphere) -> Vec3 {
        let origin = origin(receiver);
        let (mut direct, mut open) = (Vec3::ZERO, Vec3::ZERO);
        for direction in hemisphere.around(receiver.normal, (0.0, 0.5)) {
            let light = self.sky.radiance(direction);
            open += light;
            direct += light * self.cast(origin, direction).through;
        }
        share(direct, open)
    }

    /// Whether a receiver is seen from one of the eyes, through clear surfaces too.
    pub(crate) fn is_seen(&self, receiver: &Receiver, double_sided: bool, eyes: &[Vec3]) -> bool {
        eyes.iter().any(|eye| {
            let side = receiver.normal.dot(eye - receiver.position).signum();
            let origin = receiver.position + receiver.inset + receiver.normal * (OFFSET * side);
            (side > 0.0 || double_sided) && self.reaches(origin, *eye)
        })
    }

    fn reaches(&self, mut origin: Vec3, eye: Vec3) -> bool {
        for _ in 0..MAX_PASSES {
            let distance = origin.distance(eye);
            let direction = (eye - origin) / distance.max(OFFSET);
            match self.bvh.intersect(origin, direction, OFFSET * 0.1) {
                Some(hit) if hit.t < distance => {
                    if self.transparency(&hit) < CLEAR {
                        return false;
                    }
                    origin += direction * (hit.t + OFFSET);
                }
                _ => return true,
            }
        }
        false
    }

    /// Follows a ray.
    fn cast(&self, mut origin: Vec3, direction: Vec3) -> Cast {
        let mut out = Cast { through: 1.0, blocked: None, from_inside: false };
        for pass in 0..MAX_PASSES {
            let Some(hit) = self.bvh.intersect(origin, direction, OFFSET * 0.1) else { return out };
            let transparency = self.transparency(&hit);
            let share = out.through * (1.0 - transparency);
            if out.blocked.is_none_or(|s| share > s.share) {
                out.blocked = Some(Blocked { direction, id: hit.id, u: hit.u, v: hit.v, share });
            }
            if pass == 0 {
                out.from_inside = self.is_inner_side(&hit, direction);
            }
            out.through *= transparency;
            if out.through < 0.02 {
                out.through = 0.0;
                return out;
            }
            origin += direction * (hit.t + OFFSET);
        }
        out
    }

    fn transparency(&self, hit: &Hit) -> f32 {
        let mesh = &self.meshes[hit.id.mesh as usize];
        if mesh.transparency.is_empty() {
            return 0.0;
        }
        let [a, b, c] = corners(mesh, hit.id).map(|i| mesh.transparency[i]);
        (a * (1.0 - hit.u - hit.v) + b * hit.u + c * hit.v).clamp(0.0, 1.0)
    }

    fn is_inner_side(&self, hit: &Hit, direction: Vec3) -> bool {
        let mesh = &self.meshes[hit.id.mesh as usize];
        if mesh.double_sided || !mesh.transparency.is_empty() {
            return false;
        }
        let [a, b, c] = corners(mesh, hit.id).map(|i| mesh.normals[i]);
        (a * (1.0 - hit.u - hit.v) + b * hit.u + c * hit.v).dot(direction) > 0.0
    }

    fn beams(&self, receiver: &Receiver, origin: Vec3) -> Vec<Vec3> {
        self.lights
            .iter()
            .map(|light| {
                let (to_light, irradiance) = light.arriving(origin);
                let cosine = receiver.normal.dot(to_light);
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
}

fn triangles(meshes: &[BakeMesh]) -> impl Iterator<Item = ([Vec3; 3], TriangleId)> + '_ {
    meshes.iter().enumerate().filter(|(_, mesh)| mesh.occludes).flat_map(|(m, mesh)| {
        mesh.indices.as_chunks::<3>().0.iter().enumerate().map(move |(t, corners)| {
            let id = TriangleId { mesh: m as u32, triangle: t as u32 };
            (corners.map(|c| mesh.positions[c as usize]), id)
        })
    })
}

/// Corner indices of a triangle.
pub(crate) fn corners(mesh: &BakeMesh, id: TriangleId) -> [usize; 3] {
    let at = id.triangle as usize * 3;
    [mesh.indices[at] as usize, mesh.indices[at + 1] as usize, mesh.indices[at + 2] as usize]
}

fn origin(receiver: &Receiver) -> Vec3 {
    receiver.position + receiver.inset + receiver.normal * OFFSET
}

fn share(direct: Vec3, open: Vec3) -> Vec3 {
    Vec3::from_array(std::array::from_fn(|c| if open[c] > 1e-6 { direct[c] / open[c] } else { 1.0 }))
}

/// Two numbers in 0..1 that belong to a receiver's place, whatever mesh it is part of.
fn shifts(receiver: &Receiver) -> (f32, f32) {
    let mut state = 0x9E37_79B9_u32;
    for bits in receiver.position.to_array().map(|c| (c * 4096.0).round() as i32 as u32) {
        state = (state ^ bits).wrapping_mul(0x85EB_CA6B);
        state ^= state >> 13;
        state = state.wrapping_mul(0xC2B2_AE35);
        state ^= state >> 16;
    }
    ((state & 0xFFFF) as f32 / 65_536.0, (state >> 16) as f32 / 65_536.0)
}

/// A direction as least squares see it.
pub(crate) fn basis(d: Vec3) -> Vec4 {
    Vec4::new(1.0, d.x, d.y, d.z)
}

/// Least squares of a value over directions: `value(d) ≈ c0 + c·d`.
#[derive(Default)]
struct Fit {
    normal: [Vec4; 4],
    right: Vec4,
}

impl Fit {
    fn add(&mut self, d: Vec3, value: f32) {
        let basis = basis(d);
        for (column, weight) in self.normal.iter_mut().zip(basis.to_array()) {
            *column += basis * weight;
        }
        self.right += basis * value;
    }

    fn solver(&self) -> Mat4 {
        let count = self.normal[0].x.max(1.0);
        // A little weight on «no slope» keeps few samples from tilting the fit.
        let ridge = count * 0.02;
        let mut columns = self.normal;
        columns[1].y += ridge;
        columns[2].z += ridge;
        columns[3].w += ridge;
        let inverse = Mat4::from_cols(columns[0], columns[1], columns[2], columns[3]).inverse();
        if inverse.is_finite() { inverse } else { Mat4::from_diagonal(Vec4::X / count) }
    }
}
