//! ZIP archives, and mutations of the files in them.

use std::io::{Cursor, Read as _};

use zip::ZipArchive;

use crate::mutation::{MutateBytes, Random, mutated};

/// Name and content of a file in an archive.
type NamedFile = (Vec<u8>, Vec<u8>);

/// Mutates a file of a ZIP archive: usually its content, sometimes its name. Some mutations copy or remove a file. The new
/// archive has correct sizes and checksums, and its files are not compressed. Readers reject most other mutations because of the
/// checksums, so only every eighth is arbitrary. The result has at most `max_size` bytes.
pub fn mutate_zip(input: &[u8], max_size: usize, seed: u32, mutate: MutateBytes) -> Vec<u8> {
    let changed = if seed % 8 == 0 { None } else { with_changed_file(input, max_size, seed / 8, mutate) };
    changed.filter(|changed| changed.len() <= max_size).unwrap_or_else(|| mutated(input, max_size, mutate))
}

/// Returns `None` if the archive has no files, or if they are too large.
fn with_changed_file(archive: &[u8], max_size: usize, seed: u32, mutate: MutateBytes) -> Option<Vec<u8>> {
    let mut files = read_files(archive, max_size);
    let room = max_size.checked_sub(stored_zip(&files).len())?;
    let mut random = Random::new(seed);
    let place = random.below(files.len());
    let (_, other_content) = files.get(random.below(files.len()))?.clone();
    let (name, content) = files.get_mut(place)?;
    match random.below(8) {
        // An archive contains each name twice.
        0 => *name = mutated(name, name.len() + room / 2, mutate),
        1 => *content = other_content,
        2 => {
            let copy = (name.to_ascii_uppercase(), other_content);
            files.push(copy);
        }
        3 => drop(files.remove(place)),
        _ => *content = mutated(content, content.len() + room, mutate),
    }
    Some(stored_zip(&files))
}

/// Reads the files of an archive, at most `max_size` bytes. Leaves out files that cannot be opened, such as encrypted ones.
fn read_files(archive: &[u8], max_size: usize) -> Vec<NamedFile> {
    let Ok(mut zip) = ZipArchive::new(Cursor::new(archive)) else { return Vec::new() };
    let mut left = max_size as u64;
    let mut files = Vec::new();
    for index in 0..zip.len() {
        let Ok(file) = zip.by_index(index) else { continue };
        let (name, mut content) = (file.name_raw().to_vec(), Vec::new());
        // If the checksum is wrong, the content is complete nevertheless.
        let _checked = file.take(left).read_to_end(&mut content);
        left = left.saturating_sub(content.len() as u64);
        files.push((name, content));
    }
    files
}

/// Returns a ZIP archive of files, which are not compressed. Each file consists of its name and its content.
// The layout of the records is defined in PKWARE, APPNOTE.TXT 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16.
pub fn stored_zip<N: AsRef<[u8]>, C: AsRef<[u8]>>(files: &[(N, C)]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    let mut directory: Vec<u8> = Vec::new();
    for (name, content) in files {
        let (name, content) = (name.as_ref(), content.as_ref());
        let (offset, fields) = (out.len() as u32, shared_fields(name, content));
        for part in [b"PK\x03\x04".as_slice(), &fields, name, content] {
            out.extend_from_slice(part);
        }
        for part in [b"PK\x01\x02\x14\0".as_slice(), &fields, &[0_u8; 10], &offset.to_le_bytes(), name] {
            directory.extend_from_slice(part);
        }
    }
    let count = (files.len() as u16).to_le_bytes();
    let (size, start) = ((directory.len() as u32).to_le_bytes(), (out.len() as u32).to_le_bytes());
    for part in [directory.as_slice(), b"PK\x05\x06\0\0\0\0", &count, &count, &size, &start, b"\0\0"] {
        out.extend_from_slice(part);
    }
    out
}

/// Returns the fields that both headers of a file contain: from the required version to the length of the extra fields.
fn shared_fields(name: &[u8], content: &[u8]) -> Vec<u8> {
    // Version 1.0, no flags, no compression, 1 January 1980.
    let start = b"\x0a\0\0\0\0\0\0\0\x21\0".as_slice();
    let (crc, size) = (crc32fast::hash(content).to_le_bytes(), (content.len() as u32).to_le_bytes());
    let name_length = (name.len() as u16).to_le_bytes();
    [start, &crc, &size, &size, &name_length, b"\0\0"].concat()
}
