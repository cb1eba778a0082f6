//! Tests that `Scene::surfaces_at` returns the surfaces that a frame shows at a point. A decal that is placed with a
//! returned surface must appear at this point.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::Arc;

use glam::{Vec2, Vec3};
use plinth_model::{AlphaMode, Image, Material, Mesh, Model, Node, Primitive, Texture, TextureRef, Transmission};
use plinth_scene::{PosedPrimitive, Scene, SceneAssets, Shot, build_scene};
use plinth_spec::preview::SurfaceAtPoint;
use serde_json::{Value, json};

use crate::models::{arm, model_of, morphing, plain_scene, primitive, settings, sliding};

const ASPECT: f64 = 16.0 / 9.0;

/// Returns the position of a world-space point in a frame, as fractions of the width and the height.
fn seen_at(shot: &Shot, world: Vec3) -> [f64; 2] {
    let camera = &shot.camera;
    let in_view = camera.view_from_world.transform_point3(world);
    let tan = (0.5 * camera.fov_y).tan();
    let on_frame = in_view.truncate() / (-in_view.z * tan * Vec2::new(ASPECT as f32, 1.0));
    Vec2::new(0.5 + 0.5 * on_frame.x, 0.5 - 0.5 * on_frame.y).as_dvec2().to_array()
}

/// Returns the surfaces at the position of a world-space point in a frame.
fn surfaces(scene: &Scene, frame: usize, world: Vec3) -> Vec<SurfaceAtPoint> {
    let shot = &scene.shots[frame];
    scene.surfaces_at(shot, seen_at(shot, world), ASPECT).surfaces
}

/// Returns a square that faces +Z. `half` is half its side length.
fn square(half: f32, z: f32) -> Primitive {
    let mut part = primitive(vec![[-half, -half, z], [half, -half, z], [half, half, z], [-half, half, z]]);
    part.indices = vec![0, 1, 2, 0, 2, 3];
    part.uvs = vec![vec![[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]]];
    part
}

/// Returns a model of a wall behind a pane with the material `pane`.
fn wall_behind(pane: &Material) -> Model {
    let mesh = |name: &str, part: Primitive| Mesh { name: name.into(), primitives: vec![part] };
    let node = |name: &str, mesh| Node { name: name.into(), mesh: Some(mesh), ..Node::default() };
    Model {
        nodes: vec![node("wall", 0), node("pane", 1)],
        meshes: vec![mesh("wall", square(1.0, -0.2)), mesh("pane", Primitive { material: 1, ..square(0.5, 0.2) })],
        materials: vec![
            Material { name: "plaster".into(), ..Material::default() },
            Material { name: "glass".into(), ..pane.clone() },
        ],
        ..Model::default()
    }
}

fn names(found: &[SurfaceAtPoint]) -> Vec<&str> {
    found.iter().map(|surface| surface.mesh.as_str()).collect()
}

/// Returns the model [`arm`] with triangles that all face +Z in the rest pose.
fn strip() -> Model {
    let mut model = arm();
    model.meshes[0].primitives[0].indices =
        (0..4).flat_map(|i| [0, 1, 3, 0, 3, 2].map(|corner| 2 * i + corner)).collect();
    model
}

fn square_morph() -> Model {
    let mut model = morphing();
    model.meshes[0].primitives[0].indices = vec![0, 1, 2, 0, 2, 3];
    model
}

/// Returns the centroid of a triangle of a posed primitive in world space, after the scale of the shot is applied.
fn middle(scene: &Scene, shot: &Shot, posed: &PosedPrimitive, triangle: usize) -> Vec3 {
    let node = &scene.model.nodes[posed.node];
    let part = &scene.model.meshes[node.mesh.unwrap()].primitives[posed.primitive];
    let corners = &part.indices[3 * triangle..3 * triangle + 3];
    let middle: Vec3 = corners.iter().map(|v| posed.positions[*v as usize]).sum::<Vec3>() / 3.0;
    shot.grow_origin + (middle - shot.grow_origin) * shot.grow
}

#[test]
fn the_surface_at_a_point_is_that_of_the_frame_in_every_pose() {
    for look in [
        json!({}),
        json!({"panX": 30, "tiltX": -20, "rollZ": 10}),
        json!({"scaleX": -1.5, "translateX": 0.3}),
        json!({"effect": "reveal", "sweepAngle": 30}),
        json!({"effect": "keyframes", "endAngle": 20, "aspect": "1:1"}),
    ] {
        let mut look = look;
        look["length"] = json!(1);
        let scene = plain_scene(model_of(vec![square(0.7, 0.0)]), &look);
        let aspect = if look["aspect"] == "1:1" { 1.0 } else { ASPECT };
        for frame in [0, 15, 29] {
            let shot = &scene.shots[frame];
            let posed = scene.pose(shot.clip_time);
            let world = middle(&scene, shot, &posed[0], 1);
            let mut at = seen_at(shot, world);
            at[0] = 0.5 + (at[0] - 0.5) * ASPECT / aspect;
            let found = scene.surfaces_at(shot, at, aspect).surfaces;
            if shot.grow == 0.0 {
                assert!(found.is_empty(), "a model without a size");
                continue;
            }
            // In some frames of the turntable, the camera is behind the square.
            let toward = shot.camera.position - world;
            let is_front = posed[0].normals[0].dot(toward) > 0.0;
            assert_eq!(found.len(), usize::from(is_front), "{look} {frame}");
            let Some(surface) = found.first() else { continue };
            assert_eq!((surface.mesh.as_str(), surface.is_back), ("part", false));
            assert!(Vec3::from(surface.point.map(|c| c as f32)).distance(world) < 1e-3, "{look} {frame}: {surface:?}");
        }
    }
}

#[test]
fn surfaces_behind_glass_are_listed_and_those_behind_walls_are_not() {
    let glass = Material { transmission: Some(Transmission { factor: 1.0, texture: None }), ..Material::default() };
    let half_clear = Material { alpha_mode: AlphaMode::Blend, base_color: [1.0, 1.0, 1.0, 0.5], ..Material::default() };
    let invisible = Material { alpha_mode: AlphaMode::Blend, base_color: [1.0, 1.0, 1.0, 0.0], ..Material::default() };
    for (pane, seen) in [
        (glass.clone(), vec!["pane", "wall"]),
        (half_clear, vec!["pane", "wall"]),
        (invisible, vec!["wall"]),
        (Material::default(), vec!["pane"]),
    ] {
        let scene = plain_scene(wall_behind(&pane), &json!({}));
        let found = surfaces(&scene, 0, Vec3::new(0.1, 0.1, 0.2));
        assert_eq!(names(&found), seen);
        let materials: Vec<_> = found.iter().map(|surface| surface.material.as_deref().unwrap()).collect();
        assert_eq!(materials.first(), Some(&if seen[0] == "pane" { "glass" } else { "plaster" }));
    }
    let hidden = plain_scene(wall_behind(&glass), &json!({"hiddenMeshNames": ["pane"]}));
    assert_eq!(names(&surfaces(&hidden, 0, Vec3::new(0.1, 0.1, 0.2))), ["wall"]);
    assert!(surfaces(&hidden, 0, Vec3::new(3.0, 0.0, 0.0)).is_empty(), "the background");
}

#[test]
fn back_faces_are_found_only_if_they_are_drawn() {
    let behind = json!({"rotateY": 180});
    for (double_sided, count) in [(false, 0), (true, 1)] {
        let mut model = model_of(vec![square(0.7, 0.0)]);
        model.materials[0].double_sided = double_sided;
        let found = surfaces(&plain_scene(model, &behind), 0, Vec3::new(0.2, 0.1, 0.0));
        assert_eq!(found.len(), count);
        assert!(found.iter().all(|surface| surface.is_back && surface.normal[2] > 0.99), "{found:?}");
    }
}

#[test]
fn holes_and_texture_coordinates_follow_the_transform_of_the_texture() {
    // The left half of the image is transparent. The texture transform mirrors the image, so the right half of the
    // square is a hole.
    let pixels = [[255, 255, 255, 0], [255, 255, 255, 255]].concat();
    let image = Image { width: 2, height: 1, pixels: pixels.into(), ..Image::default() };
    let texture = TextureRef { texture: 0, uv_set: 0, transform: Some([-1.0, 0.0, 1.0, 0.0, 1.0, 0.0]) };
    let masked = Material {
        alpha_mode: AlphaMode::Mask { cutoff: 0.5 },
        base_color_texture: Some(texture),
        ..Material::default()
    };
    let mut model = wall_behind(&masked);
    model.images.push(Arc::new(image));
    model.textures.push(Texture { image: 0, sampler: plinth_model::Sampler::default() });
    let scene = plain_scene(model, &json!({}));
    let left = surfaces(&scene, 0, Vec3::new(-0.25, 0.25, 0.2));
    assert_eq!(names(&left), ["pane"]);
    let [u, v] = left[0].uv.unwrap();
    assert!((u - 0.75).abs() < 1e-3 && (v - 0.25).abs() < 1e-3, "{u} {v}");
    assert_eq!(names(&surfaces(&scene, 0, Vec3::new(0.25, 0.25, 0.2))), ["wall"]);
}

/// Returns a scene with a decal that is placed at the surface `at`.
fn with_decal(model: &Model, look: &Value, at: &SurfaceAtPoint) -> Scene {
    let mut bytes = Cursor::new(Vec::new());
    let picture = image::RgbaImage::from_pixel(4, 4, image::Rgba([200, 10, 10, 255]));
    picture.write_to(&mut bytes, image::ImageFormat::Png).unwrap();
    let images = BTreeMap::from([("logo".to_owned(), bytes.into_inner())]);
    let mut look = look.clone();
    look["decals"] = json!([{
        "id": "logo", "imageAssetId": "logo", "position": at.position, "normal": at.normal, "euler": at.euler, "size": 0.1,
    }]);
    build_scene(Arc::new(model.clone()), &settings(&look), SceneAssets { environment: None, images: &images }).unwrap()
}

#[test]
fn a_decal_that_is_placed_with_an_answer_lies_at_the_point() {
    let playing = json!({"animation": "*", "length": 1, "sweepAngle": 10});
    for (name, model, look) in [
        ("square", model_of(vec![square(0.7, 0.0)]), json!({"length": 1})),
        ("turned", model_of(vec![square(0.7, 0.0)]), json!({"panX": 25, "tiltX": 15, "rollZ": -30, "length": 1})),
        ("mirrored", model_of(vec![square(0.7, 0.0)]), json!({"scaleX": -1.4, "translateY": 0.2, "length": 1})),
        ("lying", model_of(vec![square(0.7, 0.0)]), json!({"tiltX": -90, "length": 1})),
        ("skinned", strip(), playing.clone()),
        ("morphing", square_morph(), playing.clone()),
        ("moving", sliding(model_of(vec![square(0.7, 0.0)]), -1.0, 1.0, 1.0), playing.clone()),
    ] {
        let scene = plain_scene(model.clone(), &look);
        for (frame, triangle) in [(0, 0), (10, 1)] {
            let shot = &scene.shots[frame];
            let posed = scene.pose(shot.clip_time);
            let world = middle(&scene, shot, &posed[0], triangle);
            let at = seen_at(shot, world);
            let found = scene.surfaces_at(shot, at, ASPECT).surfaces;
            let Some(surface) = found.first() else {
                assert!(frame > 0 && !look["animation"].is_string(), "{name} {frame}: nothing is found");
                continue;
            };
            let decorated = with_decal(&model, &look, surface);
            assert!(decorated.warnings.is_empty(), "{name}: {:?}", decorated.warnings);
            let again = decorated.surfaces_at(&decorated.shots[frame], at, ASPECT).surfaces;
            assert_eq!(again.len(), 2, "{name} {frame}: {again:?}");
            assert_eq!((again[0].decal.as_deref(), again[0].material.as_deref()), (Some("logo"), None), "{name}");
            let [u, v] = again[0].uv.unwrap();
            assert!((u - 0.5).abs() < 0.08 && (v - 0.5).abs() < 0.08, "{name} {frame}: {u} {v}");
            assert_eq!((&again[1].mesh, &again[1].decal), (&surface.mesh, &None));
        }
    }
}

#[test]
fn the_upper_edge_of_a_placed_decal_points_up() {
    let scene = plain_scene(model_of(vec![square(0.7, 0.0)]), &json!({"rotateY": 40}));
    let surface = &surfaces(&scene, 0, Vec3::new(0.1, 0.2, 0.0))[0];
    assert!(surface.euler.iter().all(|angle| angle.abs() < 1e-5), "the decal has the orientation of the square");
    // The coordinate system of decals differs from world space only by the rotation and translation of the settings.
    assert!((surface.position[0] - 0.1).abs() < 1e-3 && (surface.position[1] - 0.2).abs() < 1e-3, "{surface:?}");
}

#[test]
fn a_keyframe_with_the_camera_of_an_answer_shows_the_same_frame() {
    let model = || model_of(vec![square(0.7, 0.0)]);
    for look in [json!({"rotateY": 35, "zoom": 1.3}), json!({"effect": "keyframes", "startTilt": 40, "startFov": 60})] {
        let scene = plain_scene(model(), &look);
        let pose = scene.surfaces_at(&scene.shots[0], [0.5, 0.5], ASPECT).camera;
        let keyed = plain_scene(model(), &json!({"effect": "keyframes", "keyframes": [{"pose": pose}]}));
        let (one, other) = (scene.shots[0].camera, keyed.shots[0].camera);
        assert!(one.view_from_world.abs_diff_eq(other.view_from_world, 1e-4), "{look}");
        assert!((one.fov_y - other.fov_y).abs() < 1e-5);
    }
}

#[test]
fn the_outline_of_a_mesh_surrounds_its_vertices_in_the_frame() {
    let scene = plain_scene(wall_behind(&Material::default()), &json!({"rotateY": 20}));
    let surface = &surfaces(&scene, 0, Vec3::new(0.0, 0.0, 0.2))[0];
    let corners: Vec<Vec2> = surface.outline.iter().map(|[x, y]| Vec2::new(*x as f32, *y as f32)).collect();
    let pane = scene.pose(None).into_iter().find(|one| scene.model.nodes[one.node].name == "pane").unwrap();
    assert_eq!(corners.len(), 4, "{corners:?}");
    for vertex in &pane.positions {
        let [x, y] = seen_at(&scene.shots[0], *vertex);
        let nearest = corners.iter().map(|corner| corner.distance(Vec2::new(x as f32, y as f32)));
        assert!(nearest.fold(f32::MAX, f32::min) < 1e-3);
    }
}

#[test]
fn an_answer_has_the_values_of_the_material() {
    let edit = json!({"materialEdits": {"glass": {"color": "#336699", "roughness": 0.9, "metalness": 0}}});
    let scene = plain_scene(wall_behind(&Material::default()), &edit);
    let values = &surfaces(&scene, 0, Vec3::new(0.1, 0.1, 0.2))[0].values;
    assert_eq!((values.color.as_str(), values.roughness, values.metalness), ("#336699", 0.9, 0.0));
}
