//! Compares the computed light in small scenes with analytic solutions.

use glam::Vec3;

use plinth_bake::{BakeMesh, BakeOptions, GatheredLight, bake};

use crate::scenes::{options, plane, wall, white};

#[test]
fn an_unoccluded_surface_receives_all_light() {
    let baked = bake(&[plane(1.0, 0.0, Vec3::Z, Vec3::ONE)], &white(), &[], &[], &options()).meshes;
    for v in &baked[0].front {
        assert!((v.direct - Vec3::ONE).abs().max_element() < 1e-5, "{v:?}");
        assert_eq!(v.indirect, Vec3::ZERO);
        assert!((v.visibility[0] - 1.0).abs() < 1e-3, "{v:?}");
    }
}

#[test]
fn a_wide_near_cover_blocks_nearly_all_light_and_reflects_its_colour() {
    let floor = plane(1.0, 0.0, Vec3::Z, Vec3::splat(0.5));
    let cover = plane(20.0, 0.1, Vec3::NEG_Z, Vec3::new(0.9, 0.1, 0.1));
    let baked = bake(&[floor, cover], &white(), &[], &[], &options()).meshes;
    let middle = baked[0].front[40];
    assert!(middle.direct.x < 0.05, "{middle:?}");
    assert!(middle.indirect.x >= middle.indirect.y, "{middle:?}");
}

#[test]
fn a_tall_wall_blocks_half_of_the_light() {
    // The wall is in the plane x = −0.02, directly beside the floor point that is tested.
    let floor = plane(0.02, 0.0, Vec3::Z, Vec3::ZERO);
    let mut wall = plane(40.0, 0.0, Vec3::X, Vec3::ZERO);
    wall.positions = wall.positions.iter().map(|p| Vec3::new(-0.02, p.x, p.y)).collect();
    let baked = bake(&[floor, wall], &white(), &[], &[], &options()).meshes;
    assert!((baked[0].front[40].direct.x - 0.5).abs() < 0.06, "{:?}", baked[0].front[40]);
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let meshes = [plane(1.0, 0.0, Vec3::Z, Vec3::ONE), plane(1.0, 0.4, Vec3::NEG_Z, Vec3::ONE)];
        pool.install(|| bake(&meshes, &white(), &[], &[], &options()).meshes)
    };
    assert_eq!(run(1), run(4));
}

#[test]
fn glass_transmits_its_transparency() {
    let floor = plane(0.5, 0.0, Vec3::Z, Vec3::ZERO);
    let mut glass = plane(40.0, 0.1, Vec3::NEG_Z, Vec3::ZERO);
    glass.transparency = vec![0.6; glass.positions.len()];
    let baked = bake(&[floor, glass], &white(), &[], &[], &options()).meshes;
    assert!((baked[0].front[40].direct.x - 0.6).abs() < 0.03, "{:?}", baked[0].front[40]);
}

/// Returns a sphere that touches the plane z = 0 at the origin. The vertices are on circles of latitude and longitude.
fn sphere(radius: f32, albedo: Vec3) -> BakeMesh {
    sphere_with_rows(24, radius, albedo)
}

/// Returns a [`sphere`] with `rows` rows of vertices from pole to pole, and twice as many columns.
fn sphere_with_rows(rows: u32, radius: f32, albedo: Vec3) -> BakeMesh {
    let columns = 2 * rows;
    let normal = |i: u32| {
        let (column, row) = (i % (columns + 1), i / (columns + 1));
        let (sin, cos) = (column as f32 / columns as f32 * std::f32::consts::TAU).sin_cos();
        let (radius, height) = (row as f32 / rows as f32 * std::f32::consts::PI).sin_cos();
        Vec3::new(radius * cos, radius * sin, height)
    };
    let normals: Vec<Vec3> = (0..(columns + 1) * (rows + 1)).map(normal).collect();
    let indices = (0..rows * columns)
        .flat_map(|i| {
            let a = i / columns * (columns + 1) + i % columns;
            [a, a + columns + 1, a + 1, a + 1, a + columns + 1, a + columns + 2]
        })
        .collect();
    BakeMesh {
        positions: normals.iter().map(|n| *n * radius + Vec3::Z * radius).collect(),
        albedo: vec![albedo; normals.len()],
        normals,
        indices,
        occludes: true,
        receives_light: true,
        ..BakeMesh::default()
    }
}

#[test]
fn a_sphere_on_a_plane_blocks_light_by_its_form_factor() {
    let radius = 0.4;
    let floor = plane(2.0, 0.0, Vec3::Z, Vec3::ZERO);
    let positions = floor.positions.clone();
    let baked = bake(&[floor, sphere(radius, Vec3::ZERO)], &white(), &[], &[], &options()).meshes;
    for (p, v) in positions.iter().zip(&baked[0].front).filter(|(p, _)| p.length() > 0.6) {
        // The sphere stands on the plane, so all of it is above the horizon of every point p of the plane. The form
        // factor of the sphere is F = h r² / d³, where h = r is the height of the sphere's centre and d the distance
        // from p to the centre.
        let expected = 1.0 - radius.powi(3) / (p.length_squared() + radius * radius).powf(1.5);
        assert!((v.direct.x - expected).abs() < 0.03, "{p}: {} for {expected}", v.direct.x);
    }
}

/// The vertices of the sphere are so close together that neighbouring vertices share their light in an interactive
/// bake.
#[test]
fn interactive_light_on_a_dense_mesh_is_that_of_a_full_bake_with_some_noise() {
    let meshes = [plane(1.0, 0.0, Vec3::Z, Vec3::splat(0.5)), sphere(0.15, Vec3::splat(0.5))];
    // The comparison excludes the lowest vertices, because they touch the plane.
    let above = 49 * 24;
    let [full, interactive] = [options(), BakeOptions::default().interactive()]
        .map(|options| bake(&meshes, &white(), &[], &[], &options).meshes.swap_remove(1).front[..above].to_vec());
    let differences = || full.iter().zip(&interactive).map(|(a, b)| b.direct.x - a.direct.x);
    let mean = differences().sum::<f32>() / full.len() as f32;
    let deviation = (differences().map(|d| d * d).sum::<f32>() / full.len() as f32).sqrt();
    assert!(mean.abs() < 0.01 && deviation < 0.05, "mean {mean}, deviation {deviation}");
    // The sphere receives less light near the plane.
    assert!(full[49 * 20].direct.x < 0.3 && interactive[49 * 20].direct.x < 0.4, "{}", interactive[49 * 20].direct.x);
}

#[test]
fn few_rays_per_vertex_give_little_noise_on_a_dense_mesh() {
    let ball = sphere_with_rows(96, 0.3, Vec3::ZERO);
    let normals = ball.normals.clone();
    let meshes = [plane(400.0, -2.0, Vec3::Z, Vec3::ZERO), ball];
    let few = BakeOptions { max_samples: 12, ..options() };
    let baked = bake(&meshes, &white(), &[], &[], &few).meshes;
    // A plane without end blocks the lower half of the sky: 1 − cos²(θ/2) of the light, if θ is the angle of the normal to +z.
    let differences = || normals.iter().zip(&baked[1].front).map(|(n, v)| v.direct.x - 0.5 * (1.0 + n.z));
    let deviation = (differences().map(|d| d * d).sum::<f32>() / normals.len() as f32).sqrt();
    assert!(deviation < 0.011, "{deviation}");
}

#[test]
fn a_long_wall_blocks_light_by_its_form_factor() {
    let mut floor = plane(1.0, 0.0, Vec3::Z, Vec3::ZERO);
    for p in &mut floor.positions {
        *p = Vec3::new(p.x * 0.1, p.y + 0.5, 0.0);
    }
    let positions = floor.positions.clone();
    let baked = bake(&[floor, wall(200.0, 0.5, Vec3::ZERO)], &white(), &[], &[], &options()).meshes;
    for (p, v) in positions.iter().zip(&baked[0].front) {
        let expected = 1.0 - 0.5 * (1.0 - p.y / p.y.hypot(0.5));
        assert!((v.direct.x - expected).abs() < 0.05, "{p}: {} for {expected}", v.direct.x);
    }
}

#[test]
fn white_surfaces_in_a_white_environment_keep_all_energy() {
    let mut metal = sphere(0.3, Vec3::ZERO);
    metal.f0 = vec![Vec3::ONE; metal.positions.len()];
    metal.roughness = vec![0.7; metal.positions.len()];
    for body in [sphere(0.3, Vec3::ONE), metal] {
        let floor = plane(2.0, 0.0, Vec3::Z, Vec3::ONE);
        let options = BakeOptions { bounces: 40, ..options() };
        let baked = bake(&[floor, body], &white(), &[], &[], &options).meshes;
        // The centre of the floor, below the sphere, is excluded, because its light converges only after more bounces.
        let all = || baked[0].front.iter().enumerate().filter(|(i, _)| *i != 40).map(|(_, v)| v).chain(&baked[1].front);
        let share = |v: &GatheredLight| v.direct.x + v.indirect.x / std::f32::consts::PI;
        let mean = all().map(share).sum::<f32>() / all().count() as f32;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        let worst = all().map(|v| (share(v) - 1.0).abs()).fold(0.0, f32::max);
        assert!(worst < 0.1, "{worst}");
    }
}

/// Returns a small black floor below a large dielectric that faces it. `f0` is the reflectance of the dielectric at normal
/// incidence. All light of the environment arrives at the dielectric, because the floor is so small.
fn below_dielectric(albedo: Vec3, f0: Vec3) -> [BakeMesh; 2] {
    let mut dielectric = plane(2.0, 0.5, Vec3::NEG_Z, albedo);
    let count = dielectric.positions.len();
    dielectric.f0 = vec![f0; count];
    dielectric.roughness = vec![0.7; count];
    dielectric.passing = vec![(1.0 - f0.max_element()) / 0.96; count];
    dielectric.is_tinted_dielectric = f0.min_element() < f0.max_element();
    [plane(0.02, 0.0, Vec3::Z, Vec3::ZERO), dielectric]
}

#[test]
fn the_light_that_a_dielectric_reflects_specularly_is_subtracted_once_from_its_diffuse_reflection() {
    // The index of refraction is 2.
    let meshes = below_dielectric(Vec3::ONE, Vec3::splat(1.0 / 9.0));
    let matt = [meshes[0].clone(), plane(2.0, 0.5, Vec3::NEG_Z, Vec3::ONE)];
    let [dielectric, matt] = [meshes, matt].map(|meshes| bake(&meshes, &white(), &[], &[], &options()));
    // In a white environment, a white surface reflects all light, whichever part of it specularly.
    let [found, expected] = [&dielectric, &matt].map(|baked| baked.meshes[0].front[40].indirect.x);
    assert!(expected > 1.0 && (found / expected - 1.0).abs() < 0.02, "{found} for {expected}");
    // Only a part of the specular reflection is added to the surface that reflections show (`DIFFUSE_SHARE_OF_F0`).
    let expected: f32 = (1.0 - 1.0 / 9.0) / 0.96 + 0.9 / 9.0;
    let radiance = &dielectric.surfaces[1].radiance;
    assert!(!radiance.is_empty());
    assert!(radiance.iter().all(|r| (*r - expected).abs().max_element() < 0.02), "{radiance:?} for {expected}");
}

#[test]
fn a_dielectric_with_coloured_reflections_does_not_scatter_the_complementary_colour() {
    let reflected = |albedo: Vec3| {
        let meshes = below_dielectric(albedo, Vec3::new(0.5, 0.02, 0.02));
        bake(&meshes, &white(), &[], &[], &options()).meshes[0].front[40].indirect
    };
    let scattered = reflected(Vec3::ONE) - reflected(Vec3::ZERO);
    assert!(scattered.min_element() > 0.5, "{scattered}");
    assert!(scattered.max_element() - scattered.min_element() < 0.01, "{scattered}");
}

#[test]
fn occluder_luminance_equals_the_luminance_of_the_lit_wall() {
    // In a white environment, a white wall has the same radiance as the sky.
    let mut floor = plane(0.2, 0.0, Vec3::Z, Vec3::ONE);
    for p in &mut floor.positions {
        p.y += 0.15;
    }
    let baked = bake(&[floor, wall(4.0, 2.0, Vec3::ONE)], &white(), &[], &[], &options()).meshes;
    let [c, x, y, z] = baked[0].front[40].blocked;
    let toward = |d: Vec3| c + x * d.x + y * d.y + z * d.z;
    let (wall, sky) = (toward(Vec3::new(0.0, -0.8, 0.6)), toward(Vec3::new(0.0, 0.8, 0.6)));
    assert!(wall > 0.7 && wall < 1.2, "{wall}");
    assert!(sky < 0.15, "{sky}");
}

#[test]
fn a_point_inside_another_body_gets_the_light_around_it() {
    let floor = plane(2.0, -0.05, Vec3::Z, Vec3::ZERO);
    // The sphere is partly below the floor, so the centre of the floor is inside the sphere.
    let mut sunk_sphere = sphere(0.15, Vec3::ZERO);
    for p in &mut sunk_sphere.positions {
        p.z -= 0.2;
    }
    let baked = bake(&[floor, sunk_sphere], &white(), &[], &[], &options()).meshes;
    assert!(baked[0].front[40].direct.x > 0.5, "{:?}", baked[0].front[40]);
}
