//! Tests of baked light on triangles that are larger than the shadows on them.

use std::sync::Arc;

use glam::{Vec2, Vec3};
use plinth_bake::{BakeImage, BakeMesh, BakeOptions, BakeTexture, BakedMesh, GatheredLight, bake};
use plinth_model::Wrap;

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
    leaf.texture = Some(BakeTexture { uvs, image, wrap: [Wrap::Repeat; 2], is_masked: true });
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

/// Returns a cube without its top, whose front faces point outwards. `h` is half of its side.
fn open_cube(h: f32, albedo: f32) -> BakeMesh {
    joined(&SIDES_OF_CUBE[..5], h, albedo)
}

/// The corners of the sides of a cube, of which the last is the top. Bit k of a corner is its coordinate on axis k.
const SIDES_OF_CUBE: [[u8; 4]; 6] =
    [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];

fn joined(sides: &[[u8; 4]], h: f32, albedo: f32) -> BakeMesh {
    let corner = |k: u8| Vec3::from([k & 1, k >> 1 & 1, k >> 2 & 1].map(|bit| if bit == 1 { h } else { -h }));
    let mut out = BakeMesh { occludes: true, receives_light: true, ..BakeMesh::default() };
    for (first, side) in (0..).step_by(4).zip(sides) {
        let one = quad(side.map(corner), albedo);
        out.positions.extend(one.positions);
        out.normals.extend(one.normals);
        out.albedo.extend(one.albedo);
        out.indices.extend(one.indices.iter().map(|i| i + first));
    }
    out
}

fn turned_inside_out(mut mesh: BakeMesh) -> BakeMesh {
    for t in mesh.indices.as_chunks_mut::<3>().0 {
        t.swap(1, 2);
    }
    mesh.normals.iter_mut().for_each(|n| *n = -*n);
    mesh
}

#[test]
fn an_inverted_hull_blocks_no_light() {
    let body = square(0.3, 0.0, 0.5);
    let cube = joined(&SIDES_OF_CUBE, 0.4, 0.0);
    let found = baked(&[body.clone(), turned_inside_out(cube.clone())]);
    assert!(found[0].front.iter().all(|v| v.direct.x > 0.999 && v.indirect == Vec3::ZERO), "{:?}", found[0].front[0]);
    let found = baked(&[body, cube]);
    assert!(found[0].front.iter().all(|v| v.direct.x < 0.05), "{:?}", found[0].front[0]);
}

#[test]
fn the_inner_wall_of_a_cup_is_lit_although_it_has_the_shape_of_an_inverted_hull() {
    let inner = turned_inside_out(open_cube(0.36, 0.6));
    let found = baked(&[open_cube(0.4, 0.6), inner.clone()]);
    let bottom = light_at(&inner, &found[1], Vec3::new(0.05, 0.02, -0.36), false);
    assert!(bottom.direct.x > 0.05 && bottom.indirect.x > 0.1, "{bottom:?}");
    // The outline of a body is no lining, even if both are inside another body.
    let (outline, room) = (turned_inside_out(joined(&SIDES_OF_CUBE, 0.2, 0.0)), joined(&SIDES_OF_CUBE, 0.9, 0.5));
    let body = square(0.1, 0.19, 0.5);
    let mut lamp = square(0.1, 0.5, 0.0);
    lamp.indices.as_chunks_mut::<3>().0.iter_mut().for_each(|t| t.swap(1, 2));
    lamp.normals.fill(Vec3::NEG_Z);
    lamp.emission = Vec3::splat(100.0);
    let found = baked(&[joined(&SIDES_OF_CUBE, 0.18, 0.5), outline, room, body.clone(), lamp]);
    assert!(light_at(&body, &found[3], Vec3::new(0.01, 0.0, 0.19), false).indirect.x > 1.0, "light passes the outline");
}

#[test]
fn many_small_triangles_leave_lattices_for_the_largest() {
    // Four thousand squares, whose triangles are too small for lattices, are far from a floor with the shadow of a table.
    let mut squares = square(0.17, 0.0, 0.5);
    let one = squares.clone();
    for k in 1..4000 {
        let shift = Vec3::new(5.0 + 0.2 * f32::from(k % 60_u16), 0.2 * f32::from(k / 60), 0.0);
        squares.indices.extend(one.indices.iter().map(|i| i + 4 * u32::from(k)));
        squares.positions.extend(one.positions.iter().map(|p| *p + shift));
        squares.normals.extend(&one.normals);
        squares.albedo.extend(&one.albedo);
    }
    squares.receives_light = true;
    let (floor, table) = (square(2.0, -0.5, 0.5), square(0.8, -0.25, 0.5));
    let alone = bake(&[floor.clone(), table.clone()], &white(), &[], &[], &BakeOptions::default()).surfaces;
    let found = bake(&[floor, table, squares], &white(), &[], &[], &BakeOptions::default()).surfaces;
    assert!(alone[0].positions.len() > 100, "{}", alone[0].positions.len());
    assert!(found[0].positions.len() > 25, "{}", found[0].positions.len());
}

#[test]
fn an_emissive_surface_gives_the_light_of_its_texture() {
    // A wide ceiling whose texture shines in every fourth column.
    let floor = square(0.2, 0.0, 0.0);
    let mut ceiling = square(40.0, 0.1, 0.0);
    ceiling.indices.as_chunks_mut::<3>().0.iter_mut().for_each(|t| t.swap(1, 2));
    ceiling.normals.fill(Vec3::NEG_Z);
    ceiling.emission = Vec3::splat(2.0);
    let texels = (0..128).map(|x| if x % 4 == 1 { [1.0, 0.5, 0.0, 1.0] } else { [0.0, 0.0, 0.0, 1.0] }).collect();
    let uvs = [Vec2::ZERO, Vec2::X, Vec2::ONE, Vec2::Y].map(|uv| uv * 100.0).to_vec();
    let image = Arc::new(BakeImage { width: 128, height: 1, texels });
    ceiling.emission_texture = Some(BakeTexture { uvs, image, wrap: [Wrap::Repeat; 2], is_masked: false });
    let found = baked(&[floor, ceiling]);
    // The irradiance below a ceiling without end is π times its mean radiance, which is a quarter of 2.
    let light = found[0].front.iter().map(|v| v.indirect).sum::<Vec3>() / 4.0 / std::f32::consts::PI;
    assert!((light - Vec3::new(0.5, 0.25, 0.0)).abs().max_element() < 0.12, "{light}");
}

#[test]
fn a_lamp_behind_a_dim_shade_gives_light() {
    let floor = square(0.2, 0.0, 0.0);
    let facing_down = |z: f32| {
        let mut mesh = square(40.0, z, 0.0);
        mesh.indices.as_chunks_mut::<3>().0.iter_mut().for_each(|t| t.swap(1, 2));
        mesh.normals.fill(Vec3::NEG_Z);
        mesh
    };
    for transparency in [0.3, 0.7] {
        let shade = BakeMesh { transparency: vec![transparency; 4], ..facing_down(0.1) };
        let lamp = BakeMesh { emission: Vec3::splat(10.0), ..facing_down(0.2) };
        let found = baked(&[floor.clone(), shade, lamp]);
        let light = found[0].front[0].indirect.x / std::f32::consts::PI;
        assert!((light - 10.0 * transparency).abs() < 0.5, "{transparency}: {light}");
    }
}

#[test]
fn a_surface_that_lies_on_another_one_receives_reflected_light() {
    let floor = square(1.0, 0.0, 0.5);
    let label = BakeMesh { occludes: false, ..square(0.2, 0.002, 0.5) };
    let mut wall = quad([(-0.5, 0.0), (0.5, 0.0), (0.5, 1.0), (-0.5, 1.0)].map(|(x, z)| Vec3::new(x, 0.3, z)), 0.9);
    wall.double_sided = true;
    let found = baked(&[floor.clone(), label.clone(), wall]);
    let point = Vec3::new(0.02, 0.03, 0.0);
    let (below, on_top) = (
        light_at(&floor, &found[0], point, false),
        light_at(&label, &found[1], point + Vec3::new(0.0, 0.0, 0.002), false),
    );
    assert!(below.indirect.x > 0.1 && (on_top.indirect.x / below.indirect.x - 1.0).abs() < 0.2, "{on_top:?} {below:?}");
    assert!((on_top.direct.x / below.direct.x - 1.0).abs() < 0.1, "{on_top:?} {below:?}");
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

#[test]
fn a_surface_reflects_at_most_the_light_that_it_receives() {
    let light = |factor: f32, texel: f32| {
        let corners = [(-0.5, 0.0), (0.5, 0.0), (0.5, 1.0), (-0.5, 1.0)].map(|(x, z)| Vec3::new(x, 0.3, z));
        let mut wall = quad(corners, factor);
        wall.double_sided = true;
        let image = Arc::new(BakeImage { width: 1, height: 1, texels: vec![[texel, texel, texel, 1.0]] });
        let uvs = vec![Vec2::ZERO; 4];
        wall.texture = Some(BakeTexture { uvs, image, wrap: [Wrap::Repeat; 2], is_masked: false });
        baked(&[square(1.0, 0.0, 0.5), wall])[0].front.iter().map(|v| v.indirect.x).fold(0.0, f32::max)
    };
    let (bright, white) = (light(4.0, 1.0), light(1.0, 1.0));
    assert!(white > 0.01 && (bright / white - 1.0).abs() < 0.01, "{bright} {white}");
    // The factor is 4, but the product with the texture is below 1.
    let (product, grey) = (light(4.0, 0.125), light(1.0, 0.5));
    assert!((product / grey - 1.0).abs() < 0.01, "{product} {grey}");
}
