//! Lets light bounce between the places that rays found (Goral et al. 1984), without new rays.

use std::f32::consts::PI;

use glam::{Vec3, Vec4};
use rayon::prelude::*;

use crate::gather::{Blocked, Gathered, Scene, basis, corners};
use crate::weld::{NONE, Welded};

/// Least roughness of mirrored lights: vertices are too far apart for smaller highlights.
const SHARPEST_MIRROR: f32 = 0.4;

/// A place that a ray found, as light leaves it toward the ray's origin.
struct Leaving {
    /// Radiance that does not depend on other bounces: emitted, or mirrored from the environment.
    fixed: Vec3,
    /// Receivers at the corners, with the radiance that leaves for each unit of their irradiance.
    corners: [(u32, Vec3); 3],
    /// The same for irradiance that arrives after a bounce, mirrored.
    mirrored: [Vec3; 3],
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
        let mut out = leaving.fixed;
        for ((r, diffuse), mirrored) in leaving.corners.iter().zip(leaving.mirrored) {
            if *r != NONE {
                let indirect = self.indirect[*r as usize];
                out += *diffuse * (self.own[*r as usize] + indirect) + mirrored * indirect;
            }
        }
        out
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
        let of_vertex = &welded.of_vertex[hit.id.mesh as usize];
        let at = corners(mesh, hit.id);
        let weights = [1.0 - hit.u - hit.v, hit.u, hit.v].map(|w| w * hit.share);
        let normal: Vec3 =
            at.iter().zip(weights).map(|(i, w)| mesh.normals[*i] * w).sum::<Vec3>().normalize_or(-hit.direction);
        let normal = if normal.dot(hit.direction) > 0.0 { -normal } else { normal };
        let cosine = -normal.dot(hit.direction);
        let toward = hit.direction.reflect(normal);
        let mut out = Self { fixed: Vec3::ZERO, corners: [(NONE, Vec3::ZERO); 3], mirrored: [Vec3::ZERO; 3] };
        for (k, (i, weight)) in at.into_iter().zip(weights).enumerate() {
            out.fixed += mesh.emission.get(i).copied().unwrap_or(Vec3::ZERO) * weight;
            let r = of_vertex[i];
            if r == NONE {
                continue;
            }
            let mut diffuse = mesh.albedo[i] / PI;
            if let (Some(f0), Some(roughness)) = (mesh.f0.get(i), mesh.roughness.get(i)) {
                let reflectance = reflectance(*f0, *roughness, cosine);
                for (light, beam) in scene.lights.iter().zip(&first[r as usize].beams) {
                    let (to_light, _) = light.arriving(mesh.positions[i]);
                    let highlight = highlight(normal, to_light, -hit.direction, *roughness);
                    out.fixed += *beam * *f0 * (highlight * weight);
                }
                let open = first[r as usize].visibility.dot(basis(toward)).clamp(0.0, 1.0);
                out.fixed += scene.sky.reflected(toward, *roughness) * reflectance * (open * weight);
                out.mirrored[k] = reflectance * ((1.0 - open) / first[r as usize].closed() / PI * weight);
                diffuse *= Vec3::ONE - reflectance;
            }
            out.corners[k] = (r, diffuse * weight);
        }
        out
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
