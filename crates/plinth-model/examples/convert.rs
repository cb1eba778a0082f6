//! Converts a ZIP archive that contains an OBJ file to a GLB file: `convert SCAN.zip OUT.glb`.
#![expect(clippy::unwrap_used, reason = "a tool for developers")]

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let bytes = std::fs::read(&args[1]).unwrap();
    let converted = plinth_model::obj_zip::glb_from_zip(&bytes, &plinth_model::Limits::default()).unwrap();
    std::fs::write(&args[2], converted.glb).unwrap();
}
