//! Tests that convert MTL files and the textures that they name.

use plinth_model::obj_zip::glb_from_zip;
use plinth_model::{AlphaMode, Limits, LoadOptions, Material, Model, Wrap, load_glb};

use crate::glb::assert_near;
use crate::images::png;
use crate::zips::{TRIANGLE, convert, model, zip};

#[test]
fn a_material_with_exactly_the_name_is_preferred_to_one_with_another_comment() {
    let obj = format!("mtllib a.mtl\nusemtl Material #25\n{TRIANGLE}");
    let (used, unused) = ("newmtl Material #25\nKd 1 0 0\n", "newmtl Material #26\nKd 0 0 1\n");
    for mtl in [format!("{used}{unused}"), format!("{unused}{used}")] {
        let m = model(&[("a.obj", obj.as_bytes()), ("a.mtl", mtl.as_bytes())]);
        assert_eq!(m.materials[0].base_color, [1.0, 0.0, 0.0, 1.0], "{mtl}");
    }
}

#[test]
fn materials_without_a_definition_keep_their_names() {
    let obj = format!("mtllib a.mtl\nusemtl Oak\n{TRIANGLE}usemtl Pine\nf 1 2 3\nusemtl Red\nf 1 2 3\n");
    let files: [(&str, &[u8]); 2] = [("a.obj", obj.as_bytes()), ("a.mtl", b"newmtl Red\nKd 1 0 0\n")];
    let m = model(&files);
    let name = |mesh: usize| m.materials[m.meshes[mesh].primitives[0].material].name.as_str();
    assert_eq!([name(0), name(1), name(2)], ["Oak", "Pine", "Red"]);
    assert_eq!(m.materials[m.meshes[0].primitives[0].material].base_color, [1.0; 4]);
    let warning = "no material library defines these materials, so they are white: 'Oak', 'Pine'";
    assert_eq!(convert(&files).unwrap().warnings, [warning]);
}

#[test]
fn a_library_that_no_line_names_is_read_if_it_has_the_name_of_the_obj_or_is_the_only_one() {
    let red = b"newmtl m\nKd 1 0 0\n".as_slice();
    let blue = b"newmtl m\nKd 0 0 1\n".as_slice();
    let with = |line: &str, files: &[(&str, &[u8])]| {
        let obj = format!("{line}usemtl m\n{TRIANGLE}");
        let mut all: Vec<(&str, &[u8])> = vec![("scan/A.obj", obj.as_bytes())];
        all.extend(files);
        (model(&all).materials[0].base_color, convert(&all).unwrap().warnings)
    };
    let missing = "the material library 'old.mtl' is not in the ZIP".to_owned();
    let used = |name: &str| format!("the material library '{name}' is used, although no mtllib line names it");
    let color = [1.0, 0.0, 0.0, 1.0];
    assert_eq!(with("", &[("new.mtl", red)]), (color, vec![used("new.mtl")]));
    assert_eq!(with("mtllib old.mtl\n", &[("new.mtl", red)]), (color, vec![missing, used("new.mtl")]));
    let two = [("scan/a.MTL", red), ("b.mtl", blue)];
    assert_eq!(with("", &two), (color, vec![used("scan/a.MTL")]));
    let undefined = "no material library defines these materials, so they are white: 'm'".to_owned();
    assert_eq!(with("", &[("b.mtl", blue), ("c.mtl", red)]), ([1.0; 4], vec![undefined]));
    // What a named library defines is kept.
    assert_eq!(with("mtllib b.mtl\n", &two), ([0.0, 0.0, 1.0, 1.0], vec![]));
}

#[test]
fn the_warning_about_undefined_materials_names_the_first_three() {
    let obj = ["a", "b", "c", "d"].map(|name| format!("usemtl {name}\nf 1 2 3\n")).concat();
    let warnings = convert(&[("a.obj", format!("{TRIANGLE}{obj}").as_bytes())]).unwrap().warnings;
    assert_eq!(warnings, ["no material library defines these materials, so they are white: 'a', 'b', 'c', …"]);
}

/// Converts an archive that contains a triangle and these files. `statements` are the MTL statements of the triangle's
/// material.
fn with_mtl(statements: &str, files: &[(&str, &[u8])]) -> Model {
    load_glb(&converted_with_mtl(statements, files), &LoadOptions::default()).unwrap()
}

fn converted_with_mtl(statements: &str, files: &[(&str, &[u8])]) -> Vec<u8> {
    let obj = format!("mtllib a.mtl\nusemtl m\nvt 0 0\nvt 1 0\nvt 0 1\n{}", TRIANGLE.replace("1 2 3", "1/1 2/2 3/3"));
    let mtl = format!("newmtl m\n{statements}\n");
    let mut all: Vec<(&str, &[u8])> = vec![("a.obj", obj.as_bytes()), ("a.mtl", mtl.as_bytes())];
    all.extend(files);
    convert(&all).unwrap().glb
}

fn material(statements: &str, files: &[(&str, &[u8])]) -> Material {
    with_mtl(statements, files).materials.swap_remove(0)
}

#[test]
fn the_error_for_a_damaged_texture_names_its_file() {
    let mut damaged = png(1, 1, &[255, 0, 0, 255]);
    // The texels follow the signature (8 bytes), the header (25 bytes), and the length and type of their chunk (8 bytes).
    damaged[8 + 25 + 8] ^= 0xFF;
    let glb = converted_with_mtl("map_Kd wood.png", &[("wood.png", &damaged)]);
    let error = load_glb(&glb, &LoadOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("images[0] ('wood.png'): it cannot be decoded: "), "{error}");
}

#[test]
fn colours_and_opacity_are_read() {
    let m = material("Kd 1 0 0.5\nKe 0 1 0\nd 0.25", &[]);
    assert_near(&m.base_color, &[1.0, 0.0, 0.214_041_14, 0.25]);
    assert_eq!((m.emissive, m.alpha_mode), ([0.0, 1.0, 0.0], AlphaMode::Blend));
    assert_near(&[material("d -halo 0.5", &[]).base_color[3]], &[0.5]);
    assert_eq!(material("Kd 1 1 1", &[]).alpha_mode, AlphaMode::Opaque);
}

#[test]
fn a_colour_with_one_number_is_grey() {
    let m = material("Kd 0.5 # grey\nKe 1", &[]);
    assert_near(&m.base_color, &[0.214_041_14, 0.214_041_14, 0.214_041_14, 1.0]);
    assert_eq!(m.emissive, [1.0; 3]);
    for ignored in ["Kd", "Kd spectral a.rfl 1", "Kd 0.5 0.5", "Kd 0.5 nan 0.5"] {
        assert_eq!(material(ignored, &[]).base_color, [1.0; 4], "{ignored}");
    }
}

#[test]
fn an_emitted_colour_above_1_keeps_its_hue() {
    // The colour (1, 0.5, 0) with a strength of 4. Its linear green is 0.21404114.
    assert_near(&material("Ke 4 2 -1", &[]).emissive, &[4.0, 0.856_164_6, 0.0]);
    let red = png(1, 1, &[255, 0, 0, 255]);
    let textured = material("Ke 3\nmap_Ke -s 2 2 1 t.png", &[("t.png", &red)]);
    assert_near(&textured.emissive, &[3.0; 3]);
    assert!(textured.emissive_texture.unwrap().transform.is_some());
}

#[test]
fn a_colour_texture_replaces_the_colour_in_any_order() {
    let red = png(1, 1, &[255, 0, 0, 255]);
    for statements in ["Kd 0 0 0\nmap_Kd t.png", "map_Kd t.png\nKd 0 0 0"] {
        let m = material(statements, &[("t.png", &red)]);
        assert_eq!(m.base_color, [1.0; 4]);
        assert!(m.base_color_texture.is_some());
    }
}

#[test]
fn vertex_colours_are_used_only_without_a_usable_colour_texture() {
    let grey = png(2, 1, &[100, 100, 100, 255, 255, 255, 255, 255]);
    let is_colored = |statements: &str, usemtl: &str| {
        let vertices = "vt 0 0\nv 0 0 0 1 0 0\nv 1 0 0 1 0 0\nv 0 1 0 1 0 0\n";
        let obj = format!("mtllib a.mtl\n{vertices}usemtl {usemtl}\nf 1/1 2/1 3/1\np 1\nl 1 2\n");
        let mtl = format!("newmtl m\n{statements}\n");
        let files: [(&str, &[u8]); 4] =
            [("a.obj", obj.as_bytes()), ("a.mtl", mtl.as_bytes()), ("t.png", &grey), ("t.tga", b"no picture")];
        let primitives = model(&files).meshes.swap_remove(0).primitives;
        assert_eq!(primitives.len(), 3);
        [0, 1, 2].map(|i| !primitives[i].colors.is_empty())
    };
    for textured in ["map_Kd t.png", "map_Kd t.png\nmap_d t.png", "map_Kd gone.png\nmap_Kd t.png"] {
        // The points and lines have no texture coordinates.
        assert_eq!(is_colored(textured, "m"), [false, true, true], "{textured}");
    }
    let unusable = ["map_Kd gone.png", "map_Kd t.tga", "map_Kd t.tga\nmap_d t.png"];
    for without in unusable.into_iter().chain(["Kd 1 1 1", "map_d t.png", "map_Ke t.png\nnorm t.png"]) {
        assert_eq!(is_colored(without, "m"), [true; 3], "{without}");
    }
    assert_eq!(is_colored("map_Kd t.png", "undefined"), [true; 3]);
}

#[test]
fn texture_scale_and_offset_are_converted_from_v_up() {
    let red = png(1, 1, &[255, 0, 0, 255]);
    let model = with_mtl("map_Kd -s 2 3 1 -o 0.25 0.5 -clamp on t.png", &[("t.png", &red)]);
    let reference = model.materials[0].base_color_texture.unwrap();
    // In MTL, v points up, and the transformed coordinate is 3 v + 0.5. In glTF, v points down, so the coordinate is 1
    // minus this value.
    assert_near(&reference.transform.unwrap(), &[2.0, 0.0, 0.25, 0.0, 3.0, 1.0 - 3.0 - 0.5]);
    assert_eq!(model.textures[reference.texture].sampler.wrap_u, Wrap::Clamp);
}

#[test]
fn texture_names_may_contain_spaces_and_follow_unknown_options() {
    let red = png(1, 1, &[255, 0, 0, 255]);
    for name in ["map_Kd my wood.png", "map_Kd -bm 1.5 my wood.png", "map_Kd -glitter 5 C:\\scans\\my wood.png"] {
        assert!(material(name, &[("textures/my wood.png", &red)]).base_color_texture.is_some(), "{name}");
    }
}

#[test]
fn file_names_may_be_in_quotation_marks() {
    let red = png(1, 1, &[255, 0, 0, 255]);
    for line in ["\"my wood.png\"", "-bm 1.5 \"C:\\scans\\my wood.png\" # oak"] {
        let m = material(&format!("map_Kd {line}"), &[("textures/my wood.png", &red)]);
        assert!(m.base_color_texture.is_some(), "{line}");
    }
    let libraries = "mtllib \"my red.mtl\" \"gone.mtl\"\nmtllib \"C:\\a b.mtl\"";
    let obj = format!("{libraries}\nusemtl red\n{TRIANGLE}usemtl blue\nf 1 2 3\n");
    let files: [(&str, &[u8]); 3] = [
        ("a.obj", obj.as_bytes()),
        ("my red.mtl", b"newmtl red\nKd 1 0 0\nmap_Kd \"no wood.png\"\n"),
        ("a b.mtl", b"newmtl blue\nKd 0 0 1\n"),
    ];
    let colors: Vec<[f32; 4]> = model(&files).materials.iter().take(2).map(|m| m.base_color).collect();
    assert_eq!(colors, [[0.0, 0.0, 1.0, 1.0], [1.0, 0.0, 0.0, 1.0]]);
    let missing = ["the texture 'no wood.png' is not in the ZIP", "the material library 'gone.mtl' is not in the ZIP"];
    assert_eq!(convert(&files).unwrap().warnings, missing);
}

#[test]
fn emissive_textures_without_an_emissive_colour_use_white() {
    let red = png(1, 1, &[255, 0, 0, 255]);
    let m = material("map_Ke t.png", &[("t.png", &red)]);
    assert_eq!(m.emissive, [1.0; 3]);
    assert!(m.emissive_texture.is_some());
    assert_eq!(material("Ke 0 0 1\nmap_Ke t.png", &[("t.png", &red)]).emissive, [0.0, 0.0, 1.0]);
}

#[test]
fn emissive_textures_that_are_ignored_leave_the_emissive_colour() {
    for (statements, expected) in [("map_Ke t.gif", [0.0; 3]), ("map_Ke t.gif\nKe 0 0 1", [0.0, 0.0, 1.0])] {
        let m = material(statements, &[("t.gif", b"GIF89a")]);
        assert_eq!((m.emissive, m.emissive_texture), (expected, None), "{statements}");
    }
}

/// Returns the RGBA value of the first texel of the base colour texture.
fn first_color(model: &Model) -> [u8; 4] {
    let texture = model.materials[0].base_color_texture.unwrap().texture;
    let image = &model.images[model.textures[texture].image];
    image.pixels.first_chunk().copied().unwrap()
}

#[test]
fn an_alpha_map_becomes_the_alpha_of_the_colour_texture() {
    let red = png(2, 1, &[255, 0, 0, 255, 255, 0, 0, 255]);
    let grey = png(2, 1, &[100, 100, 100, 255, 255, 255, 255, 255]);
    let model = with_mtl("map_Kd t.png\nmap_d d.png", &[("t.png", &red), ("d.png", &grey)]);
    assert_eq!(first_color(&model), [255, 0, 0, 100]);
    assert_eq!(model.materials[0].alpha_mode, AlphaMode::Blend);
}

#[test]
fn an_alpha_map_without_grey_is_a_mask_and_its_alpha_channel_is_preferred() {
    let cut = png(2, 1, &[255, 0, 0, 0, 255, 0, 0, 255]);
    let model = with_mtl("map_Kd t.png\nmap_d t.png", &[("t.png", &cut)]);
    assert_eq!(first_color(&model), [255, 0, 0, 0]);
    assert_eq!(model.materials[0].alpha_mode, AlphaMode::Mask { cutoff: 0.5 });
    let alone = with_mtl("map_d t.png", &[("t.png", &cut)]);
    assert_eq!(first_color(&alone), [255, 255, 255, 0]);
}

#[test]
fn an_alpha_map_beside_a_colour_texture_that_cannot_be_used_is_combined_with_the_colour() {
    let grey = png(2, 1, &[100, 100, 100, 255, 255, 255, 255, 255]);
    for texture in ["t.gif", "gone.png"] {
        let statements = format!("Kd 1 0 0\nmap_Kd {texture}\nmap_d d.png");
        let model = with_mtl(&statements, &[("t.gif", b"GIF89a"), ("d.png", &grey)]);
        assert_eq!(first_color(&model), [255, 255, 255, 100], "{texture}");
        let material = &model.materials[0];
        assert_eq!((material.base_color, material.alpha_mode), ([1.0, 0.0, 0.0, 1.0], AlphaMode::Blend), "{texture}");
    }
}

#[test]
fn an_opaque_colour_texture_that_is_also_the_alpha_map_stays_opaque() {
    let dark = png(1, 1, &[90, 60, 30, 255]);
    let model = with_mtl("map_Kd t.png\nmap_d t.png", &[("t.png", &dark)]);
    assert_eq!((first_color(&model), model.materials[0].alpha_mode), ([90, 60, 30, 255], AlphaMode::Opaque));
}

#[test]
fn a_grey_bump_map_is_converted_and_a_coloured_one_is_a_normal_map() {
    // The heights form a ramp of 4 × 1 texels. It rises to the right, and then repeats.
    let ramp: Vec<u8> = [0_u8, 40, 80, 120].iter().flat_map(|h| [*h, *h, *h, 255]).collect();
    let bumped = with_mtl("bump -bm 50 t.png", &[("t.png", &png(4, 1, &ramp))]);
    let normals = |model: &Model| {
        let texture = model.materials[0].normal_texture.unwrap().texture;
        model.images[model.textures[texture].image].pixels.to_vec()
    };
    let [x, y, z, _] = *normals(&bumped).as_chunks::<4>().0.get(1).unwrap();
    assert!(x < 100 && y == 128 && z > 150, "the normal should point to the left: {x} {y} {z}");
    assert_eq!(bumped.materials[0].normal_scale, 1.0);
    let flat = png(1, 1, &[128, 128, 255, 255]);
    let mapped = with_mtl("map_Bump -bm 0.5 t.png", &[("t.png", &flat)]);
    assert_eq!((normals(&mapped), mapped.materials[0].normal_scale), (vec![128, 128, 255, 255], 0.5));
    let model = with_mtl("norm t.png", &[("t.png", &png(1, 1, &[128, 128, 128, 255]))]);
    assert_eq!(normals(&model), [128, 128, 128, 255]);
}

#[test]
fn a_texture_shared_by_many_materials_is_created_once() {
    let grey: Vec<u8> = (0..256 * 256_u32).flat_map(|i| [(i % 256) as u8; 4]).collect();
    let picture = png(256, 256, &grey);
    let count = 3000;
    let faces = (0..count).map(|i| format!("usemtl m{i}\nf 1 2 3\n")).collect::<Vec<_>>().concat();
    let obj = format!("mtllib a.mtl\n{}{faces}", TRIANGLE.replace("f 1 2 3\n", ""));
    let mtl = (0..count)
        .map(|i| format!("newmtl m{i}\nbump t.png\nmap_Kd t.png\nmap_d t.png\n"))
        .collect::<Vec<_>>()
        .concat();
    let files: [(&str, &[u8]); 3] = [("a.obj", obj.as_bytes()), ("a.mtl", mtl.as_bytes()), ("t.png", &picture)];
    let converted = convert(&files).unwrap();
    assert!(converted.warnings.is_empty(), "{:?}", converted.warnings);
    let model = load_glb(&converted.glb, &LoadOptions::default()).unwrap();
    assert_eq!(model.images.len(), 2);
}

#[test]
fn normals_of_a_height_map_that_rises_upwards_point_down() {
    // The heights decrease from the upper row of texels to the lowest row.
    let rows: Vec<u8> = [200_u8, 100, 0].iter().flat_map(|h| [*h, *h, *h, 255]).collect();
    let model = with_mtl("bump -bm 100 t.png", &[("t.png", &png(1, 3, &rows))]);
    let texture = model.materials[0].normal_texture.unwrap().texture;
    let middle = &model.images[model.textures[texture].image].pixels[4..8];
    assert!(middle[0] == 128 && middle[1] < 100, "{middle:?}");
}

/// In OBJ files, the texture coordinate v points up. Its conversion to glTF must not invert the bumps of an upright
/// texture.
#[test]
fn bumps_of_an_upright_texture_are_not_flipped() {
    let square = "mtllib a.mtl\nusemtl m\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nf 1/1 2/2 3/3 4/4\n";
    let heights = png(1, 1, &[128, 128, 128, 255]);
    for (mtl, expected) in [
        ("newmtl m\nbump t.png\n", [1.0, 0.0, 0.0, 1.0]),
        ("newmtl m\nnorm -s 3 3 1 t.png\n", [1.0, 0.0, 0.0, 1.0]),
        ("newmtl m\nnorm -s -1 1 1 t.png\n", [-1.0, 0.0, 0.0, -1.0]),
    ] {
        let files: [(&str, &[u8]); 3] = [("a.obj", square.as_bytes()), ("a.mtl", mtl.as_bytes()), ("t.png", &heights)];
        let tangents = model(&files).meshes.swap_remove(0).primitives.swap_remove(0).tangents;
        assert!(tangents.len() == 4 && tangents.iter().all(|t| *t == expected), "{mtl}: {tangents:?}");
    }
}

#[test]
fn unsupported_and_missing_textures_cause_one_warning_each() {
    let obj = format!("mtllib a.mtl\nusemtl m\n{TRIANGLE}");
    let mtl = "newmtl m\nmap_Ks s.png\nmap_Ks s.png\nmap_Kd gone.png\nmap_Ke t.gif\n";
    let files: [(&str, &[u8]); 3] = [("a.obj", obj.as_bytes()), ("a.mtl", mtl.as_bytes()), ("t.gif", b"GIF89a")];
    let warnings = convert(&files).unwrap().warnings;
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(warnings.iter().any(|w| w.contains("'gone.png' is not in the ZIP")));
    assert!(warnings.iter().any(|w| w.contains("'t.gif' is neither PNG nor JPEG")));
}

#[test]
fn a_texture_statement_without_a_name_is_ignored() {
    let obj = format!("mtllib a.mtl\nusemtl m\n{TRIANGLE}");
    let mtl = "newmtl m\nKd 1 0 0\nmap_Kd\nmap_d \nbump \"\"\n";
    let files: [(&str, &[u8]); 2] = [("a.obj", obj.as_bytes()), ("a.mtl", mtl.as_bytes())];
    assert_eq!(convert(&files).unwrap().warnings, [""; 0]);
    assert_eq!(model(&files).materials[0].base_color, [1.0, 0.0, 0.0, 1.0]);
}

#[test]
fn a_line_may_name_several_libraries_with_unicode_names() {
    // The lower-case form of `İ` takes more bytes than `İ` itself.
    let obj = format!("mtllib İİ one.mtl two.mtl İgone.mtl\nusemtl m\n{TRIANGLE}");
    let files: [(&str, &[u8]); 3] =
        [("a.obj", obj.as_bytes()), ("İİ one.mtl", b"newmtl m\nKd 0 0 0\n"), ("TWO.mtl", b"newmtl m\nKd 1 0 0\n")];
    assert_eq!(model(&files).materials[0].base_color, [1.0, 0.0, 0.0, 1.0]);
    assert_eq!(convert(&files).unwrap().warnings, ["the material library 'İgone.mtl' is not in the ZIP"]);
}

#[test]
fn a_line_may_name_several_libraries_in_folders() {
    let (red, blue) = (b"newmtl red\nKd 1 0 0\n".as_slice(), b"newmtl blue\nKd 0 0 1\n".as_slice());
    for line in ["./a.mtl ./b.mtl", "mtl/a.mtl mtl/b.mtl", "C:\\scan\\a.mtl C:\\scan\\b.mtl # not c.mtl"] {
        for folder in ["", "mtl/"] {
            let obj = format!("mtllib {line}\nusemtl red\n{TRIANGLE}usemtl blue\nf 1 2 3\n");
            let (a, b) = (format!("{folder}a.mtl"), format!("{folder}b.mtl"));
            let files: [(&str, &[u8]); 3] = [("a.obj", obj.as_bytes()), (&a, red), (&b, blue)];
            let colors: Vec<[f32; 4]> = model(&files).materials.iter().take(2).map(|m| m.base_color).collect();
            assert_eq!(colors, [[0.0, 0.0, 1.0, 1.0], [1.0, 0.0, 0.0, 1.0]], "{line} {folder}");
            assert_eq!(convert(&files).unwrap().warnings, [""; 0], "{line} {folder}");
        }
    }
}

#[test]
fn a_library_in_another_folder_may_have_any_name() {
    for name in ["my wood.mtl", "my  wood.mtl", "old.mtl new.mtl", "wood.mtl # 2", "wood"] {
        let obj = format!("mtllib scan/{name}\nusemtl m\n{TRIANGLE}");
        let mtl = format!("textures/{name}");
        let files: [(&str, &[u8]); 2] = [("a.obj", obj.as_bytes()), (&mtl, b"newmtl m\nKd 1 0 0\n")];
        assert_eq!(model(&files).materials[0].base_color, [1.0, 0.0, 0.0, 1.0], "{name}");
    }
}

#[test]
fn the_number_of_warnings_is_limited() {
    let obj = format!("mtllib a.mtl\nusemtl m\n{TRIANGLE}");
    let mtl: String =
        std::iter::once("newmtl m\n".to_owned()).chain((0..5000).map(|i| format!("map_Kd {i}.png\n"))).collect();
    let warnings = convert(&[("a.obj", obj.as_bytes()), ("a.mtl", mtl.as_bytes())]).unwrap().warnings;
    assert_eq!(warnings.len(), 51);
    assert_eq!(warnings[50], "and 4950 more warnings");
}

#[test]
fn unused_materials_and_textures_are_not_converted() {
    let obj = format!("mtllib a.mtl\nusemtl m\n{TRIANGLE}");
    let files: [(&str, &[u8]); 3] =
        [("a.obj", obj.as_bytes()), ("a.mtl", b"newmtl other\nmap_Kd t.png\nnewmtl m\n"), ("t.png", b"broken")];
    let m = model(&files);
    assert_eq!((m.materials[0].name.as_str(), m.images.len()), ("m", 0));
}

#[test]
fn colours_are_replaced_by_textures_that_can_be_read_only() {
    let obj = format!("mtllib a.mtl\nvt 0 0\nusemtl m\n{}", TRIANGLE.replace("1 2 3", "1/1 2/1 3/1"));
    let color = |mtl: &str| {
        let files = [
            ("a.obj", obj.as_bytes()),
            ("a.mtl", mtl.as_bytes()),
            ("x.tga", b"no picture".as_slice()),
            ("a.png", &png(1, 1, &[9; 4])),
        ];
        let material = model(&files).materials.swap_remove(0);
        (material.base_color[0], material.base_color_texture.is_some())
    };
    assert_eq!(color("newmtl m\nKd 0 1 0\nmap_Kd x.tga\n"), (0.0, false));
    assert_eq!(color("newmtl m\nKd 0 1 0\nmap_Kd a.png # diffuse\n"), (1.0, true));
}

#[test]
fn files_are_found_through_parent_folders() {
    let obj = "mtllib ..\\mtl\\a.mtl\nvt 0 0\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl m\nf 1/1 2/1 3/1\n";
    let mtl = "newmtl m\nmap_Kd ..\\tex\\a.png\n";
    let (near, far) = (png(1, 1, &[9; 4]), png(2, 2, &[9; 16]));
    let files: [(&str, &[u8]); 4] =
        [("obj/a.obj", obj.as_bytes()), ("mtl/a.mtl", mtl.as_bytes()), ("old/a.png", &far), ("tex/a.png", &near)];
    let m = model(&files);
    assert_eq!((m.images[0].width, m.images[0].height), (1, 1));
}

#[test]
fn file_names_match_in_composed_and_decomposed_form() {
    let red = png(1, 1, &[255, 0, 0, 255]);
    let (composed, decomposed) = ("\u{c9}t\u{e9} \u{30ac}.png", "E\u{301}te\u{301} \u{30ab}\u{3099}.png");
    for (named, stored) in [(composed, decomposed), (decomposed, composed)] {
        let m = material(&format!("map_Kd {named}"), &[(&format!("textures/{stored}"), &red)]);
        assert!(m.base_color_texture.is_some(), "{named:?} {stored:?}");
    }
}

/// Builds an archive whose MTL file assigns a texture, and replaces `from` by bytes of the same length in all names of
/// entries.
fn archive_with_raw_names(mtl: &[u8], pictures: &[(&str, &[u8])], from: &[u8], to: &[u8]) -> Vec<u8> {
    let obj = format!("mtllib a.mtl\nvt 0 0\nusemtl m\n{}", TRIANGLE.replace("1 2 3", "1/1 2/1 3/1"));
    let mut files: Vec<(&str, &[u8])> = vec![("a.obj", obj.as_bytes()), ("a.mtl", mtl)];
    files.extend(pictures);
    let mut archive = zip(&files);
    while let Some(at) = archive.windows(from.len()).position(|name| name == from) {
        archive[at..at + to.len()].copy_from_slice(to);
    }
    archive
}

#[test]
fn file_names_in_an_unknown_encoding_match_by_their_bytes() {
    let (small, large) = (png(1, 1, &[9; 4]), png(2, 2, &[9; 16]));
    // In Shift-JIS, the two names differ in a byte that is `A` or `a`.
    let files: [(&str, &[u8]); 2] = [("___A.png", &large), ("___a.png", &small)];
    let archive = archive_with_raw_names(b"newmtl m\nmap_Kd \x83\x65\x83a.png\n", &files, b"___", b"\x83\x65\x83");
    let m = load_glb(&glb_from_zip(&archive, &Limits::default()).unwrap().glb, &LoadOptions::default()).unwrap();
    assert_eq!((m.images.len(), m.images[0].width), (1, 1));
    // The name is UTF-8, but a comment of the MTL file is not.
    let mtl = b"# caf\xe9\nnewmtl m\nmap_Kd gr\xc3\xbcn.png\n";
    let archive = archive_with_raw_names(mtl, &[("gr__n.png", &small)], b"gr__", b"gr\xc3\xbc");
    assert_eq!(glb_from_zip(&archive, &Limits::default()).unwrap().warnings, [""; 0]);
}

#[test]
fn file_names_may_be_in_code_page_437_or_latin_1() {
    let obj = format!("mtllib a.mtl\nvt 0 0\nusemtl m\n{}", TRIANGLE.replace("1 2 3", "1/1 2/1 3/1"));
    let (mtl, picture) = ("newmtl m\nmap_Kd gr\u{fc}n.png\n".as_bytes(), png(1, 1, &[9; 4]));
    for u_umlaut in [0x81, 0xFC] {
        let mut archive = zip(&[("a.obj", obj.as_bytes()), ("a.mtl", mtl), ("gr_n.png", &picture)]);
        while let Some(at) = archive.windows(4).position(|name| name == b"gr_n") {
            archive[at + 2] = u_umlaut;
        }
        assert_eq!(glb_from_zip(&archive, &Limits::default()).unwrap().warnings, [""; 0], "{u_umlaut:x}");
    }
}

#[test]
fn maps_of_roughness_and_metalness_cause_a_warning() {
    let obj = format!("mtllib a.mtl\nusemtl m\n{TRIANGLE}");
    let files: [(&str, &[u8]); 2] = [("a.obj", obj.as_bytes()), ("a.mtl", b"newmtl m\nmap_Pm t.png\n")];
    let warning = "map_Pm is ignored: converted materials are rough and not metallic";
    assert_eq!(convert(&files).unwrap().warnings, [warning]);
}
