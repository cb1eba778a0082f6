//! Converts an OBJ file and its MTL file. The input contains the texts of both, separated by a NUL byte. The target
//! packs them into an archive, so that mutations change the texts and not the archive.
#![no_main]

use std::io::{Cursor, Write as _};

use libfuzzer_sys::fuzz_target;
use plinth_model::{LoadOptions, load_glb, obj_zip::glb_from_zip};
use zip::CompressionMethod::Stored;
use zip::write::{SimpleFileOptions, ZipWriter};

fuzz_target!(|data: &[u8]| {
    let (obj, mtl) = data.split_at(data.iter().position(|b| *b == 0).unwrap_or(data.len()));
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in [("a.obj", obj), ("a.mtl", mtl.get(1..).unwrap_or_default()), ("t.png", plinth_fuzz::PIXEL)] {
        writer.start_file(name, SimpleFileOptions::default().compression_method(Stored)).expect("names differ");
        writer.write_all(bytes).expect("writing to memory cannot fail");
    }
    let archive = writer.finish().expect("writing to memory cannot fail").into_inner();
    if let Ok(converted) = glb_from_zip(&archive, &plinth_fuzz::limits()) {
        load_glb(&converted.glb, &LoadOptions { max_texture_side: 64, ..LoadOptions::default() })
            .expect("a converted file can be loaded");
    }
});
