//! Functions that build small scenes for tests.

use glam::Vec3;
use plinth_bake::{BakeMesh, BakeOptions};
use plinth_scene::EnvironmentMap;

pub(crate) fn white() -> EnvironmentMap {
    EnvironmentMap { width: 16, height: 8, pixels: vec![[1.0; 3]; 128] }
}

/// Returns a square in the plane z = `z`, centred at the origin, with 9 × 9 vertices. All vertices have the normal
/// `normal`.
pub(crate) fn plane(size: f32, z: f32, normal: Vec3, albedo: Vec3) -> BakeMesh {
    let n = 9_u32;
    let coordinate = |i: u32| (i as f32 / (n - 1) as f32 - 0.5) * size;
    let positions: Vec<Vec3> = (0..n * n).map(|i| Vec3::new(coordinate(i % n), coordinate(i / n), z)).collect();
    let indices = (0..(n - 1) * (n - 1))
        .flat_map(|i| {
            let a = i / (n - 1) * n + i % (n - 1);
            [a, a + 1, a + n, a + 1, a + n + 1, a + n]
        })
        .collect();
    BakeMesh {
        normals: vec![normal; positions.len()],
        albedo: vec![albedo; positions.len()],
        positions,
        indices,
        occludes: true,
        receives_light: true,
        ..BakeMesh::default()
    }
}

pub(crate) fn options() -> BakeOptions {
    BakeOptions { ray_budget: 1 << 20, max_samples: 512, ..BakeOptions::default() }
}

/// Returns a wall in the plane y = 0 that stands on the floor z = 0 and faces +y.
pub(crate) fn wall(width: f32, height: f32, albedo: Vec3) -> BakeMesh {
    let mut mesh = plane(1.0, 0.0, Vec3::Y, albedo);
    for p in &mut mesh.positions {
        *p = Vec3::new(p.x * width, 0.0, (p.y + 0.5) * height);
    }
    mesh
}

/// Returns a quadrilateral that consists of two triangles. `corners` are counter-clockwise as seen from the front.
pub(crate) fn quad(corners: [Vec3; 4], albedo: f32) -> BakeMesh {
    let normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]).normalize();
    BakeMesh {
        positions: corners.to_vec(),
        normals: vec![normal; 4],
        indices: vec![0, 1, 2, 0, 2, 3],
        albedo: vec![Vec3::splat(albedo); 4],
        occludes: true,
        receives_light: true,
        ..BakeMesh::default()
    }
}

/// Returns a square in the plane z = `z` that consists of two triangles, is centred at the origin and faces up.
pub(crate) fn square(side: f32, z: f32, albedo: f32) -> BakeMesh {
    let h = side / 2.0;
    quad([(-h, -h), (h, -h), (h, h), (-h, h)].map(|(x, y)| Vec3::new(x, y, z)), albedo)
}
