//! Computes the light on all meshes. `bake` and `bake_light` are the entry points of the crate.

use std::convert::identity;

use glam::Vec3;
use plinth_scene::EnvironmentMap;
use rayon::prelude::*;

use crate::coarse::CoarseSamples;
use crate::enclosed::{ENCLOSED_RAYS, points_in_closed_meshes};
use crate::gather::{GatherResult, Occluder, Scene};
use crate::geometry::MeshGeometry;
use crate::grids::grids;
use crate::light::{LightValue, LitPoint};
use crate::lit_surface::{LitSurface, lit_surfaces};
use crate::neighbours::Neighbours;
use crate::point_lists::PointLists;
use crate::radiosity::Radiosity;
use crate::refine::{Refiner, SubTriangle, initial_sub_triangles};
use crate::samples::{NO_SAMPLE, SamplePoints, VertexSamples};
use crate::sampling::RayDirections;
use crate::types::{BakeLight, BakeMesh, BakeOptions, Baked, BakedMesh, GatheredLight, LightGrid};

/// Computes the light on every mesh that receives light, like [`bake_light`], with the geometry of `meshes`.
pub fn bake(
    meshes: &[BakeMesh],
    environment: &EnvironmentMap,
    lights: &[BakeLight],
    camera_positions: &[Vec3],
    options: &BakeOptions,
) -> Baked {
    let geometry = MeshGeometry::new(meshes, options);
    let (meshes, surfaces) = bake_light(&geometry, meshes, environment, lights, camera_positions, options, identity);
    Baked { meshes, surfaces }
}

/// Computes the light on every mesh that receives light. `geometry` must have been computed from the same `meshes` and
/// `options`, except that shadow catchers at the end of `meshes` may be others. More points are sampled where the light
/// varies on a surface that is visible from one of `camera_positions`. `use_surfaces` is called with
/// [`Baked::surfaces`], and may run while these points are sampled.
/// Shape: the lists have one entry per mesh. The entry of a mesh that does not receive light is empty.
/// Returns [`Baked::meshes`], and the result of `use_surfaces`.
pub fn bake_light<T: Send>(
    geometry: &MeshGeometry,
    meshes: &[BakeMesh],
    environment: &EnvironmentMap,
    lights: &[BakeLight],
    camera_positions: &[Vec3],
    options: &BakeOptions,
    use_surfaces: impl FnOnce(Vec<LitSurface>) -> T + Send,
) -> (Vec<BakedMesh>, T) {
    let scene = Scene::new(meshes, &geometry.occluders, environment, lights);
    let samples = SamplePoints::new(meshes, &geometry.vertices);
    let rays_per_vertex = (options.ray_budget / samples.len().max(1)).clamp(options.min_samples, options.max_samples);
    // The fraction of the ray budget that is used for sample points at vertices.
    let vertex_ray_share = ((samples.len() * rays_per_vertex) as f32 / options.ray_budget as f32).min(1.0);
    let coarse = CoarseSamples::new(samples, options, vertex_ray_share);
    let sub_triangles = initial_sub_triangles(&coarse, options.max_refined);
    let seen = visible_to_cameras(&scene, &coarse, &sub_triangles, camera_positions);
    let (gathered, occluders) = gather(&scene, &coarse, &seen, rays_per_vertex, camera_positions, options);
    let radiosity = Radiosity::solve(&scene, &coarse, &gathered, &occluders, options.bounces);
    // Frees tens of megabytes, which the following steps allocate again.
    drop(occluders);
    let mut light: Vec<LightValue> = gathered
        .par_iter()
        .zip(radiosity.indirect.par_iter().zip(&radiosity.occluder_luminance))
        .map(|(gathered, (indirect, blocked))| LightValue::new(gathered, *indirect, *blocked))
        .collect();
    let reliable: Vec<bool> = gathered.iter().map(|g| !g.is_inside_body()).collect();
    geometry.smoothing.fill(&mut light, &reliable);
    geometry.smoothing.smooth(&mut light, &gathered, rays_per_vertex);
    Neighbours::on_lattices(&coarse).fit(&mut light, &gathered, &coarse.samples);
    let mut lit: Vec<LitPoint> = light
        .par_iter()
        .zip(&gathered)
        .zip(&seen)
        .map(|((light, gathered), seen)| LitPoint::new(*light, gathered, *seen))
        .collect();
    let surfaces = if options.surfaces {
        lit_surfaces(&scene, &coarse, &gathered, &lit, options.shared_cell > 0.0)
    } else {
        Vec::new()
    };
    let budget = options.probe_budget as f32 * (1.0 - vertex_ray_share * PROBES_SAVED_BY_VERTICES);
    let probe_directions = RayDirections::fixed_per_normal(options.probe_samples);
    let max_probes = budget as usize / probe_directions.len();
    let refiner = Refiner {
        scene: &scene,
        radiosity: &radiosity,
        directions: &probe_directions,
        max_probes,
        camera_positions,
        options,
    };
    let mut samples = coarse.samples.clone();
    let refine = || {
        refiner.refine(sub_triangles, &mut samples, &mut lit);
        grids(&coarse, &samples, &lit, options.min_spacing)
    };
    let (grids, used) = rayon::join(refine, || use_surfaces(surfaces));
    (baked_meshes(&scene, &samples, &lit, grids, options), used)
}

/// Returns the light of the sample points, grouped by mesh.
fn baked_meshes(
    scene: &Scene<'_>,
    samples: &SamplePoints<'_>,
    lit: &[LitPoint],
    grids: Vec<Vec<LightGrid>>,
    options: &BakeOptions,
) -> Vec<BakedMesh> {
    let light_of_sample = |sample: &u32| {
        if *sample == NO_SAMPLE { GatheredLight::default() } else { GatheredLight::from(lit[*sample as usize].light) }
    };
    let light_at_vertices = |vertex_samples: &[u32]| vertex_samples.par_iter().map(light_of_sample).collect();
    let of_mesh = |((mesh, vertex_samples), grids): ((&BakeMesh, &VertexSamples), Vec<LightGrid>)| {
        if mesh.is_shadow_catcher {
            let front = light_on_shadow_catcher(scene, mesh, options.shadow_catcher_samples);
            return BakedMesh { front, ..BakedMesh::default() };
        }
        BakedMesh {
            front: light_at_vertices(&vertex_samples.front),
            back: light_at_vertices(&vertex_samples.back),
            grids,
        }
    };
    samples.meshes.par_iter().zip(&samples.vertex_samples).zip(grids).map(of_mesh).collect()
}

/// Returns for each sample point whether a camera sees it. Only points that are a corner of one of `sub_triangles` are
/// tested. The entries of all other points are false and are not used.
fn visible_to_cameras(
    scene: &Scene<'_>,
    coarse: &CoarseSamples<'_>,
    sub_triangles: &[SubTriangle],
    camera_positions: &[Vec3],
) -> Vec<bool> {
    let mut is_corner = vec![false; coarse.samples.len()];
    for sample in sub_triangles.iter().filter_map(|triangle| triangle.corners(&coarse.samples)).flatten() {
        is_corner[sample as usize] = true;
    }
    coarse
        .samples
        .list
        .par_iter()
        .zip(is_corner)
        .map(|(sample, is_corner)| is_corner && scene.is_seen(sample, camera_positions))
        .collect()
}

/// Fraction of `BakeOptions::probe_budget` that is not used if the sample points at vertices use the whole
/// `BakeOptions::ray_budget`.
const PROBES_SAVED_BY_VERTICES: f32 = 0.85;

/// Casts the rays of all coarse sample points. A sample point at a vertex casts `rays_per_vertex` rays, or [`ENCLOSED_RAYS`]
/// inside a closed mesh (see [`enclosed`](crate::enclosed)). Returns the results of all points, and their occluders.
fn gather(
    scene: &Scene<'_>,
    coarse: &CoarseSamples<'_>,
    seen: &[bool],
    rays_per_vertex: usize,
    camera_positions: &[Vec3],
    options: &BakeOptions,
) -> (Vec<GatherResult>, PointLists<Occluder>) {
    let vertex_directions = RayDirections::jittered(rays_per_vertex);
    let seen_directions = RayDirections::jittered(options.seen_samples);
    let unseen_directions = RayDirections::jittered(options.unseen_samples);
    let directions = |i: usize| match (i < coarse.vertex_count, seen[i]) {
        (true, _) => &vertex_directions,
        (false, true) => &seen_directions,
        (false, false) => &unseen_directions,
    };
    let points = &coarse.samples.list;
    // With fewer rays per vertex, the test would cost more than it saves.
    let in_closed_mesh = if rays_per_vertex > 2 * ENCLOSED_RAYS {
        points_in_closed_meshes(scene, &coarse.samples, camera_positions)
    } else {
        vec![false; points.len()]
    };
    let few_directions = RayDirections::by_cosine(ENCLOSED_RAYS);
    PointLists::compute(points.len(), |i, occluders| {
        let enclosed =
            if in_closed_mesh[i] { scene.gather_if_enclosed(&points[i], &few_directions, occluders) } else { None };
        enclosed.unwrap_or_else(|| scene.gather(&points[i], directions(i), occluders))
    })
}

/// Computes the light that arrives at the vertices of a shadow catcher without being reflected.
fn light_on_shadow_catcher(scene: &Scene<'_>, mesh: &BakeMesh, samples: usize) -> Vec<GatheredLight> {
    let directions = RayDirections::fixed_per_normal(samples);
    // A shadow catcher is usually flat, so the rays of all its vertices have the same directions.
    let mut positions = mesh.positions.as_slice();
    let same_normal = mesh.normals.chunk_by(PartialEq::eq).map(|normals| {
        let (points, rest) = positions.split_at(normals.len().min(positions.len()));
        positions = rest;
        (points, normals[0])
    });
    let shares = |(points, normal): (&[Vec3], Vec3)| scene.direct_shares(points, normal, &directions);
    let shares: Vec<Vec<Vec3>> = same_normal.collect::<Vec<_>>().into_par_iter().map(shares).collect();
    shares.into_iter().flatten().map(|direct| GatheredLight { direct, ..GatheredLight::default() }).collect()
}

#[cfg(test)]
mod tests {
    use std::f32::consts::TAU;

    use super::*;

    /// Number of rays per vertex.
    const RAYS: usize = 32;

    fn white() -> EnvironmentMap {
        EnvironmentMap { width: 16, height: 8, pixels: vec![[1.0; 3]; 128] }
    }

    /// Returns a double-sided tube around the z axis. Its ends are open, or closed by discs.
    fn tube(is_closed: bool) -> BakeMesh {
        let (columns, rows) = (24_u32, 20_u32);
        let outwards = |column: u32| {
            let (sin, cos) = (column as f32 / columns as f32 * TAU).sin_cos();
            Vec3::new(cos, sin, 0.0)
        };
        let mut mesh = BakeMesh { double_sided: true, occludes: true, receives_light: true, ..BakeMesh::default() };
        for i in 0..columns * (rows + 1) {
            let (normal, z) = (outwards(i % columns), (i / columns) as f32 / rows as f32 - 0.5);
            mesh.positions.push(normal * 0.1 + Vec3::Z * z);
            mesh.normals.push(normal);
        }
        for a in 0..columns * rows {
            let b = a / columns * columns + (a + 1) % columns;
            mesh.indices.extend([a, b, b + columns, a, b + columns, a + columns]);
        }
        for z in [-0.5_f32, 0.5].into_iter().filter(|_| is_closed) {
            let center = mesh.positions.len() as u32;
            mesh.positions.push(Vec3::Z * z);
            mesh.positions.extend((0..columns).map(|column| outwards(column) * 0.1 + Vec3::Z * z));
            mesh.normals.resize(mesh.positions.len(), Vec3::Z * (2.0 * z));
            for column in 0..columns {
                let (a, b) = (center + 1 + column, center + 1 + (column + 1) % columns);
                mesh.indices.extend(if z > 0.0 { [center, a, b] } else { [center, b, a] });
            }
        }
        mesh.albedo = vec![Vec3::splat(0.5); mesh.positions.len()];
        mesh
    }

    /// Returns a square in the plane z = `z` that faces up or down.
    fn square(half_side: f32, z: f32, normal: Vec3) -> BakeMesh {
        let corners = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)];
        BakeMesh {
            positions: corners.map(|(x, y)| Vec3::new(x * half_side, y * half_side, z)).to_vec(),
            normals: vec![normal; 4],
            indices: if normal.z > 0.0 { vec![0, 1, 2, 0, 2, 3] } else { vec![0, 2, 1, 0, 3, 2] },
            albedo: vec![Vec3::splat(0.5); 4],
            occludes: true,
            receives_light: true,
            ..BakeMesh::default()
        }
    }

    /// Returns many double-sided leaves, of which each two neighbours turn their back sides or their front sides to each other.
    fn leaves() -> BakeMesh {
        let mut mesh = BakeMesh { double_sided: true, ..square(0.1, 0.0, Vec3::Z) };
        for k in 1..64_u8 {
            let leaf = square(0.1, 0.02 * f32::from(k), if k.is_multiple_of(2) { Vec3::Z } else { Vec3::NEG_Z });
            let first = mesh.positions.len() as u32;
            mesh.positions.extend(leaf.positions);
            mesh.normals.extend(leaf.normals);
            mesh.albedo.extend(leaf.albedo);
            mesh.indices.extend(leaf.indices.iter().map(|i| i + first));
        }
        mesh
    }

    /// What a vertex has gathered.
    struct AtVertex {
        in_closed_mesh: bool,
        occluders: usize,
        direct: Vec3,
    }

    /// Returns what the vertices of the first mesh have gathered on the front and on the back side.
    fn gathered(meshes: &[BakeMesh], camera_positions: &[Vec3]) -> [Vec<AtVertex>; 2] {
        let options = BakeOptions::default();
        let geometry = MeshGeometry::new(meshes, &options);
        let scene = Scene::new(meshes, &geometry.occluders, &white(), &[]);
        let coarse = CoarseSamples::new(SamplePoints::new(meshes, &geometry.vertices), &options, 0.0);
        let seen = vec![false; coarse.samples.len()];
        let (results, occluders) = gather(&scene, &coarse, &seen, RAYS, camera_positions, &options);
        let in_closed_mesh = points_in_closed_meshes(&scene, &coarse.samples, camera_positions);
        let at_vertex = |sample: &u32| {
            let i = *sample as usize;
            AtVertex { in_closed_mesh: in_closed_mesh[i], occluders: occluders.of(i).len(), direct: results[i].direct }
        };
        let VertexSamples { front, back } = &coarse.samples.vertex_samples[0];
        [front, back].map(|side| side.iter().map(at_vertex).collect())
    }

    fn with_few_rays(vertices: &[AtVertex]) -> usize {
        vertices.iter().filter(|vertex| vertex.occluders == ENCLOSED_RAYS).count()
    }

    #[test]
    fn vertices_inside_a_closed_double_sided_mesh_cast_few_rays() {
        let [front, back] = gathered(&[tube(true)], &[]);
        assert!(front.iter().all(|vertex| !vertex.in_closed_mesh && vertex.direct.x > 3.0));
        assert!(back.iter().all(|vertex| vertex.in_closed_mesh && vertex.direct.x < 0.01));
        let few = with_few_rays(&back);
        assert!(few * 10 > back.len() * 9, "{few} of {}", back.len());
    }

    #[test]
    fn vertices_inside_a_closed_mesh_cast_all_rays_if_one_hits_another_surface() {
        let [_, alone] = gathered(&[tube(true)], &[]);
        let [_, around] = gathered(&[tube(true), square(0.065, 0.0, Vec3::Z)], &[]);
        assert!(around.iter().all(|vertex| vertex.in_closed_mesh));
        let [alone, around] = [alone, around].map(|back| with_few_rays(&back));
        assert!(around + 20 < alone, "{around} {alone}");
    }

    #[test]
    fn the_back_sides_of_open_meshes_and_of_leaves_cast_all_rays() {
        for mesh in [tube(false), leaves()] {
            let [_, back] = gathered(&[mesh], &[]);
            assert!(back.iter().all(|vertex| !vertex.in_closed_mesh));
            assert!(back.iter().any(|vertex| vertex.direct.x > 0.3));
        }
    }

    #[test]
    fn vertices_that_a_camera_sees_inside_a_closed_mesh_cast_all_rays() {
        let [_, back] = gathered(&[tube(true)], &[Vec3::ZERO]);
        assert!(back.iter().all(|vertex| !vertex.in_closed_mesh && vertex.occluders > ENCLOSED_RAYS));
    }

    #[test]
    fn all_corners_of_a_triangle_of_which_a_camera_sees_one_cast_all_rays() {
        let mut mesh = tube(true);
        let first = mesh.positions.len();
        // The back side of this square is not in the tube, but has too few vertices to make the mesh open.
        let leaf = square(0.1, 0.8, Vec3::NEG_Z);
        mesh.positions.extend(leaf.positions.iter().map(|p| *p + Vec3::new(0.1, 0.1, 0.0)));
        mesh.normals.extend(leaf.normals);
        mesh.albedo.extend(leaf.albedo);
        mesh.indices.extend(leaf.indices.iter().map(|i| i + first as u32));
        // The second mesh hides one of the corners from all cameras.
        let meshes = [mesh, square(0.03, 0.9, Vec3::Z)];
        for camera_count in [0_u8, 1, 24] {
            let camera = |k: u8| Vec3::new(0.31, 0.07 + 0.01 * f32::from(k), 5.0);
            let cameras: Vec<Vec3> = (0..camera_count).map(camera).collect();
            let [_, back] = gathered(&meshes, &cameras);
            assert!(back[..first].iter().all(|vertex| vertex.in_closed_mesh));
            assert!(back[first..].iter().all(|vertex| vertex.in_closed_mesh == cameras.is_empty()));
        }
    }

    #[test]
    fn points_that_are_also_on_a_front_side_cast_all_rays() {
        let mut lining = BakeMesh { double_sided: false, ..tube(true) };
        lining.normals.iter_mut().for_each(|normal| *normal = -*normal);
        lining.indices.as_chunks_mut::<3>().0.iter_mut().for_each(|triangle| triangle.swap(1, 2));
        let [_, back] = gathered(&[tube(true), lining], &[]);
        assert!(back.iter().all(|vertex| !vertex.in_closed_mesh));
    }

    #[test]
    fn the_light_on_front_sides_does_not_depend_on_the_inside_of_a_closed_mesh() {
        // With this budget, the number of points changes neither the rays of a vertex nor the lattices on the floor.
        let options = BakeOptions { ray_budget: 1 << 40, max_samples: RAYS, ..BakeOptions::default() };
        let [single, double] = [false, true].map(|double_sided| {
            let meshes = [square(1.0, -0.6, Vec3::Z), BakeMesh { double_sided, ..tube(true) }];
            bake(&meshes, &white(), &[], &[], &options).meshes
        });
        assert!(single.iter().zip(&double).all(|(single, double)| single.front == double.front));
        assert!(single[0].front.iter().any(|light| light.indirect.x > 0.0));
        assert_eq!(double[1].back.len(), double[1].front.len());
        assert!(double[1].back.iter().all(|light| light.direct.x < 0.01));
    }
}
