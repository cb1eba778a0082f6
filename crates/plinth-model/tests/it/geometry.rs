//! Tests of the triangles, normals, tangents, texture coordinates and colours of decoded primitives.

use plinth_model::{Primitive, Topology};
use serde_json::json;

use crate::glb::{CORNERS, Glb, UVS, assert_near};

const SQUARE: [[f32; 3]; 4] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]];
const UP: [[f32; 3]; 4] = [[0.0, 0.0, 1.0]; 4];

fn with_mode(mode: u32) -> Primitive {
    let mut glb = Glb::mesh(&SQUARE);
    glb.attribute("NORMAL", &UP);
    glb.primitive()["mode"] = mode.into();
    glb.loaded()
}

#[test]
fn strips_and_fans_become_triangles_with_the_same_winding() {
    assert_eq!(with_mode(5).indices, [0, 1, 2, 1, 3, 2]);
    assert_eq!(with_mode(6).indices, [1, 2, 0, 2, 3, 0]);
    assert_eq!(with_mode(5).topology, Topology::Triangles);
}

#[test]
fn lines_and_points_keep_their_topology() {
    assert_eq!((with_mode(0).topology, with_mode(0).indices), (Topology::Points, vec![0, 1, 2, 3]));
    assert_eq!((with_mode(1).topology, with_mode(1).indices), (Topology::Lines, vec![0, 1, 2, 3]));
    assert_eq!(with_mode(2).indices, [0, 1, 1, 2, 2, 3, 3, 0]);
    assert_eq!(with_mode(3).indices, [0, 1, 1, 2, 2, 3]);
}

#[test]
fn a_primitive_with_too_few_vertices_causes_a_warning() {
    for (mode, vertices) in [(1, 1), (2, 1), (3, 1), (4, 2), (5, 2)] {
        let mut glb = Glb::triangle();
        let few = glb.accessor(&CORNERS[..vertices]);
        let odd = json!({"attributes": {"POSITION": few}, "mode": mode});
        glb.json["meshes"][0]["primitives"].as_array_mut().unwrap().push(odd);
        let warnings = glb.load().warnings;
        assert!(warnings.len() == 1 && warnings[0].contains("are not drawn"), "{mode}: {warnings:?}");
        glb.json["meshes"][0]["primitives"][1]["attributes"]["POSITION"] = 0.into();
        assert!(glb.load().warnings.is_empty(), "{mode}");
    }
}

#[test]
fn vertices_after_the_last_complete_triangle_are_not_drawn() {
    assert_eq!(with_mode(4).indices, [0, 1, 2]);
    let mut glb = Glb::mesh(&SQUARE);
    assert_eq!(glb.loaded().normals.len(), glb.loaded().positions.len());
    glb.indices(&[3_u8, 2, 1, 0]);
    assert_eq!(glb.loaded().indices.len(), 3);
}

#[test]
fn vertices_are_used_in_order_if_there_are_no_indices() {
    assert_eq!(Glb::triangle().loaded().indices, [0, 1, 2]);
}

#[test]
fn triangles_without_normals_are_flat_and_share_no_vertices() {
    let mut glb = Glb::mesh(&[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
    glb.attribute("TEXCOORD_0", &[[0.0_f32, 0.0], [0.1, 0.0], [0.2, 0.0], [0.3, 0.0]]);
    glb.attribute("COLOR_0", &[[0.0_f32, 0.0, 0.0], [0.1, 0.0, 0.0], [0.2, 0.0, 0.0], [0.3, 0.0, 0.0]]);
    glb.indices(&[0_u8, 1, 2, 0, 2, 3]);
    let flat = glb.loaded();
    assert_eq!(flat.indices, [0, 1, 2, 3, 4, 5]);
    assert_eq!(flat.positions[5], [0.0, 0.0, 1.0]);
    assert_eq!((flat.uvs[0][5], flat.colors[5][0]), ([0.3, 0.0], 0.3));
    assert_eq!(flat.normals[..3], [[0.0, 0.0, 1.0]; 3]);
    assert_eq!(flat.normals[3..], [[1.0, 0.0, 0.0]; 3]);
}

#[test]
fn flat_normals_of_tiny_and_of_degenerate_triangles_are_unit_vectors() {
    let tiny = Glb::mesh(&CORNERS.map(|p| p.map(|c| c * 1e-18))).loaded();
    assert_eq!(tiny.normals, [[0.0, 0.0, 1.0]; 3]);
    let point = Glb::mesh(&[[0.5; 3]; 3]).loaded();
    assert_eq!(point.normals, [[0.0, 1.0, 0.0]; 3]);
}

#[test]
fn normals_are_normalised() {
    let mut glb = Glb::triangle();
    glb.attribute("NORMAL", &[[0.0_f32, 0.0, 4.0], [0.0, 0.0, 0.0], [3.0, 0.0, 0.0]]);
    assert_eq!(glb.loaded().normals, [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]);
}

/// Builds a triangle with a normal map that uses the texture coordinate set `set`.
fn bumped(set: usize) -> Glb {
    let mut glb = Glb::triangle();
    glb.attribute("NORMAL", &[[0.0_f32, 0.0, 1.0]; 3]);
    glb.image("image/png", &crate::images::png(1, 1, &[128, 128, 255, 255]));
    glb.push("materials", json!({"normalTexture": {"index": 0, "texCoord": set}}));
    glb.primitive()["material"] = 0.into();
    glb
}

#[test]
fn tangents_follow_the_texture_coordinates_of_the_normal_map() {
    let mut glb = bumped(1);
    glb.attribute("TEXCOORD_0", &UVS);
    glb.attribute("TEXCOORD_1", &UVS.map(|[u, v]| [v, u]));
    assert_near(&glb.loaded().tangents[0], &[0.0, 1.0, 0.0, 1.0]);
}

#[test]
fn tangents_of_the_file_are_kept_if_the_material_needs_them() {
    let mut glb = bumped(0);
    glb.attribute("TEXCOORD_0", &UVS);
    glb.attribute("TANGENT", &[[0.0_f32, 1.0, 0.0, -1.0]; 3]);
    assert_eq!(glb.loaded().tangents, [[0.0, 1.0, 0.0, -1.0]; 3]);
    glb.json["materials"][0] = json!({});
    assert!(glb.loaded().tangents.is_empty());
    let without_uvs = bumped(0);
    assert!(without_uvs.loaded().tangents.is_empty());
}

/// Builds a disc of `count` triangles that share the vertex at the centre.
fn disc(count: usize) -> Glb {
    let rim = |i: usize| (i as f32 / count as f32 * std::f32::consts::TAU).sin_cos();
    let points: Vec<[f32; 3]> = std::iter::once([0.0; 3])
        .chain((0..count).map(|i| {
            let (y, x) = rim(i);
            [x, y, 0.0]
        }))
        .collect();
    let mut glb = Glb::mesh(&points);
    glb.attribute("NORMAL", &vec![[0.0_f32, 0.0, 1.0]; points.len()]);
    glb.attribute("TEXCOORD_0", &points.iter().map(|[x, y, _]| [*x, *y]).collect::<Vec<_>>());
    let corner = |i: usize| (1 + i % count) as u32;
    glb.indices(&(0..count).flat_map(|i| [0, corner(i), corner(i + 1)]).collect::<Vec<u32>>());
    glb.image("image/png", &crate::images::png(1, 1, &[128, 128, 255, 255]));
    glb.push("materials", json!({"normalTexture": {"index": 0}}));
    glb.primitive()["material"] = 0.into();
    glb
}

#[test]
fn a_vertex_shared_by_100_000_triangles_gets_tangents_in_bounded_time() {
    for count in [8, 100_000] {
        for tangent in disc(count).loaded().tangents {
            assert_near(&tangent, &[1.0, 0.0, 0.0, -1.0]);
        }
    }
}

#[test]
fn texture_coordinate_sets_keep_their_index_if_earlier_ones_are_missing() {
    let mut glb = Glb::triangle();
    glb.attribute("TEXCOORD_2", &UVS);
    let uvs = glb.loaded().uvs;
    assert_eq!(uvs.len(), 3);
    assert!(uvs[0].is_empty() && uvs[1].is_empty());
    assert_eq!(uvs[2], UVS);
}

#[test]
fn colours_without_alpha_have_alpha_1() {
    let mut glb = Glb::triangle();
    glb.attribute("COLOR_0", &[[0.5_f32, 0.25, 0.125]; 3]);
    assert_eq!(glb.loaded().colors, [[0.5, 0.25, 0.125, 1.0]; 3]);
    let accessor = glb.normalized(&[[255_u8, 0, 51, 102]; 3]);
    glb.primitive()["attributes"]["COLOR_0"] = accessor.into();
    assert_near(&glb.loaded().colors[0], &[1.0, 0.0, 0.2, 0.4]);
}

#[test]
fn colours_are_clamped() {
    let mut glb = Glb::triangle();
    glb.attribute("COLOR_0", &[[3.0_f32, -1.0, 0.5, 1.5]; 3]);
    assert_eq!(glb.loaded().colors, [[1.0, 0.0, 0.5, 1.0]; 3]);
}

#[test]
fn a_primitive_without_a_material_uses_the_default_one_which_is_last() {
    let mut glb = Glb::triangle();
    glb.push("materials", json!({"name": "unused"}));
    let model = glb.load();
    assert_eq!(model.meshes[0].primitives[0].material, 1);
    assert_eq!(model.materials[1], plinth_model::Material::default());
}
