//! Tests that convert archives with OBJ files.

use glam::Vec3;
use plinth_model::obj_zip::{ImportError, glb_from_zip};
use plinth_model::{Limits, Primitive, Topology};

use crate::glb::assert_near;
use crate::images::png;
use crate::zips::{TRIANGLE, convert, model, zip};

fn primitive(obj: &str) -> Primitive {
    model(&[("a.obj", obj.as_bytes())]).meshes.swap_remove(0).primitives.swap_remove(0)
}

/// Vertices of two squares that share the edge from vertex 3 to vertex 4. The squares are at a right angle to each
/// other.
const CORNER: &str = "v 0 0 1\nv 1 0 1\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\n";

/// Returns the distinct normals of the vertices at (0, 0, 0).
fn normals_at_origin(statements: &str) -> Vec<[f32; 3]> {
    let p = primitive(&format!("{CORNER}{statements}"));
    let mut found: Vec<[f32; 3]> =
        p.positions.iter().zip(&p.normals).filter(|(p, _)| Vec3::from(**p) == Vec3::ZERO).map(|(_, n)| *n).collect();
    found.sort_by(|a, b| a[1].total_cmp(&b[1]));
    found.dedup();
    found
}

#[test]
fn faces_share_normals_only_within_a_smoothing_group() {
    let half = std::f32::consts::FRAC_1_SQRT_2;
    let smooth = normals_at_origin("s 1\nf 1 2 4 3\nf 3 4 6 5\n");
    assert_eq!(smooth.len(), 1);
    assert_near(&smooth[0], &[0.0, half, half]);
    let two = normals_at_origin("s 1\nf 1 2 4 3\ns 2\nf 3 4 6 5\n");
    assert_eq!(two, [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]);
}

#[test]
fn s_off_is_flat_shading_and_the_default_depends_on_the_angle() {
    let edges = "f 1 2 4 3\nf 3 4 6 5\n";
    assert_eq!(normals_at_origin(&format!("s off\n{edges}")).len(), 2);
    assert_eq!(normals_at_origin(&format!("s 0\n{edges}")).len(), 2);
    assert_eq!(normals_at_origin(edges).len(), 2);
    // The two squares share an edge, and the angle between them is small.
    let bent = "v 0 0 1\nv 1 0 1\nv 0 0 0\nv 1 0 0\nv 0 0.2 -1\nv 1 0.2 -1\n";
    let p = primitive(&format!("{bent}f 1 2 4 3\nf 3 4 6 5\n"));
    assert_eq!(p.positions.len(), 6);
}

#[test]
fn smoothing_groups_cross_objects_and_materials() {
    let m = model(&[("a.obj", format!("{CORNER}s 1\no floor\nf 1 2 4 3\no wall\nf 3 4 6 5\n").as_bytes())]);
    let at_origin = |mesh: usize| {
        let p = &m.meshes[mesh].primitives[0];
        let at = p.positions.iter().position(|p| Vec3::from(*p) == Vec3::ZERO).unwrap();
        p.normals[at]
    };
    assert_eq!(at_origin(0), at_origin(1));
}

#[test]
fn normals_of_the_file_override_smoothing() {
    let p = primitive("vn 1 0 0\nv 0 0 0\nv 1 0 0\nv 0 1 0\ns 1\nf 1//1 2//1 3//1\n");
    assert_eq!(p.normals, [[1.0, 0.0, 0.0]; 3]);
}

#[test]
fn a_backslash_continues_a_line_and_line_numbers_are_kept() {
    assert_eq!(primitive("v 0 0 0\nv 1 0 0\r\nv 0 1 0\nf 1 \\\n2 \\\r\n3\n").indices.len(), 3);
    let broken = convert(&[("a.obj", b"v 0 0 0\nf 1 \\\n1 1\nf 9 9 9\n")]);
    assert!(matches!(broken, Err(ImportError::Obj { line: 4, .. })), "{broken:?}");
}

#[test]
fn a_backslash_at_the_end_of_a_comment_does_not_continue_it() {
    assert_eq!(primitive("# C:\\scans\\\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n").positions[0], [0.0; 3]);
}

#[test]
fn a_backslash_byte_within_a_character_does_not_continue_a_line() {
    // The character is the first one of "table" in Shift-JIS. Its second byte is that of a backslash.
    let obj = [b"mtllib a.mtl\nusemtl \x95\x5c\n".as_slice(), TRIANGLE.as_bytes(), b"f 1 2 \\\n3\n"].concat();
    let m = model(&[("a.obj", &obj), ("a.mtl", b"newmtl \x95\x5c\nKd 1 0 0\n")]);
    assert_eq!(m.materials[0].base_color, RED);
    assert_eq!((m.meshes[0].primitives[0].positions.len(), m.meshes[0].primitives[0].indices.len()), (3, 6));
}

#[test]
fn free_form_elements_are_ignored_with_a_warning_and_are_no_faces() {
    let surface = "cstype bspline\ndeg 1 1\nsurf 0 1 0 1 1 2 3 1\nparm u 0 0 1 1\nparm v 0 0 1 1\nend\n";
    let converted = convert(&[("a.obj", format!("{TRIANGLE}{surface}curv 0 1 1 2\n").as_bytes())]).unwrap();
    assert_eq!(converted.warnings, ["2 free-form curves and surfaces are ignored; export them as polygons"]);
    let alone = format!("{}{surface}", TRIANGLE.replace("f 1 2 3\n", ""));
    assert_eq!(convert(&[("a.obj", alone.as_bytes())]), Err(ImportError::FreeForm));
}

#[test]
fn lines_may_end_in_cr_alone() {
    let obj = format!("# old\nmtllib a.mtl\nusemtl m\n{TRIANGLE}").replace('\n', "\r");
    let m = model(&[("a.obj", obj.as_bytes()), ("a.mtl", b"newmtl m\rKd 1 0 0\r")]);
    assert_eq!(m.materials[0].base_color, [1.0, 0.0, 0.0, 1.0]);
    let broken = convert(&[("a.obj", b"v 0 0 0\rf 1 \\\r1 1\rf 9 9 9\r")]);
    assert!(matches!(broken, Err(ImportError::Obj { line: 4, .. })), "{broken:?}");
}

#[test]
fn a_line_may_be_continued_millions_of_times() {
    let obj = format!("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 {}3\n", "\\\n".repeat(2_000_000));
    assert_eq!(primitive(&obj).indices.len(), 3);
}

#[test]
fn negative_indices_count_from_the_end_for_each_attribute() {
    let p = primitive("v 9 9 9\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0.5 0.25\nvn 0 0 1\nf -3/-1/-1 -2/-1/-1 -1/-1/-1\n");
    assert_eq!(p.positions, [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
    assert_eq!(p.uvs[0][0], [0.5, 0.75]);
}

#[test]
fn comments_are_removed_after_numbers_but_not_from_names() {
    let obj = format!(
        "mtllib a.mtl # library\nusemtl Material #25\n{}# end\n",
        TRIANGLE.replace("f 1 2 3", "f 1 2 3 # face")
    );
    let m = model(&[("a.obj", obj.as_bytes()), ("a.mtl", b"newmtl Material #25\nKd 1 0 0 # red\n")]);
    assert_eq!((m.materials[0].name.as_str(), m.materials[0].base_color), ("Material #25", [1.0, 0.0, 0.0, 1.0]));
    let obj = format!("mtllib a.mtl\nusemtl red # of the roof\n{TRIANGLE}");
    let m = model(&[("a.obj", obj.as_bytes()), ("a.mtl", b"newmtl red\nKd 1 0 0\n")]);
    assert_eq!(m.materials[0].base_color, [1.0, 0.0, 0.0, 1.0]);
}

#[test]
fn objects_with_the_same_name_and_material_are_one_mesh() {
    let obj = format!("o a\n{TRIANGLE}o b\nf 1 2 3\no a\nf 1 2 3\n");
    let m = model(&[("a.obj", obj.as_bytes())]);
    let counts: Vec<usize> = m.meshes.iter().map(|m| m.primitives[0].indices.len() / 3).collect();
    assert_eq!(counts, [2, 1]);
}

#[test]
fn vertex_colours_are_converted_to_linear() {
    let p = primitive("v 0 0 0 1 0.5 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    assert_near(&p.colors[0], &[1.0, 0.214_041_14, 0.0, 1.0]);
    assert_eq!(p.colors[1], [1.0; 4]);
}

#[test]
fn a_vertex_colour_may_follow_a_weight_or_precede_an_opacity() {
    let weighted = primitive("v 0 0 0 1 1 0 0\nv 1 0 0 1 0 0 1\nv 0 1 0 1.0\nf 1 2 3\n");
    assert_eq!(weighted.colors, [[1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0], [1.0; 4]]);
    let with_opacity = primitive("v 0 0 0 1 0 0 1\nv 1 0 0 0 1 0 1\nv 0 1 0 1 0 1 0.5\nf 1 2 3\n");
    assert_eq!(with_opacity.colors, [[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 1.0]]);
}

const WHITE: [f32; 4] = [1.0; 4];
const RED: [f32; 4] = [1.0, 0.0, 0.0, 1.0];
const GREEN: [f32; 4] = [0.0, 1.0, 0.0, 1.0];
const BLUE: [f32; 4] = [0.0, 0.0, 1.0, 1.0];

#[test]
fn polypaint_lines_are_the_colours_of_the_vertices_in_order() {
    for lines in
        ["#MRGB FFff0000FF00ff00\n#MRGB 000000ff\n", "#MRGB ffff0000ff00ff00ff0000ff\r\n#MRGB ff000000ff000000\n"]
    {
        for obj in [format!("{TRIANGLE}{lines}"), format!("{lines}{TRIANGLE}")] {
            assert_eq!(primitive(&obj).colors, [RED, GREEN, BLUE], "{obj}");
        }
    }
    let half = primitive(&format!("{TRIANGLE}#MRGB 00ff8000ff000000ff000000\n"));
    assert_near(&half.colors[0], &[1.0, 0.215_860_5, 0.0, 1.0]);
}

#[test]
fn polypaint_lines_belong_to_the_last_vertices_before_them() {
    let second_is_painted = format!("v 5 5 5\n{}#MRGB ff00ff00ff0000ff\n", TRIANGLE.replace("1 2 3", "2 3 4"));
    assert_eq!(primitive(&second_is_painted).colors, [WHITE, GREEN, BLUE]);
    let first_is_painted = "v 0 0 0\nv 1 0 0\n#MRGB ffff0000ff00ff00\nv 0 1 0\nf 1 2 3\n";
    assert_eq!(primitive(first_is_painted).colors, [RED, GREEN, WHITE]);
    let both_are_painted = "v 0 0 0\n#MRGB ffff0000\nv 1 0 0\nv 0 1 0\n#MRGB ff0000ff\nf 1 2 3\n";
    assert_eq!(primitive(both_are_painted).colors, [RED, WHITE, BLUE]);
}

#[test]
fn polypaint_lines_with_other_text_are_comments() {
    for text in ["", "ffff000", "ffff0000f", "ffff00zz", "+fff0000", "ffff0000 ffff0000", "ffff\u{e9}00"] {
        assert!(primitive(&format!("{TRIANGLE}#MRGB {text}\n")).colors.is_empty(), "{text:?}");
    }
    let between = primitive(&format!("{TRIANGLE}#MRGB ffff0000\n#MRGB of all vertices\n#MRGB ff00ff00\n"));
    assert_eq!(between.colors, [WHITE, RED, GREEN]);
}

#[test]
fn colours_in_vertex_lines_are_preferred_to_polypaint() {
    let p = primitive("#MRGB ffff0000ffff0000ffff0000\nv 0 0 0\nv 1 0 0 0 0 1\nv 0 1 0\nf 1 2 3\n");
    assert_eq!(p.colors, [WHITE, BLUE, WHITE]);
}

#[test]
fn polypaint_counts_toward_the_memory_budget() {
    let limits = Limits { decoded_bytes: 5000, ..Limits::default() };
    let convert = |lines: &str| glb_from_zip(&zip(&[("a.obj", format!("{lines}{TRIANGLE}").as_bytes())]), &limits);
    assert!(convert("#MRGB ffff0000\n").is_ok());
    let large = convert(&format!("#MRGB {}\n", "ffff0000".repeat(1000)));
    assert!(matches!(large, Err(ImportError::Obj { line: 1, .. })), "{large:?}");
}

#[test]
fn latin_1_and_utf_16_text_is_read() {
    let m = model(&[("a.obj", b"o T\xFCr\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")]);
    assert_eq!(m.nodes[0].name, "Tür");
    let wide: Vec<u8> = [0xFF, 0xFE].into_iter().chain(TRIANGLE.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    assert_eq!(model(&[("a.obj", &wide)]).meshes.len(), 1);
}

#[test]
fn the_conversion_is_deterministic() {
    let grey = png(2, 2, &[10, 10, 10, 255, 90, 90, 90, 255, 20, 20, 20, 255, 70, 70, 70, 255]);
    let obj = format!("mtllib a.mtl\nusemtl a\n{CORNER}s 1\nf 1 2 4 3\nusemtl b\nf 3 4 6 5\nusemtl c\nf 1 2 4\n");
    let mtl = "newmtl b\nmap_Kd t.png\nmap_d t.png\nnewmtl a\nbump t.png\nmap_Ke t.png\nnewmtl c\nnorm t.png\n";
    let files: [(&str, &[u8]); 3] = [("a.obj", obj.as_bytes()), ("a.mtl", mtl.as_bytes()), ("t.png", &grey)];
    let first = convert(&files).unwrap();
    assert!((0..5).all(|_| convert(&files).unwrap() == first));
}

#[test]
fn points_and_lines_are_converted_too() {
    let obj = "mtllib a.mtl\nv 0 0 0 1 0 0\nv 1 0 0 0 1 0\nv 0 1 0 0 0 1\nv 1 1 0 1 1 1\nusemtl m\n\
               f 1 2 3\nl 1 2 4\nl -1 -2\np 1 4\nl 1\np\n";
    let m = model(&[("a.obj", obj.as_bytes()), ("a.mtl", b"newmtl m\nKd 1 0 0\n")]);
    let [faces, points, lines] = m.meshes[0].primitives.as_slice() else { panic!("three primitives") };
    assert_eq!((faces.topology, faces.indices.len()), (Topology::Triangles, 3));
    assert_eq!((points.topology, points.positions.as_slice()), (Topology::Points, &[[0.0; 3], [1.0, 1.0, 0.0]][..]));
    assert_eq!(points.colors[1], [1.0; 4]);
    let ends = [[0.0; 3], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
    assert_eq!((lines.topology, lines.positions.as_slice()), (Topology::Lines, &ends[..]));
    assert!(points.normals.is_empty() && lines.normals.is_empty());
    assert!([points, lines].iter().all(|p| m.materials[p.material].name == "m"));
}

#[test]
fn points_and_lines_are_validated_like_faces() {
    for bad in ["p 1 5", "l 1 0", "l 1 -9", "p x"] {
        let obj = format!("{TRIANGLE}{bad}\n");
        assert!(matches!(convert(&[("a.obj", obj.as_bytes())]), Err(ImportError::Obj { line: 5, .. })), "{bad}");
    }
    assert_eq!(convert(&[("a.obj", b"v 0 0 0\nv 1 0 0\np 1\nl 1 2\n")]), Err(ImportError::NoFaces));
}

/// A polygon in the shape of a U. It covers 7 of 9 unit squares.
const U: &str = "v 0 0 0\nv 3 0 0\nv 3 3 0\nv 2 3 0\nv 2 1 0\nv 1 1 0\nv 1 3 0\nv 0 3 0\n";

#[test]
fn concave_polygons_may_repeat_corners() {
    let area = |statements: &str| {
        let p = primitive(&format!("{U}{statements}"));
        let corner = |i: &u32| Vec3::from(p.positions[*i as usize]);
        let Topology::Triangles = p.topology else { panic!("no triangles") };
        let doubled =
            p.indices.chunks(3).map(|t| (corner(&t[1]) - corner(&t[0])).cross(corner(&t[2]) - corner(&t[0])).z);
        0.5 * doubled.sum::<f32>()
    };
    for face in ["f 1 2 3 4 5 6 7 8", "f 1 2 3 4 5 6 7 8 1", "f 1 2 2 3 4 5 6 6 7 8", "v 1 1 0\nf 1 2 3 4 5 6 9 7 8"] {
        assert_near(&[area(face)], &[7.0]);
    }
}

#[test]
fn normals_and_texture_coordinates_that_are_not_finite_count_as_missing() {
    let lines = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvn nan nan nan\nvn -nan(ind) 0 1\nvt -nan(ind) 0.5\nvt inf 1\nf 1/1/1 2/2/2 3/2/1\n";
    let converted = convert(&[("a.obj", lines.as_bytes())]).unwrap();
    assert_eq!(converted.warnings, ["4 normals and texture coordinates are not finite and are ignored"]);
    let p = primitive(lines);
    assert!(p.normals.iter().all(|n| *n == [0.0, 0.0, 1.0]), "{:?}", p.normals);
    assert!(matches!(convert(&[("a.obj", b"vn one 0 0\n")]), Err(ImportError::Obj { line: 1, .. })));
}

#[test]
fn polygons_that_are_too_large_for_ear_clipping_do_not_affect_others() {
    let obj = format!("{U}f 1{}\nf 1 2 3 4 5 6 7 8\n", " 2".repeat(20_000));
    let warning = "1 polygons that are large or cross themselves are assumed to be convex";
    assert_eq!(convert(&[("a.obj", obj.as_bytes())]).unwrap().warnings, [warning]);
}

#[test]
fn numbers_of_older_microsoft_libraries_may_be_infinite_or_nan() {
    let lines = "vn -1.#IND00 1.#QNAN0 0\nvn 1.#INF00 0 1\nvn 1 0 0#up\nvn 1 0 0 #up\nvt 1.#J 0 # of 3\n";
    let obj = format!("{lines}{}", TRIANGLE.replace("1 2 3", "1/1/1 2/1/3 3/1/4"));
    let warnings = convert(&[("a.obj", obj.as_bytes())]).unwrap().warnings;
    assert_eq!(warnings, ["3 normals and texture coordinates are not finite and are ignored"]);
    assert_eq!(primitive(&obj).normals[1..], [[1.0, 0.0, 0.0]; 2]);
    assert!(matches!(convert(&[("a.obj", b"v 1.#INF 0 0\n")]), Err(ImportError::Obj { line: 1, .. })));
}

#[test]
fn vertices_far_from_the_origin_keep_their_distances() {
    let vertices = "v 512345.5 5403210.001 320\nv 512346.5 5403210.001 320\nv 512345.5 5403210.251 320\n";
    let m = model(&[("a.obj", format!("{vertices}f 1 2 3\n").as_bytes())]);
    let p = &m.meshes[0].primitives[0].positions;
    assert_near(&[p[1][0] - p[0][0], p[2][1] - p[0][1], p[0][2]], &[1.0, 0.25, 320.0]);
    let first = m.nodes[0].local.matrix().transform_point3(Vec3::from(p[0]));
    assert_eq!(first, Vec3::new(512_345.5, 5_403_210.0, 320.0));
    // The origin does not depend on vertices without faces.
    for unused in ["v 0 0 0\n", "v 1e9 1e9 1e9\n"] {
        let m = model(&[("a.obj", format!("{unused}{vertices}f 2 3 4\n").as_bytes())]);
        let p = &m.meshes[0].primitives[0].positions;
        assert_near(&[p[1][0] - p[0][0], p[2][1] - p[0][1], p[0][2]], &[1.0, 0.25, 320.0]);
    }
    // The difference of the two largest coordinates would be infinite.
    let largest = primitive("v 3e38 0 0\nv -3e38 0 0\nv 0 1 0\nf 1 2 3\n");
    assert!(largest.positions.iter().flatten().all(|c| c.is_finite()));
}
