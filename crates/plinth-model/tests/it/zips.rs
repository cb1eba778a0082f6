//! Builds small ZIP files for tests, valid files as well as damaged files.

use std::io::{Cursor, Write as _};

use plinth_model::obj_zip::{Converted, ImportError, glb_from_zip};
use plinth_model::{Limits, LoadOptions, Model, load_glb};
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

pub(crate) const TRIANGLE: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";

/// Builds an archive with these files.
pub(crate) fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, bytes) in files {
        if name.ends_with('/') {
            writer.add_directory(*name, options).unwrap();
        } else {
            writer.start_file(*name, options).unwrap();
            writer.write_all(bytes).unwrap();
        }
    }
    writer.finish().unwrap().into_inner()
}

/// Builds an archive with these files and a symbolic link.
pub(crate) fn zip_with_link(files: &[(&str, &[u8])], link: &str, target: &str) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.add_symlink(link, target, SimpleFileOptions::default()).unwrap();
    writer.finish().unwrap().into_inner()
}

const LOCAL: &[u8] = b"PK\x03\x04";
const CENTRAL: &[u8] = b"PK\x01\x02";

/// Overwrites bytes in all headers of an archive. `local` is the offset in local headers, and `central` is the offset
/// in central headers.
pub(crate) fn patched(mut archive: Vec<u8>, local: usize, central: usize, bytes: &[u8]) -> Vec<u8> {
    for at in 0..archive.len().saturating_sub(4) {
        let offset = match &archive[at..at + 4] {
            LOCAL => local,
            CENTRAL => central,
            _ => continue,
        };
        archive[at + offset..at + offset + bytes.len()].copy_from_slice(bytes);
    }
    archive
}

pub(crate) fn convert(files: &[(&str, &[u8])]) -> Result<Converted, ImportError> {
    glb_from_zip(&zip(files), &Limits::default())
}

/// Converts an archive with these files, and loads the resulting model.
pub(crate) fn model(files: &[(&str, &[u8])]) -> Model {
    load_glb(&convert(files).unwrap().glb, &LoadOptions::default()).unwrap()
}
