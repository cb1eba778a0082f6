//! Computes the light that surfaces reflect onto each other (Goral et al. 1984, "Modeling the Interaction of Light
//! between Diffuse Surfaces"). The equations are solved for the points of `CoarseSamples`, with the rays that these
//! points have already cast. At other points, the reflected light is computed from this solution.

use std::f32::consts::PI;
use std::ops::{Add, Mul};

use glam::{Vec3, Vec4};
use rayon::prelude::*;
use smallvec::SmallVec;

use crate::coarse::CoarseSamples;
use crate::gather::{GatherResult, Occluder, Scene, basis};
use crate::point_lists::PointLists;
use crate::samples::TriangleSide;
use crate::types::{BakeMesh, BakeTexture, diffuse_reflectance};

/// Minimum roughness with which the mirror images of lights are computed. Sample points are too far apart for smaller
/// highlights.
const MIN_HIGHLIGHT_ROUGHNESS: f32 = 0.4;
/// Maximum number of vertices that are copied, which take 256 MB.
const MAX_COPIED_VERTICES: usize = 4_000_000;
/// Weights of linear R, G and B in the luminance (Rec. ITU-R BT.709, item 3.2).
pub const LUMINANCE: Vec3 = Vec3::new(0.2126, 0.7152, 0.0722);

/// The light that leaves the point at which a ray hit a surface, in the direction of the ray's origin. Radiance is
/// multiplied by `Occluder::share`.
struct ReflectingHit {
    /// Radiance that does not change between bounces: light that the surface emits, mirror images of the environment and
    /// the lights, and diffusely reflected light that arrives directly from the environment and the lights.
    fixed: Vec3,
    /// Radiance per unit of indirect irradiance.
    factor: Vec3,
    /// Sample points around the hit, with the weights for interpolating between them.
    nearby: [(u32, f32); 3],
}

// All hits are stored, and read once per bounce. A large model has several hundred thousand.
const _: () = assert!(size_of::<ReflectingHit>() <= 48, "larger hits take more time to write and to read");

/// How a surface reflects light in the direction of a ray's origin. All values are multiplied by `Occluder::share`.
struct Reflection {
    /// Radiance of the mirror images of the environment and the lights.
    mirrored: Vec3,
    /// Radiance per unit of irradiance, direct or indirect.
    diffuse: Vec3,
    /// Radiance per unit of indirect irradiance, in addition to `diffuse`.
    specular: Vec3,
}

/// The values at a vertex that determine how it reflects light. The alignment places each vertex in a cache line of its
/// own, because hits read vertices in random order.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct ReflectingVertex {
    position: Vec3,
    normal: Vec3,
    albedo: Vec3,
    f0: Vec3,
    roughness: f32,
}

impl ReflectingVertex {
    fn new(mesh: &BakeMesh, i: usize) -> Self {
        let at = |values: &[Vec3]| values.get(i).copied().unwrap_or_default();
        Self {
            position: mesh.positions[i],
            normal: at(&mesh.normals),
            albedo: at(&mesh.albedo),
            f0: at(&mesh.f0),
            roughness: mesh.roughness.get(i).copied().unwrap_or_default(),
        }
    }

    /// Copies the vertices of each mesh. Returns an empty list for a mesh that reflects no light, and for all meshes if
    /// they have so many vertices that the copies would take too much memory.
    fn of_meshes(meshes: &[BakeMesh]) -> Vec<Vec<Self>> {
        let count = |mesh: &BakeMesh| if mesh.occludes && mesh.receives_light { mesh.positions.len() } else { 0 };
        let are_copied = meshes.iter().map(count).sum::<usize>() <= MAX_COPIED_VERTICES;
        let copied = |mesh: &BakeMesh| -> Vec<Self> {
            let count = if are_copied { count(mesh) } else { 0 };
            (0..count).into_par_iter().map(|i| Self::new(mesh, i)).collect()
        };
        meshes.iter().map(copied).collect()
    }
}

/// The values at a sample point that hits around it read. The alignment places each point in one cache line, because hits
/// read points in random order.
#[repr(align(32))]
struct ReflectingPoint {
    visibility: Vec4,
    /// Irradiance directly from the environment and the lights.
    direct: Vec3,
    blocked_share: f32,
}

impl ReflectingPoint {
    fn new(gathered: &GatherResult) -> Self {
        Self {
            visibility: gathered.visibility,
            direct: gathered.direct + gathered.light_irradiance.iter().sum::<Vec3>(),
            blocked_share: gathered.blocked_share(),
        }
    }
}

/// The solution of the radiosity equations for all points of `CoarseSamples`.
pub(crate) struct Radiosity<'a> {
    scene: &'a Scene<'a>,
    coarse: &'a CoarseSamples<'a>,
    /// Copies of the vertices of each mesh, or empty lists.
    vertices: Vec<Vec<ReflectingVertex>>,
    /// One entry per sample point.
    points: Vec<ReflectingPoint>,
    /// Whether each sample point is inside a body.
    inside_body: Vec<bool>,
    /// Irradiance of each sample point from each of `Scene::lights`. The values of one point follow each other.
    light_irradiance: Vec<Vec3>,
    /// Irradiance of each sample point from light that was reflected at least once.
    pub(crate) indirect: Vec<Vec3>,
    /// For each sample point, the luminance of its occluders as a function of direction.
    pub(crate) occluder_luminance: Vec<Vec4>,
}

impl<'a> Radiosity<'a> {
    /// Solves the equations for the gathered sample points, which have the occluders `occluders`. Light is reflected `bounces`
    /// times.
    pub(crate) fn solve(
        scene: &'a Scene<'a>,
        coarse: &'a CoarseSamples<'a>,
        gathered: &[GatherResult],
        occluders: &PointLists<Occluder>,
        bounces: usize,
    ) -> Self {
        let mut out = Self {
            scene,
            coarse,
            vertices: ReflectingVertex::of_meshes(scene.meshes),
            points: gathered.par_iter().map(ReflectingPoint::new).collect(),
            inside_body: gathered.iter().map(GatherResult::is_inside_body).collect(),
            light_irradiance: gathered.iter().flat_map(|g| g.light_irradiance.iter().copied()).collect(),
            indirect: vec![Vec3::ZERO; gathered.len()],
            occluder_luminance: Vec::new(),
        };
        let hits = occluders.map(|occluder| ReflectingHit::new(&out, occluder));
        for bounce in 0..bounces {
            let irradiance = |i: usize| {
                let hits = hits.of(i).iter();
                // In the first bounce, no light is indirect.
                let radiance: Vec3 =
                    if bounce == 0 { hits.map(|hit| hit.fixed).sum() } else { hits.map(|hit| out.radiance(hit)).sum() };
                radiance * PI
            };
            out.indirect = (0..gathered.len()).into_par_iter().map(irradiance).collect();
        }
        out.occluder_luminance = out.fit_luminance(gathered, occluders, &hits);
        out
    }

    /// Returns for each sample point the luminance of its occluders as a function of direction. `hits` contains the light from
    /// each of `occluders`.
    fn fit_luminance(
        &self,
        gathered: &[GatherResult],
        occluders: &PointLists<Occluder>,
        hits: &PointLists<ReflectingHit>,
    ) -> Vec<Vec4> {
        let fit = |(i, gathered): (usize, &GatherResult)| {
            let luminance = |hit: &ReflectingHit| self.radiance(hit).dot(LUMINANCE);
            let hits = occluders.of(i).iter().zip(hits.of(i));
            let sum: Vec4 = hits.map(|(occluder, hit)| basis(occluder.direction) * luminance(hit)).sum();
            gathered.harmonics_solver * sum
        };
        gathered.par_iter().enumerate().map(fit).collect()
    }

    fn vertex(&self, mesh: usize, i: usize) -> ReflectingVertex {
        let copy = self.vertices[mesh].get(i).copied();
        copy.unwrap_or_else(|| ReflectingVertex::new(&self.scene.meshes[mesh], i))
    }

    /// Sets the weights of sample points inside other bodies to zero, because these points are darker than the visible
    /// surface. The other weights are scaled so that they add up to 1.
    fn without_inside_points(&self, around: [(u32, f32); 3]) -> [(u32, f32); 3] {
        let weights = around.map(|(p, weight)| (p, if self.inside_body[p as usize] { 0.0 } else { weight }));
        let sum: f32 = weights.iter().map(|(_, weight)| weight).sum();
        if sum > 0.01 { weights.map(|(p, weight)| (p, weight / sum)) } else { around }
    }

    /// Returns the radiance of a hit, multiplied by `Occluder::share`.
    fn radiance(&self, hit: &ReflectingHit) -> Vec3 {
        hit.fixed + hit.factor * interpolate_nearby(hit.nearby, |sample| self.indirect[sample])
    }

    /// Returns the light that the occluders of a gathered sample point reflect onto it: the indirect irradiance, the
    /// luminance of the occluders as a function of direction, and the largest irradiance along a single ray.
    pub(crate) fn reflected_onto(&self, gathered: &GatherResult, occluders: &[Occluder]) -> (Vec3, Vec4, f32) {
        let (mut indirect, mut occluder_luminance, mut max_ray_irradiance) = (Vec3::ZERO, Vec4::ZERO, 0.0_f32);
        for occluder in occluders {
            let radiance = self.radiance(&ReflectingHit::new(self, occluder));
            indirect += radiance;
            max_ray_irradiance = max_ray_irradiance.max(radiance.max_element());
            occluder_luminance += basis(occluder.direction) * radiance.dot(LUMINANCE);
        }
        (indirect * PI, gathered.harmonics_solver * occluder_luminance, max_ray_irradiance * PI)
    }
}

impl ReflectingHit {
    fn new(light: &Radiosity<'_>, occluder: &Occluder) -> Self {
        let hit = &occluder.hit;
        let mesh = &light.scene.meshes[hit.id.mesh as usize];
        let mut out = Self { fixed: Vec3::ZERO, factor: Vec3::ZERO, nearby: [(0, 0.0); 3] };
        // The back face of a single-sided surface is inside a body, where there is no light.
        if occluder.back && !mesh.double_sided {
            return out;
        }
        out.fixed = mesh.emitted(hit.id.triangle as usize, hit.weights()) * occluder.share;
        if mesh.receives_light {
            let side = TriangleSide { mesh: hit.id.mesh, triangle: hit.id.triangle, back: occluder.back };
            out.nearby = light.without_inside_points(light.coarse.interpolation_weights(side, hit.u, hit.v));
            out.add_reflection(light, &Reflection::new(light, occluder, mesh, out.nearby));
        }
        out
    }

    /// Adds the light that the surface reflects. The radiance `mirrored + diffuse × (direct + indirect) + specular × indirect`
    /// is stored as `fixed + factor × indirect`.
    fn add_reflection(&mut self, light: &Radiosity<'_>, reflection: &Reflection) {
        let direct = interpolate_nearby(self.nearby, |sample| light.points[sample].direct);
        self.fixed += reflection.mirrored + reflection.diffuse * direct;
        self.factor = reflection.diffuse + reflection.specular;
    }
}

impl Reflection {
    /// Returns the diffuse and the specular reflection of `mesh`, which the ray hit. `nearby` contains the sample points around
    /// the hit, with their weights.
    fn new(light: &Radiosity<'_>, occluder: &Occluder, mesh: &BakeMesh, nearby: [(u32, f32); 3]) -> Self {
        let hit = &occluder.hit;
        let (corners, weights) = (mesh.corners(hit.id.triangle as usize), hit.weights());
        let vertices = corners.map(|i| light.vertex(hit.id.mesh as usize, i));
        let color = BakeTexture::color(mesh.texture.as_ref(), corners, weights);
        let albedo = interpolate(vertices.map(|v| v.albedo), weights);
        let diffuse = diffuse_reflectance(albedo, color) * (occluder.share / PI);
        let mut out = Self { mirrored: Vec3::ZERO, diffuse, specular: Vec3::ZERO };
        if mesh.f0.is_empty() {
            return out;
        }
        let normal = interpolate(vertices.map(|v| v.normal), weights).normalize_or(-occluder.direction);
        let surface = SpecularHit {
            normal: if normal.dot(occluder.direction) > 0.0 { -normal } else { normal },
            position: interpolate(vertices.map(|v| v.position), weights),
            f0: interpolate(vertices.map(|v| v.f0), weights),
            roughness: interpolate(vertices.map(|v| v.roughness), weights),
            is_tinted_dielectric: mesh.is_tinted_dielectric,
        };
        out.add_specular(light, occluder, &surface, nearby);
        out
    }

    /// Adds the specular reflection, and subtracts the specularly reflected fraction of the light from the diffuse
    /// reflection.
    fn add_specular(
        &mut self,
        light: &Radiosity<'_>,
        occluder: &Occluder,
        surface: &SpecularHit,
        nearby: [(u32, f32); 3],
    ) {
        let SpecularHit { normal, position, f0, roughness, is_tinted_dielectric } = *surface;
        let mirror_direction = occluder.direction.reflect(normal);
        let reflectance = reflectance(f0, roughness, -normal.dot(occluder.direction)) * occluder.share;
        // The highlights are the same for all sample points around the hit.
        let highlights: SmallVec<[f32; 2]> = light
            .scene
            .lights
            .iter()
            .map(|source| highlight(normal, source.irradiance_at(position).0, -occluder.direction, roughness))
            .collect();
        let (mut visibility, mut blocked_share) = (0.0, 0.0);
        for (sample, weight) in nearby {
            let point = &light.points[sample as usize];
            visibility += point.visibility.dot(basis(mirror_direction)).clamp(0.0, 1.0) * weight;
            blocked_share += point.blocked_share * weight;
            let light_irradiance = &light.light_irradiance[sample as usize * highlights.len()..];
            for (highlight, irradiance) in highlights.iter().zip(light_irradiance) {
                self.mirrored += *irradiance * f0 * (highlight * weight * occluder.share);
            }
        }
        self.mirrored += light.scene.sky.reflected(mirror_direction, roughness) * reflectance * visibility;
        self.specular = reflectance * ((1.0 - visibility) / (blocked_share * PI));
        // With one fraction for all colours, the diffuse reflection does not get the complementary colour
        // (KHR_materials_specular, "Extending Materials").
        let subtracted = if is_tinted_dielectric { Vec3::splat(reflectance.max_element()) } else { reflectance };
        self.diffuse *= Vec3::ONE - subtracted / occluder.share.max(1e-6);
    }
}

/// Interpolates between sample points. `value` returns the value of a sample point.
fn interpolate_nearby(nearby: [(u32, f32); 3], value: impl Fn(usize) -> Vec3) -> Vec3 {
    let mut sum = Vec3::ZERO;
    for (sample, weight) in nearby {
        sum += value(sample as usize) * weight;
    }
    sum
}

/// Interpolates values of the corners of a triangle.
fn interpolate<T: Add<Output = T> + Mul<f32, Output = T>>([a, b, c]: [T; 3], [wa, wb, wc]: [f32; 3]) -> T {
    a * wa + b * wb + c * wc
}

/// A point at which a ray hit a specular surface.
struct SpecularHit {
    /// Unit normal on the side from which the ray came.
    normal: Vec3,
    /// World position.
    position: Vec3,
    f0: Vec3,
    roughness: f32,
    /// [`BakeMesh::is_tinted_dielectric`] of the surface's mesh.
    is_tinted_dielectric: bool,
}

/// Returns the fraction of the light that a rough surface reflects specularly (Karis 2014, "Physically Based Shading on
/// Mobile").
fn reflectance(f0: Vec3, roughness: f32, cosine: f32) -> Vec3 {
    let r = Vec4::new(-1.0, -0.0275, -0.572, 0.022) * roughness + Vec4::new(1.0, 0.0425, 1.04, -0.04);
    let a = (r.x * r.x).min((-9.28 * cosine).exp2()) * r.x + r.y;
    let (scale, bias) = (-1.04 * a + r.z, 1.04 * a + r.w);
    let single = f0 * scale + Vec3::splat(bias);
    // `multiple` adds the light that is reflected more than once between microfacets (Turquin 2019, "Practical multiple
    // scattering compensation for microfacet models").
    let multiple = Vec3::ONE + f0 * (1.0 / (scale + bias).max(0.1) - 1.0);
    (single * multiple).clamp(Vec3::ZERO, Vec3::ONE)
}

/// Returns the radiance that a perfectly reflective surface of this roughness reflects in the direction `v`, divided by
/// the irradiance of the light. The result is the GGX distribution (Walter et al. 2007, eq. 33) times the
/// height-correlated visibility (Heitz 2014, eq. 99).
fn highlight(n: Vec3, l: Vec3, v: Vec3, roughness: f32) -> f32 {
    let a2 = roughness.max(MIN_HIGHLIGHT_ROUGHNESS).powi(4);
    let n_dot_h = n.dot((l + v).normalize_or(n)).clamp(0.0, 1.0);
    let (n_dot_l, n_dot_v) = (n.dot(l).max(0.0), n.dot(v).max(1e-3));
    let f = (n_dot_h * a2 - n_dot_h) * n_dot_h + 1.0;
    let smith = |one: f32, other: f32| one * (other * other * (1.0 - a2) + a2).sqrt();
    a2 / (PI * f * f) * 0.5 / (smith(n_dot_l, n_dot_v) + smith(n_dot_v, n_dot_l))
}
