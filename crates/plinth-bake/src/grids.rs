//! From the light of single places to the grids of triangles.

use std::collections::BTreeMap;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::coarse::{Coarse, finest};
use crate::lattice::{Lattice, Point};
use crate::light::{Light, Lit};
use crate::places::{FINEST, Face, NONE, Places};
use crate::types::{GatheredLight, LightGrid};

/// Values in all grids together, at most.
pub const MAX_GRID_VALUES: usize = 1 << 20;

/// The grids of each mesh. Triangles with no edge longer than `shortest` have none.
pub(crate) fn grids(coarse: &Coarse<'_>, places: &Places<'_>, lit: &[Lit], shortest: f32) -> Vec<Vec<LightGrid>> {
    let levels = Levels::new(coarse, places);
    let mut wanted: Vec<Vec<(u32, u32)>> =
        (0..places.meshes.len()).map(|mesh| lattices(&levels, places, mesh, shortest)).collect();
    let values_of = |level: u32| 2 * Lattice { level }.points_in_all();
    let mut finest = FINEST;
    // Where it would be too much, the finest are the first to be coarser, all alike: they still meet at their edges.
    while wanted.iter().flatten().map(|(_, level)| values_of(*level)).sum::<usize>() > MAX_GRID_VALUES && finest > 0 {
        finest -= 1;
        for (_, level) in wanted.iter_mut().flatten() {
            *level = finest.min(*level);
        }
    }
    let grid = |mesh: usize, triangle: u32, level: u32| {
        let lattice = Lattice { level };
        let [front, back] = [false, true].map(|back| {
            let face = Face { mesh: mesh as u32, triangle, back };
            if places.sides(mesh).any(|b| b == back) { values(places, lit, face, lattice) } else { Vec::new() }
        });
        LightGrid { triangle, lattice, front, back }
    };
    wanted
        .into_iter()
        .enumerate()
        .map(|(mesh, wanted)| {
            let with_grid = wanted.into_par_iter().filter(|(_, level)| *level > 0);
            with_grid.map(|(triangle, level)| grid(mesh, triangle, level)).collect()
        })
        .collect()
}

/// Triangles of a mesh and the levels of their lattices.
fn lattices(levels: &Levels, places: &Places<'_>, m: usize, shortest: f32) -> Vec<(u32, u32)> {
    if places.sides(m).next().is_none() || levels.edges.is_empty() {
        return Vec::new();
    }
    let mesh = &places.meshes[m];
    (0..mesh.indices.len() / 3)
        .into_par_iter()
        .filter_map(|t| {
            let [a, b, c] = mesh.triangle(t);
            if a.distance(b).max(b.distance(c)).max(c.distance(a)) <= shortest {
                return None;
            }
            let face = |back| Face { mesh: m as u32, triangle: t as u32, back };
            let level = places.sides(m).map(|back| levels.of(places, face(back))).max()?;
            (level > 0).then_some((t as u32, level))
        })
        .collect()
}

/// How fine the light of triangles is known, inside and along their edges.
struct Levels {
    inside: FxHashMap<Face, u32>,
    edges: BTreeMap<(u32, u32), u32>,
}

impl Levels {
    fn new(coarse: &Coarse<'_>, places: &Places<'_>) -> Self {
        let mut inside: FxHashMap<Face, u32> =
            coarse.faces.iter().map(|face| (*face, coarse.lattice(*face).level)).collect();
        let mut edges: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for face in &coarse.faces {
            let level = coarse.lattice(*face).level;
            let [a, b, c] = places.corners(*face);
            for (from, to) in [(a, b), (b, c), (a, c)] {
                let known = edges.entry((from.min(to), from.max(to))).or_default();
                *known = level.max(*known);
            }
        }
        places.each_inside(|face, point| {
            let known = inside.entry(face).or_default();
            *known = level_of(point).max(*known);
        });
        places.each_on_edge(|from, to, parts| {
            let known = edges.entry((from, to)).or_default();
            *known = level_of((parts, 0)).max(*known);
        });
        Self { inside, edges }
    }

    fn of(&self, places: &Places<'_>, face: Face) -> u32 {
        let [a, b, c] = places.corners(face);
        let edge = |from: u32, to: u32| self.edges.get(&(from.min(to), from.max(to))).copied().unwrap_or(0);
        let inside = self.inside.get(&face).copied().unwrap_or(0);
        inside.max(edge(a, b)).max(edge(b, c)).max(edge(a, c))
    }
}

/// The coarsest level that has a point of the finest lattice.
fn level_of((i, j): Point) -> u32 {
    FINEST - (i | j).trailing_zeros().min(FINEST)
}

/// The light of every point of a face's lattice. Points that were not asked lie in the middle of those around them.
fn values(places: &Places<'_>, lit: &[Lit], face: Face, lattice: Lattice) -> Vec<GatheredLight> {
    let corners = places.corners(face);
    let of = |place: u32| {
        let known = &lit[place as usize];
        (known.light, !known.inside)
    };
    let mut found: Vec<Option<(Light, bool)>> = vec![None; lattice.points_in_all()];
    for level in 0..=lattice.level {
        let step = 1 << (lattice.level - level);
        for (i, j) in (Lattice { level }).points() {
            let point = (i * step, j * step);
            let index = lattice.index(point);
            if found[index].is_some() {
                continue;
            }
            let asked = places.find(face, corners, finest(point, lattice.level)).filter(|p| *p != NONE);
            found[index] = if let Some(place) = asked {
                Some(of(place))
            } else {
                let [a, b] = Lattice::parents(point, step).map(|p| found[lattice.index(p)]);
                match (a, b) {
                    // What is inside of another body says nothing of the surface beside it.
                    (Some((a, true)), Some((b, true))) => Some(((a + b) * 0.5, true)),
                    (Some((a, true)), _) | (_, Some((a, true))) => Some((a, true)),
                    (either, _) => either,
                }
            };
        }
    }
    filled(lattice, found).into_iter().map(GatheredLight::from).collect()
}

/// Gives points inside of other bodies the mean of the points beside them that are not, from these inward.
fn filled(lattice: Lattice, found: Vec<Option<(Light, bool)>>) -> Vec<Light> {
    let mut known: Vec<(Light, bool)> = found.into_iter().flatten().collect();
    debug_assert_eq!(known.len(), lattice.points_in_all());
    let mut unknown: Vec<Point> = lattice.points().filter(|p| !known[lattice.index(*p)].1).collect();
    loop {
        let mut better: Vec<(usize, Light)> = Vec::new();
        unknown.retain(|p| {
            let good = lattice.neighbours(*p).map(|n| known[lattice.index(n)]).filter(|(_, trusted)| *trusted);
            let (sum, count) = good.fold((None, 0.0), |(sum, count), (light, _)| {
                (Some(sum.map_or(light, |s: Light| s + light)), count + 1.0)
            });
            better.extend(sum.map(|sum| (lattice.index(*p), sum * (1.0 / count))));
            sum.is_none()
        });
        if better.is_empty() {
            return known.into_iter().map(|(light, _)| light).collect();
        }
        for (index, light) in better {
            known[index] = (light, true);
        }
    }
}
