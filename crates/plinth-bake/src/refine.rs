//! Adds vertices where light changes between those that are there: large triangles carry the light of their corners
//! only. Edges are halved, and every triangle at an edge is divided alike, so that no gaps open.

use std::collections::{HashMap, HashSet};

use glam::Vec3;
use plinth_scene::EnvironmentMap;
use rayon::prelude::*;

use crate::gather::Scene;
use crate::hemisphere::Hemisphere;
use crate::types::{BakeMesh, RefineOptions, Refinement};
use crate::weld::{Inward, Receiver, Site, site};

/// Positions in one cell of this size are one place, in world units (the model spans 2).
const PLACE: f32 = 2e-6;

/// Finds where meshes need more vertices for the light of an environment, as far as it is seen from `eyes`.
/// Shape: a refinement per mesh; that of a mesh that is not `divisible` changes nothing.
pub fn refine(
    meshes: &[BakeMesh],
    environment: &EnvironmentMap,
    eyes: &[Vec3],
    options: &RefineOptions,
) -> Vec<Refinement> {
    let shortest = shortest_edge(meshes, options);
    let mut places = HashMap::new();
    let mut drafts: Vec<Draft<'_>> = meshes.iter().map(|mesh| Draft::new(mesh, shortest, &mut places)).collect();
    if drafts.iter().any(Draft::has_long_edges) {
        let scene = Scene::new(meshes, environment, &[]);
        let hemisphere = Hemisphere::new(options.samples);
        let mut known: HashMap<Site, Known> = HashMap::new();
        let mut left = options.max_vertices;
        let mut next_place = places.len() as u32;
        for _ in 0..options.rounds {
            let survey = Survey::new(&drafts);
            survey.probe(&scene, &hemisphere, eyes, &mut known);
            let mut wanted = survey.wanted(&known, options);
            with_longest(&drafts, &mut wanted);
            let added = divide(&mut drafts, &mut next_place, &wanted, left);
            left = left.saturating_sub(added);
            if added == 0 {
                break;
            }
        }
    }
    drafts.into_iter().map(|draft| draft.refinement).collect()
}

/// Length up to which edges stay whole: with very many edges, only the longest of them are looked at.
fn shortest_edge(meshes: &[BakeMesh], options: &RefineOptions) -> f32 {
    let length = |mesh: &BakeMesh, (a, b): (u32, u32)| mesh.positions[a as usize].distance(mesh.positions[b as usize]);
    let divisible = meshes.iter().filter(|mesh| mesh.divisible && mesh.receives);
    let mut lengths: Vec<f32> = divisible
        .flat_map(|mesh| mesh.indices.as_chunks::<3>().0.iter().flat_map(sides).map(move |side| length(mesh, side)))
        .filter(|length| *length > options.shortest_edge)
        .collect();
    // Most edges are sides of two triangles.
    let most = options.max_edges * 2;
    if lengths.len() <= most {
        return options.shortest_edge;
    }
    let (_, shortest, _) = lengths.select_nth_unstable_by(most, |a, b| b.total_cmp(a));
    *shortest
}

/// Two places, the smaller first: an edge, whatever triangles and meshes it belongs to. Vertices at one place have one
/// number in all meshes.
type Edge = (u32, u32);

/// A mesh with the vertices that it has been given so far.
struct Draft<'a> {
    mesh: &'a BakeMesh,
    refinement: Refinement,
    positions: Vec<Vec3>,
    normals: Vec<Vec3>,
    places: Vec<u32>,
    /// Length up to which edges stay whole.
    shortest: f32,
}

impl<'a> Draft<'a> {
    fn new(mesh: &'a BakeMesh, shortest: f32, places: &mut HashMap<[i32; 3], u32>) -> Self {
        let mut place = |position: &Vec3| {
            let next = places.len() as u32;
            *places.entry((*position / PLACE).round().as_ivec3().to_array()).or_insert(next)
        };
        Self {
            places: if mesh.divisible { mesh.positions.iter().map(&mut place).collect() } else { Vec::new() },
            mesh,
            shortest,
            refinement: Refinement { indices: mesh.indices.clone(), parents: Vec::new() },
            positions: mesh.positions.clone(),
            normals: mesh.normals.clone(),
        }
    }

    fn triangles(&self) -> &[[u32; 3]] {
        self.refinement.indices.as_chunks::<3>().0
    }

    fn has_long_edges(&self) -> bool {
        self.mesh.divisible && self.triangles().iter().flat_map(sides).any(|(a, b)| self.edge(a, b).is_some())
    }

    fn position(&self, vertex: u32) -> Vec3 {
        self.positions[vertex as usize]
    }

    fn length(&self, a: u32, b: u32) -> f32 {
        self.position(a).distance(self.position(b))
    }

    /// An edge, if it is long enough to be halved.
    fn edge(&self, a: u32, b: u32) -> Option<Edge> {
        let (from, to) = (self.places[a as usize], self.places[b as usize]);
        (self.length(a, b) > self.shortest).then_some((from.min(to), from.max(to)))
    }

    fn middle(&self, a: u32, b: u32) -> (Vec3, Vec3) {
        let normal = self.normals[a as usize] + self.normals[b as usize];
        (self.position(a).midpoint(self.position(b)), normal.normalize_or(self.normals[a as usize]))
    }

    /// Divides the triangles at edges whose middles are given.
    fn divide(&mut self, middles: &HashMap<Edge, u32>) {
        let mut added: HashMap<(u32, u32), u32> = HashMap::new();
        let mut indices = Vec::with_capacity(self.refinement.indices.len());
        for t in self.refinement.indices.clone().as_chunks::<3>().0 {
            let middle = sides(t).map(|(a, b)| {
                self.edge(a, b).and_then(|edge| middles.get(&edge)).map(|place| {
                    *added.entry((a.min(b), a.max(b))).or_insert_with(|| {
                        let (position, normal) = self.middle(a, b);
                        self.positions.push(position);
                        self.normals.push(normal);
                        self.places.push(*place);
                        self.refinement.parents.push([a.min(b), a.max(b)]);
                        (self.positions.len() - 1) as u32
                    })
                })
            });
            indices.extend(self.divided(*t, middle).as_flattened());
        }
        self.refinement.indices = indices;
    }

    /// The parts of a triangle whose sides may have a vertex in the middle.
    fn divided(&self, [a, b, c]: [u32; 3], [ab, bc, ca]: [Option<u32>; 3]) -> Vec<[u32; 3]> {
        match (ab, bc, ca) {
            (None, None, None) => vec![[a, b, c]],
            (Some(ab), Some(bc), Some(ca)) => vec![[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]],
            // Turned so that the first side is a divided one, and with two of them, the third side is whole.
            (Some(ab), None, None) => vec![[a, ab, c], [ab, b, c]],
            (Some(ab), Some(bc), None) => {
                let tip = [ab, b, bc];
                // The shorter diagonal leaves the better shapes.
                if self.length(a, bc) <= self.length(ab, c) {
                    vec![tip, [a, ab, bc], [a, bc, c]]
                } else {
                    vec![tip, [a, ab, c], [ab, bc, c]]
                }
            }
            (None, _, _) => self.divided([b, c, a], [bc, ca, ab]),
            (Some(_), None, Some(_)) => self.divided([c, a, b], [ca, ab, bc]),
        }
    }
}

fn sides([a, b, c]: &[u32; 3]) -> [(u32, u32); 3] {
    [(*a, *b), (*b, *c), (*c, *a)]
}

/// Adds the longest edge of every triangle with a wanted one: parts of long triangles would be longer still
/// (Rivara 1984, "Algorithms for refining triangular grids").
fn with_longest(drafts: &[Draft<'_>], wanted: &mut Vec<Edge>) {
    // The long edges of each triangle, the longest first.
    let mut triangles: Vec<Vec<Edge>> = Vec::new();
    for draft in drafts.iter().filter(|draft| draft.mesh.divisible) {
        for t in draft.triangles() {
            let long = |(a, b)| draft.edge(a, b).map(|edge| (draft.length(a, b), edge));
            let mut edges: Vec<(f32, Edge)> = sides(t).into_iter().filter_map(long).collect();
            if edges.len() > 1 {
                edges.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                triangles.push(edges.into_iter().map(|(_, edge)| edge).collect());
            }
        }
    }
    let mut all: HashSet<Edge> = wanted.iter().copied().collect();
    loop {
        let before = wanted.len();
        for edges in &triangles {
            if edges[1..].iter().any(|edge| all.contains(edge)) && all.insert(edges[0]) {
                wanted.push(edges[0]);
            }
        }
        if wanted.len() == before {
            break;
        }
    }
}

/// Halves the wanted edges, the first ones first, until no vertex is left; how many were added.
fn divide(drafts: &mut [Draft<'_>], next_place: &mut u32, wanted: &[Edge], left: usize) -> usize {
    // Vertices that each edge costs: one for each pair of vertices in each mesh.
    let mut cost: HashMap<Edge, usize> = wanted.iter().map(|edge| (*edge, 0)).collect();
    for draft in drafts.iter().filter(|draft| draft.mesh.divisible) {
        let mut pairs = HashSet::new();
        for (a, b) in draft.triangles().iter().flat_map(sides) {
            if let Some(cost) = draft.edge(a, b).and_then(|edge| cost.get_mut(&edge))
                && pairs.insert((a.min(b), a.max(b)))
            {
                *cost += 1;
            }
        }
    }
    let mut added = 0;
    let affordable = wanted.iter().take_while(|edge| {
        added += cost[*edge];
        added <= left
    });
    let chosen: HashMap<Edge, u32> = (*next_place..).zip(affordable).map(|(place, edge)| (*edge, place)).collect();
    *next_place += chosen.len() as u32;
    let before: usize = drafts.iter().map(|draft| draft.refinement.parents.len()).sum();
    drafts.par_iter_mut().filter(|draft| draft.mesh.divisible).for_each(|draft| draft.divide(&chosen));
    drafts.iter().map(|draft| draft.refinement.parents.len()).sum::<usize>() - before
}

/// A place of which light is asked.
struct Place {
    site: Site,
    position: Vec3,
    normal: Vec3,
    inward: Inward,
    double_sided: bool,
}

impl Place {
    fn receiver(&self) -> Receiver {
        Receiver { position: self.position, normal: self.normal, inset: self.inward.inset(self.normal) }
    }
}

/// What is known of a place.
#[derive(Clone, Copy)]
struct Known {
    light: Vec3,
    seen: bool,
}

/// Edges long enough to be halved, with their ends and middles.
#[derive(Default)]
struct Survey {
    places: Vec<Place>,
    index: HashMap<Site, usize>,
    /// Ends, middle, the edge and its length.
    spans: Vec<([usize; 2], usize, Edge, f32)>,
}

impl Survey {
    fn new(drafts: &[Draft<'_>]) -> Self {
        let mut out = Self::default();
        let mut seen = HashSet::new();
        for draft in drafts.iter().filter(|draft| draft.mesh.divisible && draft.mesh.receives) {
            for t in draft.triangles() {
                for (a, b) in sides(t) {
                    let Some(edge) = draft.edge(a, b) else { continue };
                    let inside = t.map(|i| draft.position(i)).iter().sum::<Vec3>() / 3.0;
                    let mut place = |position, normal| {
                        let index = out.place(position, normal);
                        out.places[index].inward.add(inside - position);
                        out.places[index].double_sided |= draft.mesh.double_sided;
                        index
                    };
                    let ends = [a, b].map(|i| place(draft.position(i), draft.normals[i as usize]));
                    let (position, normal) = draft.middle(a, b);
                    let middle = place(position, normal);
                    if seen.insert((ends[0].min(ends[1]), ends[0].max(ends[1]))) {
                        out.spans.push((ends, middle, edge, draft.length(a, b)));
                    }
                }
            }
        }
        out
    }

    fn place(&mut self, position: Vec3, normal: Vec3) -> usize {
        let site = site(position, normal);
        *self.index.entry(site).or_insert_with(|| {
            self.places.push(Place { site, position, normal, inward: Inward::default(), double_sided: false });
            self.places.len() - 1
        })
    }

    /// Finds out about places of seen edges that are not known yet.
    fn probe(&self, scene: &Scene<'_>, hemisphere: &Hemisphere, eyes: &[Vec3], known: &mut HashMap<Site, Known>) {
        let seen: Vec<bool> = self
            .places
            .par_iter()
            .map(|place| match known.get(&place.site) {
                Some(known) => known.seen,
                None => scene.is_seen(&place.receiver(), place.double_sided, eyes),
            })
            .collect();
        let mut asked = vec![false; self.places.len()];
        for ([a, b], middle, ..) in &self.spans {
            let places = [*a, *b, *middle];
            if places.iter().any(|i| seen[*i]) {
                for i in places {
                    asked[i] = true;
                }
            }
        }
        let new: Vec<(Site, Known)> = (0..self.places.len())
            .into_par_iter()
            .filter(|i| asked[*i] && !known.contains_key(&self.places[*i].site))
            .map(|i| {
                let light = scene.probe(&self.places[i].receiver(), hemisphere);
                (self.places[i].site, Known { light, seen: seen[i] })
            })
            .collect();
        known.extend(new);
    }

    /// Edges whose middle is lit otherwise than the mean of their ends, the largest differences first.
    fn wanted(&self, known: &HashMap<Site, Known>, options: &RefineOptions) -> Vec<Edge> {
        let of = |place: usize| known.get(&self.places[place].site);
        let mut scored: Vec<(f32, Edge)> = self
            .spans
            .iter()
            .filter_map(|([a, b], middle, edge, length)| {
                let (a, b, middle) = (of(*a)?, of(*b)?, of(*middle)?);
                if !(a.seen || b.seen || middle.seen) {
                    return None;
                }
                let error = (middle.light - a.light.midpoint(b.light)).abs().max_element();
                let visible = error >= options.least_error && error * length >= options.least_area;
                (visible || *length > options.longest_edge).then_some((error * length, *edge))
            })
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut seen = HashSet::new();
        scored.into_iter().map(|(_, edge)| edge).filter(|edge| seen.insert(*edge)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const EYES: [Vec3; 2] = [Vec3::new(1.0, 2.0, -3.0), Vec3::new(-3.0, 1.0, -2.0)];

    fn white() -> EnvironmentMap {
        EnvironmentMap { width: 16, height: 8, pixels: vec![[1.0; 3]; 128] }
    }

    /// Two triangles in the plane y = `y`, facing up.
    fn square(side: f32, y: f32) -> BakeMesh {
        let h = side / 2.0;
        BakeMesh {
            positions: [(-h, -h), (h, -h), (h, h), (-h, h)].map(|(x, z)| Vec3::new(x, y, z)).to_vec(),
            normals: vec![Vec3::Y; 4],
            indices: vec![0, 2, 1, 0, 3, 2],
            albedo: vec![Vec3::splat(0.5); 4],
            occludes: true,
            receives: true,
            divisible: true,
            ..BakeMesh::default()
        }
    }

    fn refined(meshes: &[BakeMesh]) -> Vec<BakeMesh> {
        let mut out = meshes.to_vec();
        for (mesh, refinement) in out.iter_mut().zip(refine(meshes, &white(), &EYES, &RefineOptions::default())) {
            refinement.apply(mesh);
        }
        out
    }

    fn area(mesh: &BakeMesh) -> f32 {
        let corner = |i: u32| mesh.positions[i as usize];
        let twice = |[a, b, c]: &[u32; 3]| (corner(*b) - corner(*a)).cross(corner(*c) - corner(*a)).y;
        mesh.indices.as_chunks::<3>().0.iter().map(twice).sum::<f32>() / 2.0
    }

    #[test]
    fn a_shadow_gets_vertices_and_an_open_floor_gets_few() {
        let open = refined(&[square(2.0, 0.0)]);
        let mut table = square(0.5, 0.1);
        table.receives = false;
        let shaded = refined(&[square(2.0, 0.0), table]);
        let near = |mesh: &BakeMesh| mesh.positions.iter().filter(|p| p.x.abs() < 0.5 && p.z.abs() < 0.5).count();
        assert!(open[0].positions.len() < 100, "{}", open[0].positions.len());
        assert!(near(&shaded[0]) > 5 * near(&open[0]), "{} {}", near(&shaded[0]), near(&open[0]));
    }

    #[test]
    fn a_refined_mesh_covers_the_same_area_with_the_same_orientation() {
        let mut table = square(0.5, 0.1);
        table.receives = false;
        let mesh = &refined(&[square(2.0, 0.0), table])[0];
        assert!((area(mesh) - 4.0).abs() < 1e-3, "{}", area(mesh));
        assert!(mesh.normals.len() == mesh.positions.len() && mesh.albedo.len() == mesh.positions.len());
    }

    #[test]
    fn no_vertex_lies_inside_of_an_edge_even_between_meshes_and_across_creases() {
        // Two halves of a floor as meshes of their own, and a wall on their far side with normals of its own.
        let mut left = square(1.0, 0.0);
        let mut right = square(1.0, 0.0);
        let mut wall = square(1.0, 0.0);
        for (mesh, shift) in [(&mut left, -0.5), (&mut right, 0.5)] {
            mesh.positions.iter_mut().for_each(|p| p.x += shift);
        }
        for p in &mut wall.positions {
            *p = Vec3::new(p.x + 0.5, p.z + 0.5, 0.5);
        }
        wall.normals = vec![Vec3::NEG_Z; 4];
        let meshes = refined(&[left, right, wall]);
        let mut edges: BTreeMap<[[i32; 3]; 2], usize> = BTreeMap::new();
        let key = |p: Vec3| (p * 1e5).round().as_ivec3().to_array();
        let mut all = Vec::new();
        for mesh in &meshes {
            all.extend(mesh.positions.iter().copied());
            for (a, b) in mesh.indices.as_chunks::<3>().0.iter().flat_map(sides) {
                let (a, b) = (key(mesh.positions[a as usize]), key(mesh.positions[b as usize]));
                *edges.entry([a.min(b), a.max(b)]).or_default() += 1;
            }
        }
        assert!(edges.len() > 100, "{}", edges.len());
        let point = |k: [i32; 3]| Vec3::from_array(k.map(|c| c as f32 / 1e5));
        for [a, b] in edges.keys().map(|e| e.map(point)) {
            let inside = all.iter().find(|p| {
                let along = (**p - a).dot(b - a) / (b - a).length_squared();
                along > 0.01 && along < 0.99 && (a + (b - a) * along).distance(**p) < 1e-4
            });
            assert_eq!(inside, None, "on {a} {b}");
        }
    }

    #[test]
    fn what_no_camera_sees_stays_as_it_is() {
        let meshes = [square(2.0, 0.0), square(0.5, 0.1)];
        let below = [Vec3::new(0.0, -3.0, 0.0)];
        let refinements = refine(&meshes, &white(), &below, &RefineOptions::default());
        assert!(refinements.iter().all(|r| r.parents.is_empty()));
    }

    #[test]
    fn vertices_are_never_more_than_allowed_and_what_moves_stays_as_it_is() {
        let mut table = square(0.5, 0.1);
        table.divisible = false;
        let meshes = [square(2.0, 0.0), table];
        let options = RefineOptions { max_vertices: 50, ..RefineOptions::default() };
        let refinements = refine(&meshes, &white(), &EYES, &options);
        assert!((1..=50).contains(&refinements[0].parents.len()), "{}", refinements[0].parents.len());
        assert_eq!(refinements[1], Refinement { indices: meshes[1].indices.clone(), parents: Vec::new() });
    }

    #[test]
    fn the_number_of_threads_does_not_matter() {
        let meshes = [square(2.0, 0.0), square(0.5, 0.1)];
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| refine(&meshes, &white(), &EYES, &RefineOptions::default()))
        };
        assert_eq!(run(1), run(4));
    }
}
