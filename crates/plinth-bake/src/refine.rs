//! Adds places where light between those that are there is not what they say. Each part of a triangle is asked in the
//! middles of its sides; where the light there differs from the mean of their ends, it is divided into four.

use glam::Vec3;
use rayon::prelude::*;

use crate::coarse::{Coarse, finest};
use crate::gather::{Gathered, Scene};
use crate::lattice::{Lattice, Point};
use crate::light::{Light, Lit};
use crate::places::{FINEST, Face, Place, Places};
use crate::radiosity::Radiosity;
use crate::sampling::Directions;
use crate::types::BakeOptions;

/// Distance of what blocks light, in sides of a part, beyond which light is smooth over it.
const FAR: f32 = 8.0;
/// Differences between corners, in units of the error that is allowed, up to which light is taken to be linear between
/// them where nothing is near.
const STEEP: f32 = 4.0;

/// Triangles up to this size carry the light of their corners, in world units.
const SMALL: f32 = 0.05;

/// A part of a triangle: three neighbouring points of a lattice.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    face: Face,
    level: u32,
    points: [Point; 3],
    /// Length of the triangle's longest edge.
    longest: f32,
}

impl Part {
    /// Points in the middles of the sides, in coordinates of the finest lattice.
    fn middles(&self) -> [Point; 3] {
        let [a, b, c] = self.points;
        [(a, b), (b, c), (c, a)].map(|(p, q)| (p.0.midpoint(q.0), p.1.midpoint(q.1)))
    }

    fn divided(&self) -> [Self; 4] {
        let [a, b, c] = self.points;
        let [ab, bc, ca] = self.middles();
        let part = |points| Self { points, level: self.level + 1, ..*self };
        [part([a, ab, ca]), part([ab, b, bc]), part([ca, bc, c]), part([ab, bc, ca])]
    }

    /// The places of its points, where all are known.
    pub(crate) fn corners(&self, places: &Places<'_>) -> Option<[u32; 3]> {
        let corners = places.corners(self.face);
        let [a, b, c] = self.points.map(|p| places.find(self.face, corners, p));
        Some([a?, b?, c?])
    }

    fn side(&self) -> f32 {
        self.longest / (1 << self.level) as f32
    }
}

/// What is needed to find the light of any place.
pub(crate) struct Refiner<'a> {
    pub(crate) scene: &'a Scene<'a>,
    pub(crate) radiosity: &'a Radiosity<'a>,
    pub(crate) directions: &'a Directions,
    /// Places that may be probed.
    pub(crate) most: usize,
    pub(crate) eyes: &'a [Vec3],
    pub(crate) options: &'a BakeOptions,
}

impl Refiner<'_> {
    /// Adds places and their light to what is known of the coarse ones, which the parts lie between.
    pub(crate) fn refine(&self, mut parts: Vec<Part>, places: &mut Places<'_>, lit: &mut Vec<Lit>) {
        let mut left = self.most;
        while !parts.is_empty() && left > 0 {
            // The largest parts are the first to be asked, so they are worth most where not all can be.
            parts.sort_by(|a, b| b.side().total_cmp(&a.side()).then(a.face.cmp(&b.face)).then(a.points.cmp(&b.points)));
            let asked: Vec<Part> = parts.into_iter().filter(|part| self.is_doubtful(part, places, lit)).collect();
            let before = places.len();
            let mut middles = Vec::with_capacity(asked.len());
            let mut between: Vec<[u32; 2]> = Vec::new();
            for part in asked {
                if 2 * (places.len() - before) >= left {
                    break;
                }
                let corners = places.corners(part.face);
                let Some(ends) = part.corners(places) else { continue };
                let mut middle = [0; 3];
                for (k, point) in part.middles().into_iter().enumerate() {
                    middle[k] = places.find_or_add(part.face, corners, point);
                    if places.len() > before + between.len() {
                        between.push([ends[k], ends[(k + 1) % 3]]);
                    }
                }
                middles.push((part, middle));
            }
            let probed = self.probe_all(between.iter().flatten().copied(), places, lit);
            left = left.saturating_sub(places.len() - before + probed);
            let added: Vec<Lit> = places.list[before..]
                .par_iter()
                .zip(&between)
                .map(|(place, ends)| self.light_between(place, ends.map(|i| &lit[i as usize])))
                .collect();
            lit.extend(added);
            parts = middles
                .into_iter()
                .filter(|(part, middles)| self.is_wrong(part, *middles, places, lit))
                .flat_map(|(part, _)| part.divided())
                .filter(|part| part.level < FINEST && part.side() > 2.0 * self.options.finest)
                .collect();
        }
    }

    /// What the rays find that are the same at all places of equal normal.
    fn probe(&self, place: &Place) -> (Light, Gathered, f32) {
        let gathered = self.scene.gather(place, self.directions);
        let (indirect, blocked, largest) = self.radiosity.seen_by(&gathered);
        let largest = largest.max(gathered.largest);
        (Light::new(&gathered, indirect, blocked), gathered, largest)
    }

    /// Probes the places that have not been yet; how many these are.
    fn probe_all(&self, wanted: impl Iterator<Item = u32>, places: &Places<'_>, lit: &mut [Lit]) -> usize {
        let mut wanted: Vec<u32> = wanted.filter(|i| lit[*i as usize].probe.is_none()).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let found: Vec<Light> = wanted.par_iter().map(|i| self.probe(&places.list[*i as usize]).0).collect();
        for (i, probe) in wanted.iter().zip(&found) {
            lit[*i as usize].probe = Some(*probe);
        }
        found.len()
    }

    /// The light of a place in the middle of two others: the mean of theirs, and what the same rays find differently
    /// here. The noise of few rays is the same at all three and falls out of the difference.
    fn light_between(&self, place: &Place, ends: [&Lit; 2]) -> Lit {
        let (probe, gathered, step) = self.probe(place);
        let ends: Vec<(Light, Light)> =
            ends.iter().filter(|end| !end.inside).filter_map(|end| Some((end.light, end.probe?))).collect();
        let light = if ends.is_empty() {
            probe
        } else {
            let mean = |of: fn(&(Light, Light)) -> Light| {
                ends.iter().map(of).reduce(|a, b| a + b).map_or(probe, |sum| sum * (1.0 / ends.len() as f32))
            };
            let change = probe + mean(|end| end.1) * -1.0;
            let size = (gathered.open * change.direct + change.indirect).abs().max_element();
            // A single ray that is blocked here and not there is no change of light.
            (mean(|end| end.0) + change * (1.0 - step / size.max(step))).at_least_none()
        };
        Lit { probe: Some(probe), ..Lit::new(light, &gathered, self.scene.is_seen(place, self.eyes)) }
    }

    /// Whether light in between may not be what the corners say, where it is seen.
    fn is_doubtful(&self, part: &Part, places: &Places<'_>, lit: &[Lit]) -> bool {
        let Some(corners) = part.corners(places) else { return false };
        if part.side() <= 2.0 * self.options.finest {
            return false;
        }
        let corners = corners.map(|c| &lit[c as usize]);
        if !corners.iter().any(|c| c.seen) || corners.iter().all(|c| c.inside) {
            return false;
        }
        if corners.iter().any(|c| c.inside) {
            return true;
        }
        let nearest = corners.iter().map(|c| c.nearness).fold(0.0, f32::max);
        let albedo = self.albedo(part);
        let steepest = (0..3).map(|k| difference(albedo, corners[k], corners[(k + 1) % 3])).fold(0.0, f32::max);
        nearest * part.side() * FAR > 1.0 || steepest > STEEP * self.options.error
    }

    /// Whether the middles of a part's sides are lit otherwise than the means of their ends.
    fn is_wrong(&self, part: &Part, middles: [u32; 3], places: &Places<'_>, lit: &[Lit]) -> bool {
        let Some(corners) = part.corners(places) else { return false };
        let albedo = self.albedo(part);
        (0..3).any(|k| {
            let (a, b) = (&lit[corners[k] as usize], &lit[corners[(k + 1) % 3] as usize]);
            let middle = &lit[middles[k] as usize];
            let inside = [a, b, middle].map(|l| l.inside);
            if inside.contains(&true) {
                // The border of what is inside of another body is where it touches this one.
                return inside.contains(&false);
            }
            difference(albedo, &a.between(b), middle) > self.options.error
        })
    }

    fn albedo(&self, part: &Part) -> Vec3 {
        let mesh = &self.scene.meshes[part.face.mesh as usize];
        let corners = mesh.corners(part.face.triangle as usize);
        // A texture may be white anywhere.
        let floor = if mesh.texture.is_some() { 0.5 } else { 0.1 };
        (corners.map(|i| mesh.albedo[i]).iter().sum::<Vec3>() / 3.0).max(Vec3::splat(floor))
    }
}

/// The parts that coarse lattices are made of, and whole triangles that are not small.
pub(crate) fn first_parts(coarse: &Coarse<'_>) -> Vec<Part> {
    let mut parts = Vec::new();
    for (m, mesh) in coarse.places.meshes.iter().enumerate() {
        for back in coarse.places.sides(m) {
            for t in 0..mesh.indices.len() / 3 {
                let [a, b, c] = mesh.triangle(t);
                let longest = a.distance(b).max(b.distance(c)).max(c.distance(a));
                if longest <= SMALL {
                    continue;
                }
                let face = Face { mesh: m as u32, triangle: t as u32, back };
                let lattice = coarse.lattice(face);
                parts.extend(parts_of(lattice).map(|points| Part { face, level: lattice.level, points, longest }));
            }
        }
    }
    parts
}

/// All parts of a lattice, as points of the finest one.
fn parts_of(lattice: Lattice) -> impl Iterator<Item = [Point; 3]> {
    lattice.triangles().map(move |points| points.map(|p| finest(p, lattice.level)))
}

/// Largest difference of a channel between two lights on a surface, in the display's encoding.
fn difference(albedo: Vec3, a: &Lit, b: &Lit) -> f32 {
    let shown =
        |lit: &Lit| (albedo * lit.irradiance / std::f32::consts::PI).clamp(Vec3::ZERO, Vec3::ONE).powf(1.0 / 2.2);
    (shown(a) - shown(b)).abs().max_element()
}
