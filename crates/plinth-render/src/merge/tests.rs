use std::collections::BTreeSet;

use glam::{Vec2, Vec3};

use super::*;

/// Number of quads per side of [`sheet`].
const SIDE: u32 = 60;
/// Distance between neighbouring vertices of [`sheet`].
const STEP: f32 = 0.01;

/// Returns a square sheet of quads. `height` is the height above the plane, and `uv` the texture coordinates, as
/// functions of the position in the plane.
fn sheet(height: impl Fn(Vec2) -> f32, uv: impl Fn(Vec2) -> Vec2) -> Primitive {
    let places = || (0..=SIDE).flat_map(|y| (0..=SIDE).map(move |x| Vec2::new(x as f32, y as f32) * STEP));
    let normal = |p: Vec2| {
        let slope = |step: Vec2| (height(p + step) - height(p - step)) / (2.0 * step.length());
        Vec3::new(-slope(Vec2::X * 1e-3), -slope(Vec2::Y * 1e-3), 1.0).normalize().to_array()
    };
    let quad = |i: u32| {
        let a = i / SIDE * (SIDE + 1) + i % SIDE;
        [a, a + 1, a + SIDE + 1, a + 1, a + SIDE + 2, a + SIDE + 1]
    };
    Primitive {
        indices: (0..SIDE * SIDE).flat_map(quad).collect(),
        positions: places().map(|p| p.extend(height(p)).to_array()).collect(),
        normals: places().map(normal).collect(),
        uvs: vec![places().map(|p| uv(p).to_array()).collect()],
        ..Primitive::default()
    }
}

fn smooth(p: Vec2) -> f32 {
    0.002 * (8.0 * p.x).sin() * (7.0 * p.y).cos()
}

fn rough() -> Material {
    Material { perceptual_roughness: 1.0, ..Material::default() }
}

/// Merges the vertices of a primitive for pixels of the size `pixel`.
fn merged(primitive: &Primitive, material: &Material, pixel: f32) -> Primitive {
    let model = Model::default();
    let surface = Surface { model: &model, material, primitive, pixel };
    primitive.part(&merged_triangles(&surface))
}

fn triangles(primitive: &Primitive) -> usize {
    primitive.indices.len() / 3
}

/// Returns the areas of the triangles as seen from above. Triangles that are turned over have negative areas.
fn areas(primitive: &Primitive) -> Vec<f32> {
    let flat = |i: &u32| Vec3::from(primitive.positions[*i as usize]).truncate();
    let area = |[a, b, c]: &[u32; 3]| 0.5 * (flat(b) - flat(a)).perp_dot(flat(c) - flat(a));
    primitive.indices.as_chunks::<3>().0.iter().map(area).collect()
}

#[test]
fn vertices_of_a_smooth_sheet_are_merged_without_holes_and_folds() {
    let before = sheet(smooth, |p| p);
    let after = merged(&before, &rough(), 2.0 * STEP);
    assert!(triangles(&after) * 5 < triangles(&before), "{}", triangles(&after));
    let areas = areas(&after);
    assert!(areas.iter().all(|area| *area > 0.0));
    // The vertices on the border are kept, so the total area changes only if there is a hole or a fold.
    let whole = (SIDE as f32 * STEP).powi(2);
    assert!((areas.iter().sum::<f32>() - whole).abs() < 1e-4 * whole);
}

#[test]
fn merged_vertices_are_those_of_the_mesh_and_keep_their_attributes() {
    let before = sheet(smooth, |p| 3.0 * p);
    let after = merged(&before, &rough(), 2.0 * STEP);
    let key = |primitive: &Primitive, i: usize| {
        let numbers = primitive.positions[i].into_iter().chain(primitive.normals[i]).chain(primitive.uvs[0][i]);
        numbers.map(f32::to_bits).collect::<Vec<u32>>()
    };
    let known: BTreeSet<Vec<u32>> = (0..before.positions.len()).map(|i| key(&before, i)).collect();
    assert!((0..after.positions.len()).all(|i| known.contains(&key(&after, i))));
    let used: BTreeSet<u32> = after.indices.iter().copied().collect();
    assert!(used.into_iter().eq(0..after.positions.len() as u32));
}

#[test]
fn triangles_larger_than_pixels_are_kept() {
    let before = sheet(smooth, |p| p);
    let after = merged(&before, &rough(), 0.3 * STEP);
    assert_eq!((after.indices, after.positions), (before.indices, before.positions));
}

#[test]
fn visible_detail_prevents_merging() {
    let pixel = 2.0 * STEP;
    let count = |primitive: &Primitive, material: &Material| triangles(&merged(primitive, material, pixel));
    let plain = count(&sheet(smooth, |p| p), &rough());
    let kept = |primitive: &Primitive| count(primitive, &rough()) > 3 * plain;
    // These bumps have an amplitude of half a pixel.
    let bumpy = |p: Vec2| 0.01 * (150.0 * p.x).sin() * (150.0 * p.y).sin();
    assert!(kept(&sheet(bumpy, |p| p)));
    // These texture coordinates are distorted within two pixels.
    assert!(kept(&sheet(smooth, |p| p + 0.02 * Vec2::new((250.0 * p.x).sin() * (250.0 * p.y).sin(), 0.0))));
    // These colours change from vertex to vertex.
    let mut colored = sheet(smooth, |p| p);
    colored.colors = (0..colored.positions.len()).map(|i| [(i % 7) as f32 / 7.0, 0.5, 0.5, 1.0]).collect();
    assert!(kept(&colored));
    // These shading normals turn by 15 degrees or more from vertex to vertex, and by 3 degrees on a polished surface.
    let turned = |sine: f32| {
        let mut out = sheet(|_| 0.0, |p| p);
        let normal = |i: usize| (sine * Vec2::from_angle((i % 7) as f32 * 0.9)).extend(1.0).normalize().to_array();
        out.normals = (0..out.positions.len()).map(normal).collect();
        out
    };
    assert!(kept(&turned(0.32)));
    let polished = Material { perceptual_roughness: 0.1, ..rough() };
    assert!(count(&turned(0.06), &rough()) * 2 < count(&turned(0.06), &polished));
}

#[test]
fn the_sides_of_a_seam_stay_together() {
    // Both sheets have their own vertices along the common edge. Exporters write the seam of a texture in this way.
    let mut both = sheet(smooth, |p| p);
    let other = sheet(|p| smooth(p + Vec2::X * SIDE as f32 * STEP), |p| 5.0 * p);
    let first = both.positions.len() as u32;
    let shifted = |p: &[f32; 3]| [p[0] + SIDE as f32 * STEP, p[1], p[2]];
    both.positions.extend(other.positions.iter().map(shifted));
    both.normals.extend(&other.normals);
    both.uvs[0].extend(&other.uvs[0]);
    both.indices.extend(other.indices.iter().map(|i| i + first));
    let after = merged(&both, &rough(), 2.0 * STEP);
    assert!(triangles(&after) * 5 < triangles(&both));
    let seam = SIDE as f32 * STEP;
    let on_seam = |x: &[f32; 3]| (x[0] - seam).abs() < 1e-6;
    assert_eq!(after.positions.iter().filter(|p| on_seam(p)).count(), 2 * (SIDE as usize + 1));
}

#[test]
fn only_dense_meshes_that_stand_still_are_merged() {
    let dense = Primitive { indices: vec![0; 3 * MIN_TRIANGLES], ..Primitive::default() };
    assert!(is_mergeable(&dense, &rough()));
    let changes: [fn(&mut Primitive); 5] = [
        |p| p.indices.truncate(3 * MIN_TRIANGLES - 3),
        |p| p.topology = Topology::Lines,
        |p| p.morph_targets.push(plinth_model::MorphTarget::default()),
        |p| p.joints.push([0; 4]),
        |p| p.uvs = vec![Vec::new(), vec![[0.0; 2]]],
    ];
    for (i, change) in changes.into_iter().enumerate() {
        let mut changed = dense.clone();
        change(&mut changed);
        assert!(!is_mergeable(&changed, &rough()), "{i}");
    }
    assert!(!is_mergeable(&dense, &Material { overlay: true, ..rough() }));
}
