//! Tests of `inspect`.

use plinth_model::{Inventory, LoadOptions, inspect};
use serde_json::json;

use crate::glb::Glb;
use crate::images::png;

fn inspected(glb: &Glb) -> Inventory {
    inspect(&glb.bytes(), &LoadOptions::default()).unwrap()
}

#[test]
fn an_inventory_has_names_counts_and_textures() {
    let mut glb = Glb::textured();
    glb.image("image/png", &png(2, 1, &[9; 8]));
    glb.json["images"][0]["name"] = "wood".into();
    glb.json["asset"]["generator"] = "a test".into();
    glb.json["extensionsUsed"] = json!(["ACME_x"]);
    glb.json["nodes"] = json!([{"mesh": 0, "name": "left leg"}, {"mesh": 0, "name": "left leg"}]);
    glb.json["scenes"][0]["nodes"] = json!([0, 1]);
    let inventory = inspected(&glb);
    assert_eq!(inventory.mesh_names, ["left_leg", "left_leg_1"]);
    assert_eq!((inventory.triangles, inventory.vertices), (2, 6));
    assert_eq!(inventory.generator.as_deref(), Some("a test"));
    assert_eq!(inventory.extensions_used, ["ACME_x"]);
    let texture = &inventory.textures[0];
    assert_eq!((texture.name.as_deref(), texture.format.as_str()), (Some("wood"), "png"));
    assert_eq!((texture.width, texture.height), (2, 1));
}

#[test]
fn lines_points_and_triangles_are_counted_separately() {
    let mut glb = Glb::triangle();
    let primitives = glb.json["meshes"][0]["primitives"].as_array_mut().unwrap();
    primitives.push(json!({"attributes": {"POSITION": 0}, "mode": 2}));
    primitives.push(json!({"attributes": {"POSITION": 0}, "mode": 0}));
    let inventory = inspected(&glb);
    assert_eq!((inventory.triangles, inventory.lines, inventory.points, inventory.vertices), (1, 3, 3, 9));
    assert!(inventory.warnings.is_empty());
}

#[test]
fn material_names_keep_their_spaces_and_missing_ones_are_generated() {
    let mut glb = Glb::textured();
    glb.image("image/png", &png(1, 1, &[9; 4]));
    glb.material()["name"] = "dark oak".into();
    glb.push("materials", json!({}));
    glb.push("materials", json!({"name": ""}));
    let inventory = inspected(&glb);
    assert_eq!(inventory.material_maps, [vec!["map"], vec![], vec![]]);
    let names = inventory.material_names;
    assert_eq!(names, ["dark oak", "material_1", "material_2"]);
    // The names of loaded materials must be the same, because `materialEdits` refers to them.
    let loaded: Vec<String> = glb.load().materials.into_iter().map(|material| material.name).collect();
    assert_eq!(loaded, [&names[..], &[String::new()]].concat(), "the last one is the default material");
}

#[test]
fn inspect_accepts_unused_invalid_images_like_loading() {
    let mut glb = Glb::textured();
    glb.image("image/png", &png(1, 1, &[9; 4]));
    let noise = glb.view(b"noise");
    glb.push("images", json!({"bufferView": noise}));
    glb.push("images", json!({"bufferView": 99}));
    glb.load();
    let inventory = inspected(&glb);
    assert_eq!(inventory.textures.len(), 1);
    assert_eq!(inventory.warnings.len(), 2);
    assert!(
        inventory.warnings[0].starts_with("not used: images[1]: it cannot be decoded"),
        "{}",
        inventory.warnings[0]
    );
    assert!(inventory.warnings[1].contains("bufferView 99 does not exist"), "{}", inventory.warnings[1]);
}

#[test]
fn inspect_rejects_the_same_files_as_loading() {
    let mut glb = Glb::textured();
    glb.image("image/png", b"noise");
    assert_eq!(inspect(&glb.bytes(), &LoadOptions::default()).unwrap_err().to_string(), glb.load_error());
}

#[test]
fn names_are_cut_to_256_characters_and_stay_unique() {
    let mut glb = Glb::textured();
    glb.image("image/png", &png(1, 1, &[9; 4]));
    let long = "ä".repeat(1000);
    glb.material()["name"] = long.clone().into();
    glb.json["nodes"] = json!([{"mesh": 0, "name": long}, {"mesh": 0, "name": long}]);
    glb.json["scenes"][0]["nodes"] = json!([0, 1]);
    let inventory = inspected(&glb);
    assert_eq!(inventory.mesh_names, ["ä".repeat(256), "ä".repeat(254) + "_1"]);
    assert_eq!(inventory.material_names, ["ä".repeat(256)]);
    let loaded = glb.load();
    assert_eq!(loaded.nodes[1].name, inventory.mesh_names[1], "the renderer matches the listed names");
    assert_eq!(loaded.materials[0].name, inventory.material_names[0]);
}

#[test]
fn lists_of_names_are_cut_by_number_and_size() {
    let mut glb = Glb::textured();
    glb.image("image/png", &png(1, 1, &[9; 4]));
    for i in 0..10_100 {
        glb.push("materials", json!({"name": format!("m{i}")}));
    }
    // Each of these characters takes six bytes in JSON.
    let long = "\u{1}".repeat(256);
    glb.json["nodes"] = (0..900).map(|_| json!({"mesh": 0, "name": long})).collect();
    glb.json["scenes"][0]["nodes"] = (0..900).collect();
    let inventory = inspected(&glb);
    assert_eq!(inventory.material_names.len(), 10_000);
    assert!(serde_json::to_string(&inventory.mesh_names).unwrap().len() <= (1 << 20) + 2);
    let messages: Vec<_> = inventory.warnings.iter().filter(|warning| warning.ends_with("names are listed")).collect();
    assert_eq!(messages[0], "materials: only the first 10000 of 10101 names are listed");
    assert!(
        messages[1].starts_with("meshes: only the first 6") && messages[1].ends_with("of 900 names are listed"),
        "{messages:?}"
    );
}
