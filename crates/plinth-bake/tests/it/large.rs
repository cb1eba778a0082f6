//! Tests of baked light on triangles that are larger than the shadows on them.

use std::sync::Arc;

use glam::{Vec2, Vec3};
use plinth_bake::{BakeImage, BakeMesh, BakeOptions, BakeTexture, BakedMesh, GatheredLight, bake};

use crate::scenes::{plane, quad, square, white};

/// A camera above the scene, and a camera below it.
const CAMERA_POSITIONS: [Vec3; 2] = [Vec3::new(1.0, -2.0, 3.0), Vec3::new(1.0, -2.0, -3.0)];

fn baked(meshes: &[BakeMesh]) -> Vec<BakedMesh> {
    bake(meshes, &white(), &[], &CAMERA_POSITIONS, &BakeOptions::default()).meshes
}

/// Returns the light at a point of a mesh. The light is interpolated in the same way as in the renderer.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::expect_used,
    reason = "the test points are on the mesh"
)]
fn light_at(mesh: &BakeMesh, baked: &BakedMesh, point: Vec3, back: bool) -> GatheredLight {
    let (t, [wa, wb, wc]) = (0..mesh.indices.len() / 3)
        .find_map(|t| {
            let [a, b, c] = [0, 1, 2].map(|k| mesh.positions[mesh.indices[3 * t + k] as usize]);
            let n = (b - a).cross(c - a);
            let weight = |p: Vec3, q: Vec3| (q - p).cross(point - p).dot(n) / n.length_squared();
            let weights = [weight(b, c), weight(c, a), weight(a, b)];
            weights.iter().all(|w| *w >= -1e-5).then_some((t, weights))
        })
        .expect("a point on the mesh");
    let mean = |values: [(&GatheredLight, f32); 3]| {
        let mut out = GatheredLight { direct: Vec3::ZERO, ..GatheredLight::default() };
        for (light, weight) in values {
            out.direct += light.direct * weight;
            out.indirect += light.indirect * weight;
        }
        out
    };
    if let Some(grid) = baked.grids.iter().find(|grid| grid.triangle as usize == t) {
        let values = if back { &grid.back } else { &grid.front };
        // The points are stored in rows of equal j. The point (i, j) has the barycentric weights (1 − (i + j) / n, i /
        // n, j / n).
        let n = 1_usize << grid.lattice.level;
        let (x, y) = (wb.clamp(0.0, 1.0) * n as f32, wc.clamp(0.0, 1.0) * n as f32);
        let j = (y as usize).min(n - 1);
        let i = (x as usize).min(n - 1 - j);
        let at = |i: usize, j: usize| &values[j * (2 * n + 3 - j) / 2 + i];
        let (fx, fy) = (x - i as f32, y - j as f32);
        if fx + fy <= 1.0 || i + j + 2 > n {
            mean([(at(i, j), 1.0 - fx - fy), (at(i + 1, j), fx), (at(i, j + 1), fy)])
        } else {
            mean([(at(i + 1, j + 1), fx + fy - 1.0), (at(i, j + 1), 1.0 - fx), (at(i + 1, j), 1.0 - fy)])
        }
    } else {
        let values = if back { &baked.back } else { &baked.front };
        let corner = |k: usize| &values[mesh.indices[3 * t + k] as usize];
        mean([(corner(0), wa), (corner(1), wb), (corner(2), wc)])
    }
}

fn grid_value_count(baked: &BakedMesh) -> usize {
    baked.grids.iter().map(|grid| grid.front.len()).sum()
}

#[test]
fn only_triangles_with_a_shadow_are_refined() {
    let open = baked(&[square(2.0, 0.0, 0.5)]);
    let table = square(0.5, 0.1, 0.5);
    let meshes = [square(2.0, 0.0, 0.5), table];
    let shaded = baked(&meshes);
    assert!(
        grid_value_count(&shaded[0]) > 3 * grid_value_count(&open[0]),
        "{} {}",
        grid_value_count(&shaded[0]),
        grid_value_count(&open[0])
    );
    let at = |x: f32| light_at(&meshes[0], &shaded[0], Vec3::new(x, 0.03, 0.0), false).direct.x;
    assert!(at(0.0) < 0.15, "{}", at(0.0));
    assert!(at(0.9) > 0.95, "{}", at(0.9));
    assert!(open[0].front.iter().chain(open[0].grids.iter().flat_map(|g| &g.front)).all(|v| v.direct.x > 0.999));
}

#[test]
fn a_shadow_is_refined_even_if_vertices_use_all_rays() {
    let mut dense = plane(0.2, 0.5, Vec3::Z, Vec3::splat(0.5));
    dense.positions.iter_mut().for_each(|p| p.x += 3.0);
    let few = BakeOptions { ray_budget: 1000, ..BakeOptions::default() };
    let refined_count =
        |meshes: &[BakeMesh]| grid_value_count(&bake(meshes, &white(), &[], &CAMERA_POSITIONS, &few).meshes[0]);
    let (open, table) = (square(2.0, 0.0, 0.5), square(0.5, 0.1, 0.5));
    let (shaded, plain) = (refined_count(&[open.clone(), table, dense.clone()]), refined_count(&[open, dense]));
    assert!(shaded > 2 * plain, "{shaded} {plain}");
}

#[test]
fn only_the_largest_triangles_are_refined_if_their_number_is_limited() {
    let beside = |mut mesh: BakeMesh| {
        mesh.positions.iter_mut().for_each(|p| p.x += 5.0);
        mesh
    };
    let tables = [square(0.5, 0.1, 0.5), beside(square(0.05, 0.02, 0.5))];
    let [large, small] = [square(2.0, 0.0, 0.5), beside(square(0.1, 0.0, 0.5))];
    let meshes = [[large, small].as_slice(), &tables].concat();
    let floors = |max_refined: usize| {
        let options = BakeOptions { max_refined, ..BakeOptions::default() };
        let baked = bake(&meshes, &white(), &[], &CAMERA_POSITIONS, &options).meshes;
        [grid_value_count(&baked[0]), grid_value_count(&baked[1])]
    };
    // The lattice on the large floor consists of 2048 triangles, which are larger than those of the small floor.
    let [none, some, all] = [0, 2048, usize::MAX].map(floors);
    assert!(none[0] < some[0] && some[0] == all[0], "{none:?} {some:?} {all:?}");
    assert!(none[1] == some[1] && some[1] < all[1], "{none:?} {some:?} {all:?}");
}

#[test]
fn the_light_below_a_square_table_matches_its_form_factor() {
    // Below a square table, the visible fraction of the sky is one minus the form factor of the table. For a point at
    // the distance h below a square of half side length a, the form factor is the sum of four terms, one per corner of
    // the square (Howell, configuration B-4).
    let (a, h) = (0.4_f32, 0.25_f32);
    let mut table = square(2.0 * a, h, 0.0);
    table.receives_light = false;
    let meshes = [square(2.0, 0.0, 0.0), table];
    let found = baked(&meshes);
    let corner = |x: f32, y: f32| {
        let (x, y) = (x / h, y / h);
        let (p, q) = ((1.0 + x * x).sqrt(), (1.0 + y * y).sqrt());
        (x / p * (y / p).atan() + y / q * (x / q).atan()) / std::f32::consts::TAU
    };
    for (x, y) in [(0.0, 0.0), (0.1, 0.2), (0.3, -0.2), (0.55, 0.1), (-0.7, 0.62), (0.85, 0.0)] {
        let factor = corner(a - x, a - y) + corner(a + x, a - y) + corner(a - x, a + y) + corner(a + x, a + y);
        let light = light_at(&meshes[0], &found[0], Vec3::new(x, y, 0.0), false).direct.x;
        assert!((light - (1.0 - factor)).abs() < 0.03, "({x}, {y}): {light} for {}", 1.0 - factor);
    }
}

#[test]
fn the_sides_of_a_sheet_have_separate_light() {
    let mut sheet = square(1.0, 0.0, 0.5);
    sheet.double_sided = true;
    let floor = square(6.0, -0.05, 0.0);
    let found = baked(&[sheet.clone(), floor]);
    let middle = Vec3::new(0.05, 0.02, 0.0);
    let (above, below) = (light_at(&sheet, &found[0], middle, false), light_at(&sheet, &found[0], middle, true));
    assert!(above.direct.x > 0.99, "{above:?}");
    assert!(below.direct.x < 0.1, "{below:?}");
    assert!(found[1].back.is_empty());
}

#[test]
fn no_light_leaks_through_a_wall_along_the_floor() {
    // The model is a closed hut with infinitely thin walls. The floor continues outside the hut.
    let mut meshes = vec![square(2.0, 0.0, 0.5)];
    let side = |x0: f32, y0: f32, x1: f32, y1: f32| {
        quad([Vec3::new(x0, y0, 0.0), Vec3::new(x1, y1, 0.0), Vec3::new(x1, y1, 0.5), Vec3::new(x0, y0, 0.5)], 0.5)
    };
    let c = 0.5;
    let roof = quad([Vec3::new(-c, -c, 0.5), Vec3::new(c, -c, 0.5), Vec3::new(c, c, 0.5), Vec3::new(-c, c, 0.5)], 0.5);
    for mut wall in [side(-c, -c, c, -c), side(c, -c, c, c), side(c, c, -c, c), side(-c, c, -c, -c), roof] {
        wall.double_sided = true;
        meshes.push(wall);
    }
    let camera_positions = [Vec3::new(1.0, -2.0, 3.0), Vec3::new(0.3, 0.3, 0.4)];
    let found = bake(&meshes, &white(), &[], &camera_positions, &BakeOptions::default()).meshes;
    for distance in [0.03, 0.06, 0.2] {
        let at = |x: f32| light_at(&meshes[0], &found[0], Vec3::new(x, 0.1, 0.0), false).direct.x;
        assert!(at(c - distance) < 0.1, "{distance} inside: {}", at(c - distance));
        assert!(at(c + distance) > 0.4, "{distance} outside: {}", at(c + distance));
    }
}

#[test]
fn opaque_texels_cast_shadows_and_holes_transmit_light() {
    let floor = square(0.4, 0.0, 0.0);
    let mut leaf = square(4.0, 0.02, 0.0);
    leaf.double_sided = true;
    // The middle half of the image is opaque.
    let texels = (0..64).map(|x| [0.2, 0.5, 0.1, if (16..48).contains(&x) { 1.0 } else { 0.0 }]).collect();
    let image = Arc::new(BakeImage { width: 64, height: 1, texels });
    let uvs = vec![Vec2::ZERO, Vec2::X, Vec2::ONE, Vec2::Y];
    leaf.texture = Some(BakeTexture { uvs, image, is_masked: true });
    let found = baked(&[floor.clone(), leaf.clone()]);
    let middle = light_at(&floor, &found[0], Vec3::new(0.02, 0.01, 0.0), false);
    assert!(middle.direct.x < 0.1, "{middle:?}");
    for p in &mut leaf.positions {
        p.x += 2.0;
    }
    let found = baked(&[floor.clone(), leaf]);
    let middle = light_at(&floor, &found[0], Vec3::new(0.02, 0.01, 0.0), false);
    assert!(middle.direct.x > 0.9, "{middle:?}");
}

#[test]
fn an_inverted_hull_blocks_no_light() {
    let body = square(0.3, 0.0, 0.5);
    let c = 0.4;
    let corner = |k: u8| Vec3::from([k & 1, k >> 1 & 1, k >> 2 & 1].map(|bit| if bit == 1 { c } else { -c }));
    let quads = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
    let mut inverted_hull = BakeMesh { occludes: true, receives_light: true, ..BakeMesh::default() };
    for (first, [p, q, r, s]) in (0..).step_by(4).zip(quads) {
        let one = quad([p, s, r, q].map(corner), 0.0);
        inverted_hull.positions.extend(one.positions);
        inverted_hull.normals.extend(one.normals);
        inverted_hull.albedo.extend(one.albedo);
        inverted_hull.indices.extend(one.indices.iter().map(|i| i + first));
    }
    let found = baked(&[body.clone(), inverted_hull.clone()]);
    assert!(found[0].front.iter().all(|v| v.direct.x > 0.999 && v.indirect == Vec3::ZERO), "{:?}", found[0].front[0]);
    for t in inverted_hull.indices.as_chunks_mut::<3>().0 {
        t.swap(1, 2);
    }
    inverted_hull.normals.iter_mut().for_each(|n| *n = -*n);
    let found = baked(&[body, inverted_hull]);
    assert!(found[0].front.iter().all(|v| v.direct.x < 0.05), "{:?}", found[0].front[0]);
}

#[test]
fn light_is_continuous_between_triangles_of_different_density() {
    // Two large triangles are next to small triangles on the same surface. The table's shadow falls on both.
    let mut fine = square(0.5, 0.0, 0.5);
    fine.positions = [(0.5, -0.5), (1.0, -0.5), (1.0, 0.5), (0.5, 0.5)].map(|(x, y)| Vec3::new(x, y, 0.0)).to_vec();
    let mut large = square(1.0, 0.0, 0.5);
    for p in &mut large.positions {
        p.x = if p.x > 0.0 { 0.5 } else { -1.0 };
    }
    let mut table = square(0.4, 0.15, 0.5);
    for p in &mut table.positions {
        p.x += 0.5;
    }
    let meshes = [large, fine, table];
    let found = baked(&meshes);
    for k in 0..40 {
        let point = Vec3::new(0.5, -0.49 + 0.98 * k as f32 / 39.0, 0.0);
        let [a, b] = [0, 1].map(|m| light_at(&meshes[m], &found[m], point, false).direct.x);
        assert!((a - b).abs() < 1e-4, "{point}: {a} {b}");
    }
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let meshes = [square(2.0, 0.0, 0.5), square(0.5, 0.1, 0.5)];
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| baked(&meshes))
    };
    assert_eq!(run(1), run(4));
}

#[test]
fn surfaces_that_no_camera_sees_are_not_refined() {
    let meshes = [square(2.0, 0.0, 0.5), square(0.5, 0.1, 0.5)];
    let below = [Vec3::new(0.0, 0.0, -3.0)];
    let unseen = bake(&meshes, &white(), &[], &below, &BakeOptions::default()).meshes;
    let seen = baked(&meshes);
    assert!(
        grid_value_count(&seen[0]) > 3 * grid_value_count(&unseen[0]),
        "{} {}",
        grid_value_count(&seen[0]),
        grid_value_count(&unseen[0])
    );
}
