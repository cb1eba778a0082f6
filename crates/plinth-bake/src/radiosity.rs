//! Light between surfaces (Goral et al. 1984, "Modeling the Interaction of Light between Diffuse Surfaces"), solved for
//! the places of `Coarse` with the rays that they have cast once; other places ask it what their rays see.

use std::f32::consts::PI;

use glam::{Vec3, Vec4};
use rayon::prelude::*;

use crate::coarse::Coarse;
use crate::gather::{Blocked, Gathered, Scene, basis, texel};
use crate::places::Face;

/// Least roughness of mirrored lights: places are too far apart for smaller highlights.
const SHARPEST_MIRROR: f32 = 0.4;
/// Luminance of linear RGB (Rec. ITU-R BT.709, item 3.2).
pub const LUMINANCE: Vec3 = Vec3::new(0.2126, 0.7152, 0.0722);

/// A spot that a ray found, as light leaves it toward the ray's origin.
struct Leaving {
    /// Radiance that does not depend on other bounces: emitted, or mirrored from the environment.
    fixed: Vec3,
    /// Places around it, and their shares.
    around: [(u32, f32); 3],
    /// Radiance for each unit of all irradiance.
    diffuse: Vec3,
    /// Radiance for each unit of the irradiance that arrives after a bounce.
    mirrored: Vec3,
}

/// Light between surfaces.
pub(crate) struct Radiosity<'a> {
    scene: &'a Scene<'a>,
    coarse: &'a Coarse<'a>,
    /// Whether a place is inside of a body.
    inside: Vec<bool>,
    gathered: &'a [Gathered],
    /// What each place's rays found.
    leaving: Vec<Vec<Leaving>>,
    /// Irradiance at each place from the environment and lights.
    own: Vec<Vec3>,
    /// Irradiance at each place after one bounce or more.
    pub(crate) indirect: Vec<Vec3>,
}

impl<'a> Radiosity<'a> {
    /// Light of the places that have been gathered, reflected so many times.
    pub(crate) fn solved(
        scene: &'a Scene<'a>,
        coarse: &'a Coarse<'a>,
        gathered: &'a [Gathered],
        bounces: usize,
    ) -> Self {
        let own = gathered.iter().map(|g| g.direct + g.beams.iter().sum::<Vec3>()).collect();
        let inside = gathered.iter().map(Gathered::is_inside).collect();
        let indirect = vec![Vec3::ZERO; gathered.len()];
        let mut out = Self { scene, coarse, inside, gathered, leaving: Vec::new(), own, indirect };
        out.leaving =
            gathered.par_iter().map(|g| g.blocked.iter().map(|hit| Leaving::new(&out, hit)).collect()).collect();
        for _ in 0..bounces {
            out.indirect =
                out.leaving.par_iter().map(|list| list.iter().map(|l| out.radiance(l)).sum::<Vec3>() * PI).collect();
        }
        out
    }

    /// Shares of places without those inside of other bodies, which are darker than the surface beside them.
    fn trusted(&self, around: [(u32, f32); 3]) -> [(u32, f32); 3] {
        let outside = around.map(|(p, share)| (p, if self.inside[p as usize] { 0.0 } else { share }));
        let sum: f32 = outside.iter().map(|(_, share)| share).sum();
        if sum > 0.01 { outside.map(|(p, share)| (p, share / sum)) } else { around }
    }

    /// Radiance times the share of the ray.
    fn radiance(&self, leaving: &Leaving) -> Vec3 {
        let (mut all, mut indirect) = (Vec3::ZERO, Vec3::ZERO);
        for (place, share) in leaving.around {
            indirect += self.indirect[place as usize] * share;
            all += self.own[place as usize] * share;
        }
        leaving.fixed + leaving.diffuse * (all + indirect) + leaving.mirrored * indirect
    }

    /// Luminance of what blocks the environment over directions, for each place of the coarse ones.
    pub(crate) fn blocked(&self) -> Vec<Vec4> {
        let fit = |(g, leaving): (&Gathered, &Vec<Leaving>)| {
            let luminance = |l: &Leaving| self.radiance(l).dot(LUMINANCE);
            let sum: Vec4 = g.blocked.iter().zip(leaving).map(|(hit, l)| basis(hit.direction) * luminance(l)).sum();
            g.fit * sum
        };
        self.gathered.par_iter().zip(&self.leaving).map(fit).collect()
    }

    /// Irradiance after one bounce or more, luminance of what blocks the environment, and the most irradiance that a
    /// single ray brings, for any place.
    pub(crate) fn seen_by(&self, gathered: &Gathered) -> (Vec3, Vec4, f32) {
        let (mut indirect, mut blocked, mut largest) = (Vec3::ZERO, Vec4::ZERO, 0.0_f32);
        for hit in &gathered.blocked {
            let radiance = self.radiance(&Leaving::new(self, hit));
            indirect += radiance;
            largest = largest.max(radiance.max_element());
            blocked += basis(hit.direction) * radiance.dot(LUMINANCE);
        }
        (indirect * PI, gathered.fit * blocked, largest * PI)
    }
}

impl Leaving {
    fn new(light: &Radiosity<'_>, hit: &Blocked) -> Self {
        let mesh = &light.scene.meshes[hit.id.mesh as usize];
        let at = mesh.corners(hit.id.triangle as usize);
        let weights = [1.0 - hit.u - hit.v, hit.u, hit.v];
        let mix = |values: &[Vec3]| at.iter().zip(weights).map(|(i, w)| values[*i] * w).sum::<Vec3>();
        let shown = !hit.back || mesh.double_sided;
        let fixed = if mesh.emission.is_empty() || !shown { Vec3::ZERO } else { mix(&mesh.emission) * hit.share };
        let mut out = Self { fixed, around: [(0, 0.0); 3], diffuse: Vec3::ZERO, mirrored: Vec3::ZERO };
        // The back of a single-sided surface belongs to the inside of a body, where no light is.
        if !mesh.receives || !shown {
            return out;
        }
        let face = Face { mesh: hit.id.mesh, triangle: hit.id.triangle, back: hit.back };
        out.around = light.trusted(light.coarse.around(face, hit.u, hit.v));
        let color = texel(mesh, hit.id, hit.u, hit.v).map_or(Vec3::ONE, |([r, g, b, _], _)| Vec3::new(r, g, b));
        out.diffuse = mix(&mesh.albedo) * color * (hit.share / PI);
        if !mesh.f0.is_empty() {
            let normal = mix(&mesh.normals).normalize_or(-hit.direction);
            let place = mix(&mesh.positions);
            let roughness = at.iter().zip(weights).map(|(i, w)| mesh.roughness[*i] * w).sum::<f32>();
            let normal = if normal.dot(hit.direction) > 0.0 { -normal } else { normal };
            out.mirror(light, hit, &Mirror { normal, place, f0: mix(&mesh.f0), roughness });
        }
        out
    }

    /// Adds what the surface mirrors.
    fn mirror(&mut self, light: &Radiosity<'_>, hit: &Blocked, mirror: &Mirror) {
        let Mirror { normal, place, f0, roughness } = *mirror;
        let toward = hit.direction.reflect(normal);
        let reflectance = reflectance(f0, roughness, -normal.dot(hit.direction)) * hit.share;
        let (mut open, mut closed) = (0.0, 0.0);
        for (near, weight) in self.around {
            let near = &light.gathered[near as usize];
            open += near.visibility.dot(basis(toward)).clamp(0.0, 1.0) * weight;
            closed += near.closed() * weight;
            for (lamp, beam) in light.scene.lights.iter().zip(&near.beams) {
                let (to_light, _) = lamp.arriving(place);
                self.fixed +=
                    *beam * f0 * (highlight(normal, to_light, -hit.direction, roughness) * weight * hit.share);
            }
        }
        self.fixed += light.scene.sky.reflected(toward, roughness) * reflectance * open;
        self.mirrored = reflectance * ((1.0 - open) / (closed * PI));
        self.diffuse *= Vec3::ONE - reflectance / hit.share.max(1e-6);
    }
}

/// A spot of a surface that reflects as a mirror does.
struct Mirror {
    /// On the ray's side.
    normal: Vec3,
    place: Vec3,
    f0: Vec3,
    roughness: f32,
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
