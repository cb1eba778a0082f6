//! Converts a ZIP archive that contains one OBJ file, its MTL files and its textures to a GLB file.

mod archive;
mod error;
mod mtl;
mod obj;
mod pictures;
mod polygon;
mod surface;
mod text;
mod texture;
mod to_glb;

pub use error::ImportError;
use pictures::Pictures;

use crate::limits::{Budget, Limits};
use crate::warnings::Warnings;

/// Maximum size of all unpacked files of an archive in bytes.
pub const UNPACKED_BYTES: u64 = 500 << 20;

/// A converted model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converted {
    /// The GLB file. The same archive always results in the same bytes.
    pub glb: Vec<u8>,
    /// Messages for the user about files or data that were missing or ignored.
    pub warnings: Vec<String>,
}

/// Converts an archive. Files are only looked up inside the archive. No path from the archive is used in the file
/// system, and no files are written.
/// Errors: if the archive is invalid or encrypted, is too large when unpacked, or does not contain exactly one OBJ
/// file, or if the OBJ file or a texture is invalid.
pub fn glb_from_zip(bytes: &[u8], limits: &Limits) -> Result<Converted, ImportError> {
    let mut archive = archive::Archive::open(bytes, UNPACKED_BYTES)?;
    let name = archive.find_obj()?;
    let bytes = archive.read(&name)?;
    // Triangles, vertices and the output file are in memory at the same time. Therefore the budget is twice as large as
    // for reading a GLB file.
    let budget = Budget::new(limits.decoded_bytes.saturating_mul(2));
    let obj = obj::parse(&text::decode(&bytes), limits, &budget)?;
    drop(bytes);
    let mut warnings = Warnings::default();
    if obj.not_finite > 0 {
        warnings.add(&format!("{} normals and texture coordinates are not finite and are ignored", obj.not_finite));
    }
    if obj.fanned_polygons > 0 {
        warnings.add(&format!(
            "{} polygons that are large or cross themselves are assumed to be convex",
            obj.fanned_polygons
        ));
    }
    if obj.free_form > 0 {
        let count = obj.free_form;
        warnings.add(&format!("{count} free-form curves and surfaces are ignored; export them as polygons"));
    }
    let materials = mtl::load(&mut archive, &name, &obj, &mut warnings)?;
    let pictures = Pictures::new(&mut archive, limits, &mut warnings);
    let glb = to_glb::write(&obj, &materials, pictures, &budget)?;
    Ok(Converted { glb, warnings: warnings.into_list() })
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write as _};

    use zip::write::{SimpleFileOptions, ZipWriter};

    use super::*;
    use crate::{LoadOptions, load_glb};

    fn zip(files: &[(&str, &str)]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, text) in files {
            writer.start_file(*name, SimpleFileOptions::default()).unwrap();
            writer.write_all(text.as_bytes()).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    fn convert(files: &[(&str, &str)]) -> Result<Converted, ImportError> {
        glb_from_zip(&zip(files), &Limits::default())
    }

    const TRIANGLE: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";

    fn triangles(files: &[(&str, &str)]) -> usize {
        let model = load_glb(&convert(files).unwrap().glb, &LoadOptions::default()).unwrap();
        model.meshes.iter().flat_map(|m| &m.primitives).map(|p| p.indices.len() / 3).sum()
    }

    #[test]
    fn the_conversion_of_an_obj_is_deterministic_and_loads() {
        let files = [("scan/a.obj", TRIANGLE)];
        assert_eq!(triangles(&files), 1);
        assert_eq!(convert(&files), convert(&files));
    }

    #[test]
    fn an_archive_without_exactly_one_obj_is_rejected() {
        assert_eq!(convert(&[("a.txt", "")]), Err(ImportError::ObjCount { count: 0 }));
        let two = [("a.obj", TRIANGLE), ("A.OBJ", TRIANGLE)];
        assert_eq!(convert(&two), Err(ImportError::ObjCount { count: 2 }));
        for name in ["chair.glb", "scene/Chair.GLTF"] {
            assert_eq!(convert(&[(name, ""), ("a.txt", "")]), Err(ImportError::Gltf), "{name}");
            assert_eq!(triangles(&[(name, ""), ("a.obj", TRIANGLE)]), 1, "{name}");
        }
        assert_eq!(triangles(&[("a.obj", TRIANGLE), ("__MACOSX/._a.obj", "junk")]), 1);
        assert_eq!(convert(&[("../a.obj", TRIANGLE)]), Err(ImportError::ObjCount { count: 0 }));
    }

    /// The size that the archive declares for an unused file is patched, so that the test needs no large file.
    #[test]
    fn archives_unpack_to_at_most_500_mb() {
        const MOST: u32 = 500 << 20;
        let valid = zip(&[("a.obj", TRIANGLE), ("unused.txt", "")]);
        let size_at = valid.windows(4).rposition(|w| w == b"PK\x01\x02").unwrap() + 24;
        let unpacking_to = |total: u32| {
            let mut bytes = valid.clone();
            bytes[size_at..size_at + 4].copy_from_slice(&(total - TRIANGLE.len() as u32).to_le_bytes());
            glb_from_zip(&bytes, &Limits::default()).map(drop)
        };
        assert_eq!(unpacking_to(MOST), Ok(()));
        assert_eq!(unpacking_to(MOST + 1), Err(ImportError::TooLarge { limit: MOST.into() }));
    }

    #[test]
    fn a_concave_polygon_is_triangulated_correctly() {
        // The polygon has the shape of an arrow head. A triangle fan that starts at its first corner would cover the
        // notch.
        let arrow = "v 0 0 0\nv 2 -1 0\nv 0.5 0 0\nv 2 1 0\nf 1 2 3 4\n";
        let model = load_glb(&convert(&[("a.obj", arrow)]).unwrap().glb, &LoadOptions::default()).unwrap();
        let p = &model.meshes[0].primitives[0];
        let area: f32 = p
            .indices
            .as_chunks::<3>()
            .0
            .iter()
            .map(|t| {
                let [a, b, c] = t.map(|i| glam::Vec3::from(p.positions[i as usize]));
                (b - a).cross(c - a).length() * 0.5
            })
            .sum();
        assert!((area - 0.5).abs() < 1e-5, "{area}");
    }

    #[test]
    fn negative_indices_count_from_the_end_and_invalid_ones_are_rejected() {
        assert_eq!(triangles(&[("a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf -3 -2 -1\n")]), 1);
        for bad in ["f 1 2 4", "f 0 1 2", "f 1 2 -4", "f 1 2 x"] {
            let text = format!("v 0 0 0\nv 1 0 0\nv 0 1 0\n{bad}\n");
            assert!(matches!(convert(&[("a.obj", &text)]), Err(ImportError::Obj { line: 4, .. })), "{bad}");
        }
        assert_eq!(convert(&[("a.obj", "v 0 0 0\n")]), Err(ImportError::NoFaces));
        assert!(matches!(convert(&[("a.obj", "v nan 0 0\n")]), Err(ImportError::Obj { line: 1, .. })));
    }

    #[test]
    fn material_files_are_found_regardless_of_slashes_and_letter_case() {
        let obj = format!("mtllib parts\\Look.MTL\nusemtl red\n{TRIANGLE}");
        let files = [("scan/a.obj", obj.as_str()), ("scan/parts/look.mtl", "newmtl red\nKd 1 0 0\nd 0.5\n")];
        let converted = convert(&files).unwrap();
        assert!(converted.warnings.is_empty(), "{:?}", converted.warnings);
        let model = load_glb(&converted.glb, &LoadOptions::default()).unwrap();
        let red = &model.materials[0];
        assert_eq!((red.name.as_str(), red.base_color), ("red", [1.0, 0.0, 0.0, 0.5]));
        assert!((red.perceptual_roughness - 1.0).abs() < 1e-6 && red.metallic.abs() < 1e-6);
    }

    #[test]
    fn a_transparency_of_1_is_ignored() {
        for (line, alpha) in [("Tr 1.0", 1.0), ("Tr 0.25", 0.75), ("d 0.5", 0.5)] {
            let obj = format!("mtllib a.mtl\nusemtl m\n{TRIANGLE}");
            let mtl = format!("newmtl m\n{line}\n");
            let glb = convert(&[("a.obj", &obj), ("a.mtl", &mtl)]).unwrap().glb;
            let model = load_glb(&glb, &LoadOptions::default()).unwrap();
            assert!((model.materials[0].base_color[3] - alpha).abs() < 1e-6, "{line}");
        }
    }

    #[test]
    fn a_missing_material_library_causes_a_warning() {
        let obj = format!("mtllib gone.mtl\n{TRIANGLE}");
        assert_eq!(convert(&[("a.obj", &obj)]).unwrap().warnings.len(), 1);
    }

    #[test]
    fn damaged_archives_never_panic() {
        let valid = zip(&[("a.obj", TRIANGLE), ("a.mtl", "newmtl a\n")]);
        for i in 0..valid.len() {
            drop(glb_from_zip(&valid[..i], &Limits::default()));
            let mut damaged = valid.clone();
            damaged[i] ^= 0x55;
            drop(glb_from_zip(&damaged, &Limits::default()));
        }
    }
}
