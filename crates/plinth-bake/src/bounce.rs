//! Lets light bounce between the places that rays found (Goral et al. 1984), without new rays.

use std::f32::consts::PI;

use glam::{Vec3, Vec4};
use rayon::prelude::*;

use crate::gather::{Blocked, Gathered, Scene, basis, corners};
use crate::weld::Welded;

/// Least roughness of mirrored lights: vertices are too far apart for smaller highlights.
const SHARPEST_MIRROR: f32 = 0.4;

/// A place that a ray found, as light leaves it toward the ray's origin.
struct Leaving {
    /// Radiance that does not depend on other bounces: emitted, or mirrored from the environment.
    fixed: Vec3,
    /// Receivers at the corners, and their shares.
    corners: [(u32, f32); 3],
    /// Radiance for each unit of all irradiance.
    diffuse: Vec3,
    /// Radiance for each unit of the irradiance that arrives after a bounce.
    mirrored: Vec3,
}

/// Light on its way between surfaces.
pub(crate) struct Bounces<'a> {
    first: &'a [Gathered],
    leaving: Vec<Vec<Leaving>>,
    own: Vec<Vec3>,
    /// Irradiance after one bounce or more, for each receiver.
    pub(crate) indirect: Vec<Vec3>,
    /// From a sum of radiances to irradiance.
    scale: f32,
}

impl<'a> Bounces<'a> {
    pub(crate) fn new(scene: &Scene<'_>, welded: &Welded, first: &'a [Gathered], samples: usize) -> Self {
        let leaving = first
            .par_iter()
            .map(|g| g.blocked.iter().map(|hit| Leaving::new(scene, welded, first, hit)).collect())
            .collect();
        let own = first.iter().map(|g| g.direct + g.beams.iter().sum::<Vec3>()).collect();
        Self { first, leaving, own, indirect: vec![Vec3::ZERO; first.len()], scale: PI / samples as f32 }
    }

    pub(crate) fn advance(&mut self) {
        self.indirect = self
            .leaving
            .par_iter()
            .map(|list| list.iter().map(|l| self.radiance(l)).sum::<Vec3>() * self.scale)
            .collect();
    }

    fn radiance(&self, leaving: &Leaving) -> Vec3 {
        let (mut all, mut indirect) = (Vec3::ZERO, Vec3::ZERO);
        for (r, share) in leaving.corners {
            indirect += self.indirect[r as usize] * share;
            all += self.own[r as usize] * share;
        }
        leaving.fixed + leaving.diffuse * (all + indirect) + leaving.mirrored * indirect
    }

    /// Luminance of what blocks the environment over directions, for each receiver.
    pub(crate) fn blocked(&self) -> Vec<Vec4> {
        let fit = |(g, leaving): (&Gathered, &Vec<Leaving>)| {
            let luminance = |l: &Leaving| self.radiance(l).dot(Vec3::new(0.2126, 0.7152, 0.0722));
            let sum: Vec4 = g.blocked.iter().zip(leaving).map(|(hit, l)| basis(hit.direction) * luminance(l)).sum();
            g.fit * sum
        };
        self.first.par_iter().zip(&self.leaving).map(fit).collect()
    }
}

impl Leaving {
    fn new(scene: &Scene<'_>, welded: &Welded, first: &[Gathered], hit: &Blocked) -> Self {
        let mesh = &scene.meshes[hit.id.mesh as usize];
        let at = corners(mesh, hit.id);
        let weights = [1.0 - hit.u - hit.v, hit.u, hit.v];
        let mix = |values: &[Vec3]| at.iter().zip(weights).map(|(i, w)| values[*i] * w).sum::<Vec3>();
        let fixed = if mesh.emission.is_empty() { Vec3::ZERO } else { mix(&mesh.emission) * hit.share };
        let mut out = Self { fixed, corners: [(0, 0.0); 3], diffuse: Vec3::ZERO, mirrored: Vec3::ZERO };
        if !mesh.receives {
            return out;
        }
        let of_vertex = &welded.of_vertex[hit.id.mesh as usize];
        out.corners = std::array::from_fn(|k| (of_vertex[at[k]], weights[k]));
        out.diffuse = mix(&mesh.albedo) * (hit.share / PI);
        if !mesh.f0.is_empty() {
            let normal = mix(&mesh.normals).normalize_or(-hit.direction);
            out.mirror(
                scene,
                first,
                hit,
                if normal.dot(hit.direction) > 0.0 { -normal } else { normal },
                mix(&mesh.f0),
            );
        }
        out
    }

    /// Adds what the surface mirrors.
    fn mirror(&mut self, scene: &Scene<'_>, first: &[Gathered], hit: &Blocked, normal: Vec3, f0: Vec3) {
        let mesh = &scene.meshes[hit.id.mesh as usize];
        let roughness: f32 =
            corners(mesh, hit.id).iter().zip(self.corners).map(|(i, (_, w))| mesh.roughness[*i] * w).sum();
        let toward = hit.direction.reflect(normal);
        let reflectance = reflectance(f0, roughness, -normal.dot(hit.direction)) * hit.share;
        let place = corners(mesh, hit.id).iter().zip(self.corners).map(|(i, (_, w))| mesh.positions[*i] * w).sum();
        let (mut open, mut closed) = (0.0, 0.0);
        for (r, weight) in self.corners {
            let corner = &first[r as usize];
            open += corner.visibility.dot(basis(toward)).clamp(0.0, 1.0) * weight;
            closed += corner.closed() * weight;
            for (light, beam) in scene.lights.iter().zip(&corner.beams) {
                let (to_light, _) = light.arriving(place);
                self.fixed +=
                    *beam * f0 * (highlight(normal, to_light, -hit.direction, roughness) * weight * hit.share);
            }
        }
        self.fixed += scene.sky.reflected(toward, roughness) * reflectance * open;
        self.mirrored = reflectance * ((1.0 - open) / (closed * PI));
        self.diffuse *= Vec3::ONE - reflectance;
    }
}

/// Share of light that a rough surface mirrors (Karis 2014, "Physically Based Shading on Mobile").
fn reflectance(f0: Vec3, roughness: f32, cosine: f32) -> Vec3 {
    let r = Vec4::new(-1.0, -0.0275, -0.572, 0.022) * roughness + Vec4::new(1.0, 0.0425, 1.04, -0.04);
    let a = (r.x * r.x).min((-9.28 * cosine).exp2()) * r.x + r.y;
    let (scale, bias) = (-1.04 * a + r.z, 1.04 * a + r.w);
    let single = f0 * scale + Vec3::splat(bias);
    // What is reflected more than once between microfacets (Turquin 2019, "Practical multiple scattering compensation
    // for microfacet models").
    let multiple = Vec3::ONE + f0 * (1.0 / (scale + bias).max(0.1) - 1.0);
    (single * multiple).clamp(Vec3::ZERO, Vec3::ONE)
}

/// Radiance that a perfect mirror of this roughness sends toward `v` for each unit of a light's irradiance: the GGX
/// distribution (Walter et al. 2007, eq. 33) with its height-correlated visibility (Heitz 2014, eq. 99).
fn highlight(n: Vec3, l: Vec3, v: Vec3, roughness: f32) -> f32 {
    let a2 = roughness.max(SHARPEST_MIRROR).powi(4);
    let n_dot_h = n.dot((l + v).normalize_or(n)).clamp(0.0, 1.0);
    let (n_dot_l, n_dot_v) = (n.dot(l).max(0.0), n.dot(v).max(1e-3));
    let f = (n_dot_h * a2 - n_dot_h) * n_dot_h + 1.0;
    let smith = |one: f32, other: f32| one * (other * other * (1.0 - a2) + a2).sqrt();
    a2 / (PI * f * f) * 0.5 / (smith(n_dot_l, n_dot_v) + smith(n_dot_v, n_dot_l))
}
