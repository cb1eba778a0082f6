//! Tests of generated tangents. In glTF, the texture coordinate v points down, and `cross(normal, tangent) · w` points
//! up on the texture. The expected values are the directions in space that point right and up on the texture.

use glam::Vec3;
use plinth_model::Primitive;
use serde_json::json;

use crate::glb::{Glb, assert_near};

/// A square that faces +z. It consists of two triangles that share two corners.
const CORNERS: [[f32; 3]; 4] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
const TRIANGLES: [u32; 6] = [0, 1, 2, 0, 2, 3];

/// Computes the texture coordinates of each corner of the square. The arguments of `uv` are the corner's x, which
/// points right, and y, which points up.
fn corner_uvs(uv: impl Fn(f32, f32) -> [f32; 2]) -> Vec<[f32; 2]> {
    CORNERS.iter().map(|[x, y, _]| uv(*x, *y)).collect()
}

/// Builds a mesh with a normal map.
fn with_normal_map(positions: &[[f32; 3]], normals: &[[f32; 3]], uvs: &[[f32; 2]], indices: &[u32]) -> Glb {
    let mut glb = Glb::mesh(positions);
    glb.attribute("NORMAL", normals);
    glb.attribute("TEXCOORD_0", uvs);
    glb.indices(indices);
    glb.image("image/png", &crate::images::png(1, 1, &[128, 128, 255, 255]));
    glb.push("materials", json!({"normalTexture": {"index": 0}}));
    glb.primitive()["material"] = 0.into();
    glb
}

fn square(uvs: &[[f32; 2]]) -> Glb {
    with_normal_map(&CORNERS, &[[0.0, 0.0, 1.0]; 4], uvs, &TRIANGLES)
}

/// Builds the mesh of [`with_normal_map`] with an additional triangle fan. The fan has so many triangles around one
/// point that its tangents are averages, and MikkTSpace is not used.
fn with_fan(positions: &[[f32; 3]], normals: &[[f32; 3]], uvs: &[[f32; 2]], indices: &[u32]) -> Glb {
    let (mut positions, mut normals, mut uvs) = (positions.to_vec(), normals.to_vec(), uvs.to_vec());
    let mut indices = indices.to_vec();
    let middle = positions.len() as u32;
    for i in 0..=1200_u16 {
        let (y, x) = (f32::from(i) / 1200.0 * std::f32::consts::TAU).sin_cos();
        let position = if i == 0 { [9.0, 9.0, 0.0] } else { [9.0 + x, 9.0 + y, 0.0] };
        positions.push(position);
        normals.push([0.0, 0.0, 1.0]);
        uvs.push([position[0], position[1]]);
    }
    indices.extend((1..1200).flat_map(|i| [middle, middle + i, middle + i + 1]));
    with_normal_map(&positions, &normals, &uvs, &indices)
}

/// Returns the mesh with tangents that MikkTSpace generated, and the mesh with tangents that are averages.
fn with_both_generators(
    positions: &[[f32; 3]],
    normals: &[[f32; 3]],
    uvs: &[[f32; 2]],
    indices: &[u32],
) -> [(Primitive, &'static str); 2] {
    [
        (with_normal_map(positions, normals, uvs, indices).loaded(), "MikkTSpace"),
        (with_fan(positions, normals, uvs, indices).loaded(), "sums"),
    ]
}

/// A function that maps a point of the unit square to texture coordinates.
type UvMapping = fn(f32, f32) -> [f32; 2];

#[test]
fn a_tangent_points_right_on_the_texture_and_its_sign_gives_up() {
    // The texture is upright, mirrored, seen from behind, or rotated by a multiple of 90°.
    let cases: [(&str, UvMapping, [f32; 4]); 7] = [
        ("upright", |x, y| [x, 1.0 - y], [1.0, 0.0, 0.0, 1.0]),
        ("mirrored left to right", |x, y| [1.0 - x, 1.0 - y], [-1.0, 0.0, 0.0, -1.0]),
        ("mirrored top to bottom", |x, y| [x, y], [1.0, 0.0, 0.0, -1.0]),
        ("rotated to the left", |x, y| [y, x], [0.0, 1.0, 0.0, 1.0]),
        ("rotated to the right", |x, y| [1.0 - y, 1.0 - x], [0.0, -1.0, 0.0, 1.0]),
        ("upside down", |x, y| [1.0 - x, y], [-1.0, 0.0, 0.0, 1.0]),
        ("rotated and mirrored", |x, y| [y, 1.0 - x], [0.0, 1.0, 0.0, -1.0]),
    ];
    for (name, uv, expected) in cases {
        for (one, by) in with_both_generators(&CORNERS, &[[0.0, 0.0, 1.0]; 4], &corner_uvs(uv), &TRIANGLES) {
            for corner in &one.indices[..6] {
                let found = one.tangents[*corner as usize];
                assert!(near(found, expected), "{name}, {by}: {found:?} instead of {expected:?}");
            }
        }
    }
}

fn near(a: [f32; 4], b: [f32; 4]) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4)
}

/// The texture is mapped onto the sphere like a world map. It is seen from outside, or it is mirrored.
#[test]
fn tangents_of_a_sphere_point_east_and_their_sign_gives_north() {
    let (rings, sectors) = (12_u32, 24_u32);
    for mirrored in [false, true] {
        let (mut points, mut uvs, mut indices) = (Vec::new(), Vec::new(), Vec::new());
        for ring in 0..=rings {
            for sector in 0..=sectors {
                let (v, u) = (ring as f32 / rings as f32, sector as f32 / sectors as f32);
                let (polar, turn) = (v * std::f32::consts::PI, u * std::f32::consts::TAU);
                // The points go east from +z to +x, as seen from above the north pole at +y.
                points.push([polar.sin() * turn.sin(), polar.cos(), polar.sin() * turn.cos()]);
                uvs.push([if mirrored { 1.0 - u } else { u }, v]);
            }
        }
        let at = |ring, sector| ring * (sectors + 1) + sector;
        for (ring, sector) in (1..rings - 1).flat_map(|r| (0..sectors).map(move |s| (r, s))) {
            let [a, b] = [at(ring, sector), at(ring, sector + 1)];
            let [c, d] = [at(ring + 1, sector), at(ring + 1, sector + 1)];
            indices.extend([a, c, b, b, c, d]);
        }
        for (one, by) in with_both_generators(&points, &points, &uvs, &indices) {
            for corner in &one.indices[..indices.len()] {
                let [x, _, z] = one.positions[*corner as usize];
                let east = Vec3::new(z, 0.0, -x).normalize() * if mirrored { -1.0 } else { 1.0 };
                let [tx, ty, tz, sign] = one.tangents[*corner as usize];
                assert!(Vec3::new(tx, ty, tz).dot(east) > 0.98, "{by}: {tx} {ty} {tz} instead of {east}");
                let normal = Vec3::from(one.normals[*corner as usize]);
                let up = normal.cross(Vec3::new(tx, ty, tz)) * sign;
                assert!(up.y > 0.2, "{by}: the top of the texture is in the north, not along {up}");
            }
        }
    }
}

/// In symmetric models, both halves of the model often use the same half of the texture, and share the vertices at the
/// seam between them.
#[test]
fn vertices_at_the_seam_of_a_mirrored_texture_are_duplicated() {
    let columns = [-1.0_f32, 0.0, 1.0];
    let points: Vec<[f32; 3]> = columns.iter().flat_map(|x| [[*x, 0.0, 0.0], [*x, 1.0, 0.0]]).collect();
    let uvs: Vec<[f32; 2]> = points.iter().map(|[x, y, _]| [x.abs(), 1.0 - y]).collect();
    let indices = [0, 2, 3, 0, 3, 1, 2, 4, 5, 2, 5, 3];
    for (one, by) in with_both_generators(&points, &[[0.0, 0.0, 1.0]; 6], &uvs, &indices) {
        let corner = |i: usize| one.tangents[one.indices[i] as usize];
        for i in 0..6 {
            assert!(near(corner(i), [-1.0, 0.0, 0.0, -1.0]), "{by}: left, corner {i}: {:?}", corner(i));
            assert!(near(corner(i + 6), [1.0, 0.0, 0.0, 1.0]), "{by}: right, corner {i}: {:?}", corner(i + 6));
        }
        let position = |i: usize| one.positions[one.indices[i] as usize];
        assert!((0..12).all(|i| position(i) == points[indices[i] as usize]), "{by}: the surface stays as it is");
        assert_eq!(one.positions.len(), one.tangents.len());
    }
}

#[test]
fn duplicated_vertices_keep_all_their_attributes() {
    let columns = [-1.0_f32, 0.0, 1.0];
    let points: Vec<[f32; 3]> = columns.iter().flat_map(|x| [[*x, 0.0, 0.0], [*x, 1.0, 0.0]]).collect();
    let uvs: Vec<[f32; 2]> = points.iter().map(|[x, y, _]| [x.abs(), 1.0 - y]).collect();
    let mut glb = with_normal_map(&points, &[[0.0, 0.0, 1.0]; 6], &uvs, &[0, 2, 3, 0, 3, 1, 2, 4, 5, 2, 5, 3]);
    glb.attribute("COLOR_0", &std::array::from_fn::<_, 6, _>(|i| [i as f32 / 8.0, 0.0, 0.0]));
    glb.attribute("JOINTS_0", &std::array::from_fn::<_, 6, _>(|_| [0_u8; 4]));
    glb.attribute("WEIGHTS_0", &[[1.0_f32, 0.0, 0.0, 0.0]; 6]);
    let push = glb.accessor(&std::array::from_fn::<_, 6, _>(|i| [0.0, 0.0, i as f32]));
    glb.primitive()["targets"] = json!([{"POSITION": push}]);
    glb.push("skins", json!({"joints": [0]}));
    glb.node()["skin"] = 0.into();
    let one = glb.loaded();
    assert_eq!(one.positions.len(), 8);
    for list in [one.colors.len(), one.joints.len(), one.weights.len(), one.uvs[0].len(), one.normals.len()] {
        assert_eq!(list, 8);
    }
    for (v, position) in one.positions.iter().enumerate() {
        let original = points.iter().position(|p| p == position).unwrap();
        assert_near(&[one.colors[v][0]], &[original as f32 / 8.0]);
        assert_near(&one.morph_targets[0].positions[v], &[0.0, 0.0, original as f32]);
    }
}

#[test]
fn tangents_follow_the_texture_transform() {
    let upright = corner_uvs(|x, y| [x, 1.0 - y]);
    let quarter = std::f32::consts::FRAC_PI_2;
    // KHR_texture_transform rotates texture coordinates counter-clockwise if v points down. Therefore the texture
    // itself rotates clockwise: `u' = cos·u + sin·v`.
    for (name, transform, expected) in [
        ("tiled", json!({"scale": [3, 3]}), [1.0, 0.0, 0.0, 1.0]),
        ("turned", json!({"rotation": quarter}), [0.0, -1.0, 0.0, 1.0]),
        ("turned back", json!({"rotation": -quarter}), [0.0, 1.0, 0.0, 1.0]),
        ("mirrored", json!({"scale": [-1, 1]}), [-1.0, 0.0, 0.0, -1.0]),
        ("upside down", json!({"scale": [1, -1], "offset": [0, 1]}), [1.0, 0.0, 0.0, -1.0]),
    ] {
        let mut glb = square(&upright);
        glb.material()["normalTexture"]["extensions"] = json!({"KHR_texture_transform": transform});
        for found in glb.loaded().tangents {
            assert!(near(found, expected), "{name}: {found:?} instead of {expected:?}");
        }
    }
    let mut glb = square(&upright);
    glb.material()["normalTexture"]["extensions"] = json!({"KHR_texture_transform": {"scale": [-1, 1], "texCoord": 1}});
    glb.attribute("TEXCOORD_1", &corner_uvs(|x, y| [y, x]));
    for found in glb.loaded().tangents {
        assert!(near(found, [0.0, -1.0, 0.0, -1.0]), "with the other set: {found:?}");
    }
}

#[test]
fn tangents_have_sign_0_where_the_texture_does_not_vary() {
    for tangent in square(&corner_uvs(|_, _| [0.5, 0.5])).loaded().tangents {
        assert_near(&tangent[3..], &[0.0]);
        assert!((Vec3::new(tangent[0], tangent[1], tangent[2]).length() - 1.0).abs() < 1e-5);
    }
    // If the mesh lacks the texture coordinates of a texture, all coordinates are (0, 0). The whole surface then shows
    // the same texel.
    let mut glb = square(&corner_uvs(|x, y| [x, y]));
    glb.material()["normalTexture"]["texCoord"] = 1.into();
    assert!(glb.loaded().tangents.is_empty());
}

#[test]
fn degenerate_triangles_take_bounded_time() {
    let count = 150_000_u32;
    let mut points = Vec::new();
    let mut indices = Vec::new();
    for i in 0..count {
        let (x, y) = ((i % 400) as f32, (i / 400) as f32);
        let first = points.len() as u32;
        points.extend([[x, y, 0.0], [x + 0.5, y, 0.0], [x, y + 0.5, 0.0]]);
        indices.extend([first, first + 1, first + 2, first, first, first + 1]);
    }
    let uvs: Vec<[f32; 2]> = points.iter().map(|[x, y, _]| [*x, -*y]).collect();
    let one = with_normal_map(&points, &vec![[0.0, 0.0, 1.0]; points.len()], &uvs, &indices).loaded();
    assert!(one.tangents.iter().all(|t| near(*t, [1.0, 0.0, 0.0, 1.0])));
}
