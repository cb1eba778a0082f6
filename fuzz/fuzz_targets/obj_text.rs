//! Converts an OBJ file and its MTL file. The input contains the texts of both, separated by a NUL byte. The target
//! packs them into an archive, so that mutations change the texts and not the archive.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plinth_model::{LoadOptions, load_glb, obj_zip::glb_from_zip};

fuzz_target!(|data: &[u8]| {
    let (obj, mtl) = data.split_at(data.iter().position(|b| *b == 0).unwrap_or(data.len()));
    let files = [("a.obj", obj), ("a.mtl", mtl.get(1..).unwrap_or_default()), ("t.png", plinth_fuzz::PIXEL)];
    let archive = plinth_fuzz::stored_zip(&files);
    if let Ok(converted) = glb_from_zip(&archive, &plinth_fuzz::limits()) {
        load_glb(&converted.glb, &LoadOptions { max_texture_side: 64, ..LoadOptions::default() })
            .expect("a converted file can be loaded");
    }
});
