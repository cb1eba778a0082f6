//! Tests of the opaque parts of alpha-blended materials.

use std::sync::Arc;

use plinth_model::{
    AlphaMode, Image, Material, Model, MorphTarget, Primitive, Sampler, Texture, TextureRef, Transmission,
};
use plinth_render::separate_opaque_triangles;
use serde_json::json;

use crate::models::{ball, layers, model, picture, scene, square, straight_on};

const SIDE: u32 = 96;

fn painted(r: f32, g: f32, b: f32) -> Material {
    let texture = TextureRef { texture: 0, uv_set: 0, transform: None };
    Material {
        alpha_mode: AlphaMode::Blend,
        base_color: [r, g, b, 1.0],
        base_color_texture: Some(texture),
        unlit: true,
        ..Material::default()
    }
}

/// Returns a square with texture coordinates from 0 to 1.
fn textured_square() -> Primitive {
    Primitive { uvs: vec![vec![[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]]], ..square() }
}

/// Adds an image of 32 × 32 white texels with the given alpha.
fn with_image(mut model: Model, alpha: impl Fn(u32, u32) -> u8) -> Model {
    let pixels = (0..32).flat_map(|y| (0..32).flat_map(|x| [255, 255, 255, alpha(x, y)]).collect::<Vec<_>>());
    let image = Image { width: 32, height: 32, pixels: pixels.collect::<Vec<_>>().into(), ..Image::default() };
    model.images.push(Arc::new(image));
    model.textures.push(Texture { image: 0, sampler: Sampler::default() });
    model
}

/// Returns the primitives of the first mesh after opaque triangles were separated: the number of triangles, and the
/// material.
fn separated(model: Model) -> Vec<(usize, Material)> {
    let mut scene = scene(model, &straight_on());
    separate_opaque_triangles(&mut scene);
    let primitives = scene.model.meshes[0].primitives.iter();
    primitives.map(|p| (p.indices.len() / 3, scene.model.materials[p.material].clone())).collect()
}

fn modes(model: Model) -> Vec<(usize, AlphaMode)> {
    separated(model).into_iter().map(|(triangles, material)| (triangles, material.alpha_mode)).collect()
}

/// Two strips of squares: one with texture coordinates in the left half of the image, one in the right half.
fn strips() -> Primitive {
    let mut strips = Primitive::default();
    for (half, x) in [(0.0, -0.5), (0.5, 0.5)] {
        let first = strips.positions.len() as u32;
        let part = square();
        strips.positions.extend(part.positions.iter().map(|p| [p[0] * 0.4 + x, p[1], p[2]]));
        strips.normals.extend(part.normals);
        strips.indices.extend(part.indices.iter().map(|i| first + i));
        let uvs = [[0.2, 0.9], [0.3, 0.9], [0.3, 0.1], [0.2, 0.1]].map(|[u, v]| [u + half, v]);
        strips.uvs.resize(1, Vec::new());
        strips.uvs[0].extend(uvs);
    }
    strips
}

#[test]
fn only_triangles_with_opaque_texels_get_an_opaque_material() {
    let one = |material: Material| model(vec![(strips(), material, [0.0; 3], 1.0)]);
    let of = |material, alpha: fn(u32, u32) -> u8| modes(with_image(one(material), alpha));
    let white = || painted(1.0, 1.0, 1.0);
    assert_eq!(of(white(), |_, _| 255), [(4, AlphaMode::Opaque)]);
    assert_eq!(of(white(), |_, _| 254), [(4, AlphaMode::Blend)]);
    let half = [(2, AlphaMode::Blend), (2, AlphaMode::Opaque)];
    assert_eq!(of(white(), |x, _| if x < 16 { 255 } else { 90 }), half);
    assert_eq!(of(Material { base_color: [1.0, 1.0, 1.0, 0.9], ..white() }, |_, _| 255), [(4, AlphaMode::Blend)]);
    assert_eq!(of(Material { overlay: true, ..white() }, |_, _| 255), [(4, AlphaMode::Blend)]);
    let glass = Material { unlit: false, transmission: Some(Transmission { factor: 1.0, texture: None }), ..white() };
    assert_eq!(of(glass, |_, _| 255), [(4, AlphaMode::Blend)]);
    let mask = Material { alpha_mode: AlphaMode::Mask { cutoff: 0.5 }, ..white() };
    assert_eq!(of(mask, |_, _| 255), [(4, AlphaMode::Mask { cutoff: 0.5 })]);
}

#[test]
fn translucent_vertices_keep_their_triangles_blended() {
    let mut painted_strips = strips();
    painted_strips.colors = vec![[1.0; 4]; 8];
    painted_strips.colors[5][3] = 0.5;
    let blended = Material { base_color_texture: None, ..painted(1.0, 1.0, 1.0) };
    let found = modes(model(vec![(painted_strips, blended, [0.0; 3], 1.0)]));
    assert_eq!(found, [(1, AlphaMode::Blend), (3, AlphaMode::Opaque)]);
}

#[test]
fn both_sides_of_a_body_stay_visible_through_its_translucent_part() {
    // An octahedron: the upper half reads the left half of the image, the lower half reads the right half.
    let mut body = Primitive { uvs: vec![Vec::new()], ..Primitive::default() };
    for (top, u) in [(1.0, 0.25), (-1.0, 0.75)] {
        let around = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
        for i in 0..4 {
            let (a, b) = (around[i], around[(i + 1) % 4]);
            let first = body.positions.len() as u32;
            body.positions.extend(if top > 0.0 { [a, b, [0.0, top, 0.0]] } else { [b, a, [0.0, top, 0.0]] });
            body.normals.extend([[0.0, top, 0.0]; 3]);
            body.uvs[0].extend([[u, 0.5]; 3]);
            body.indices.extend(first..first + 3);
        }
    }
    let with = |alpha: fn(u32, u32) -> u8| {
        let parts = vec![(body.clone(), painted(1.0, 1.0, 1.0), [0.0; 3], 1.0)];
        let parts = separated(with_image(model(parts), alpha));
        parts.into_iter().map(|(_, material)| (material.alpha_mode, material.double_sided)).collect::<Vec<_>>()
    };
    assert_eq!(with(|x, _| if x < 16 { 255 } else { 90 }), [(AlphaMode::Blend, true), (AlphaMode::Opaque, true)]);
    assert_eq!(with(|_, _| 255), [(AlphaMode::Opaque, false)]);
}

#[test]
fn separated_parts_keep_all_vertex_attributes() {
    let mut moving = strips();
    let numbered = |v: usize| [v as f32, 0.0, 0.0];
    moving.morph_targets = vec![MorphTarget { positions: (0..8).map(numbered).collect(), ..MorphTarget::default() }];
    moving.joints = (0..8).map(|v| [v, 0, 0, 0]).collect();
    moving.weights = vec![[1.0, 0.0, 0.0, 0.0]; 8];
    let right = moving.part(&moving.indices[6..]);
    assert_eq!(right.indices, [0, 1, 2, 0, 2, 3]);
    assert_eq!(right.joints.iter().map(|j| j[0]).collect::<Vec<_>>(), [4, 5, 6, 7]);
    assert_eq!(right.morph_targets[0].positions, [4, 5, 6, 7].map(numbered));
    assert_eq!(right.positions, moving.positions[4..]);
    assert_eq!(right.uvs[0], moving.uvs[0][4..]);
    assert_eq!((right.weights.len(), right.colors.len()), (4, 0));
}

/// A blended model whose texels are all opaque looks exactly like an opaque model, also in a dataset.
#[test]
fn an_opaque_picture_of_a_blended_material_equals_that_of_an_opaque_material() {
    let settings = json!({"effect": "turntable", "aspect": "1:1", "length": 0.04});
    let of = |alpha_mode| {
        let lit = Material { alpha_mode, unlit: false, ..painted(0.8, 0.3, 0.1) };
        let parts = vec![
            (textured_square(), lit.clone(), [0.0, 0.0, -0.4], 1.0),
            (Primitive { uvs: vec![vec![[0.5; 2]; 13 * 25]], ..ball(12, 24) }, lit, [0.0; 3], 0.5),
        ];
        let mut scene = scene(with_image(model(parts), |_, _| 255), &settings);
        separate_opaque_triangles(&mut scene);
        (picture(&scene, SIDE), layers(scene, SIDE))
    };
    let ((opaque, opaque_layers), (blended, blended_layers)) = (of(AlphaMode::Opaque), of(AlphaMode::Blend));
    assert!(opaque == blended);
    assert!(opaque_layers == blended_layers);
}

/// A small square is in front of a large slanted square. The mean depth of the large square is less, so it is drawn
/// last; but its opaque texels must not cover the small square.
#[test]
fn opaque_texels_hide_only_what_is_behind_them() {
    let mut slanted = textured_square();
    for p in &mut slanted.positions {
        p[2] = -1.4 * p[0] + 0.3;
    }
    // The squares have a translucent margin, so that no triangle is opaque as a whole.
    let parts = vec![
        (textured_square(), painted(0.0, 0.0, 1.0), [0.6, 0.0, 0.0], 0.3),
        (slanted, painted(1.0, 0.0, 0.0), [0.0; 3], 1.0),
    ];
    let margin = |x: u32, y: u32| if x.min(31 - x).min(y).min(31 - y) < 2 { 128 } else { 255 };
    let mut scene = scene(with_image(model(parts), margin), &straight_on());
    separate_opaque_triangles(&mut scene);
    assert!(scene.model.meshes.iter().all(|mesh| mesh.primitives.len() == 1), "no triangle is opaque");
    let picture = picture(&scene, SIDE);
    let at = |x: u32, y: u32| picture[(y * SIDE + x) as usize];
    assert_eq!(at(SIDE / 2 + 12, SIDE / 2), [0, 0, 255], "the small square is in front");
    assert_eq!(at(SIDE / 2 - 10, SIDE / 2), [255, 0, 0]);
}

/// A motif on glass. Beside the motif, the glass is invisible, and a dataset has no depth.
#[test]
fn invisible_parts_of_blended_glass_have_no_depth() {
    let transmission = Some(Transmission { factor: 1.0, texture: None });
    let glass = Material { unlit: false, transmission, ..painted(1.0, 1.0, 1.0) };
    let pane = model(vec![(textured_square(), glass, [0.0; 3], 1.0)]);
    let pane = with_image(pane, |x, _| if x < 16 { 0 } else { 255 });
    let depth = layers(scene(pane, &straight_on()), SIDE).depth;
    let at = |x: u32| depth[(SIDE / 2 * SIDE + x) as usize];
    assert!(at(SIDE / 2 - 15) <= 0.0, "there is depth beside the motif: {}", at(SIDE / 2 - 15));
    assert!((at(SIDE / 2 + 15) - 4.0).abs() < 1e-3, "{}", at(SIDE / 2 + 15));
}
