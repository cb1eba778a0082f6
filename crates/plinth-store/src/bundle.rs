//! Streams several objects as one uncompressed ZIP. The length of the ZIP is known before the first object is read.

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};

use crate::blob::BlobStream;
use crate::key::ObjectKey;
use crate::open::Store;
use crate::stored::Stored;

// The layout of these records is defined in PKWARE, APPNOTE.TXT 6.3.10, sections 4.3.7, 4.3.12, 4.3.14 to 4.3.16 and
// 4.5.3.
const LOCAL_HEADER: u32 = 0x0403_4b50;
const CENTRAL_HEADER: u32 = 0x0201_4b50;
const END_64: u32 = 0x0606_4b50;
const END_64_LOCATOR: u32 = 0x0706_4b50;
const END: u32 = 0x0605_4b50;
/// General-purpose flag: file names are UTF-8.
const FLAGS: u16 = 1 << 11;
/// ZIP version that is needed to extract the files: 4.5, because of ZIP64.
const VERSION: u16 = 45;
/// 1 January 1980, the earliest DOS date. With a constant date, the same files always give the same bytes.
const DATE: u16 = (1 << 5) | 1;
/// Value of a 32-bit field whose actual value is stored in the ZIP64 extra field.
const WIDE: u32 = u32::MAX;

/// A file in a bundle.
#[derive(Clone, Debug)]
pub struct BundleEntry<'a> {
    /// File name in the ZIP.
    pub name: String,
    /// Key of the stored object.
    pub key: ObjectKey<'a>,
    /// Size and checksum of the object, which were recorded when it was stored.
    pub stored: Stored,
}

/// Returns the length of the whole ZIP in bytes.
pub fn bundle_length(entries: &[BundleEntry<'_>]) -> u64 {
    let files: u64 = entries.iter().map(|e| local_header(&e.name, e.stored).len() as u64 + e.stored.size).sum();
    files + directory(&facts(entries)).len() as u64
}

/// Returns the ZIP as a stream of chunks. If an object is missing, the stream ends with an error.
pub fn bundle_stream(store: &Store, entries: &[BundleEntry<'_>]) -> BlobStream {
    let files: Vec<(Bytes, String)> =
        entries.iter().map(|e| (Bytes::from(local_header(&e.name, e.stored)), e.key.path())).collect();
    let end = Bytes::from(directory(&facts(entries)));
    let store = store.clone();
    let files = stream::iter(files).flat_map(move |(header, path)| {
        let store = store.clone();
        let content = async move {
            match store.read_path(&path, None).await {
                Ok(content) => content,
                Err(error) => stream::once(async { Err(error) }).boxed(),
            }
        };
        stream::once(async { Ok(header) }).chain(stream::once(content).flatten())
    });
    files.chain(stream::once(async { Ok(end) })).boxed()
}

/// Returns the name, the size and the checksum of each file.
fn facts(entries: &[BundleEntry<'_>]) -> Vec<(String, Stored)> {
    entries.iter().map(|e| (e.name.clone(), e.stored)).collect()
}

struct Writer(Vec<u8>);

impl Writer {
    fn u16(&mut self, value: u16) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    fn u64(&mut self, value: u64) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.0.extend(text.as_bytes());
        self
    }
}

#[expect(clippy::cast_possible_truncation, reason = "names are our own and short, a bundle has a handful of files")]
const fn short(count: usize) -> u16 {
    count as u16
}

fn local_header(name: &str, stored: Stored) -> Vec<u8> {
    let mut w = Writer(Vec::new());
    w.u32(LOCAL_HEADER).u16(VERSION).u16(FLAGS).u16(0).u16(0).u16(DATE).u32(stored.crc32);
    w.u32(WIDE).u32(WIDE).u16(short(name.len())).u16(20).text(name);
    w.u16(1).u16(16).u64(stored.size).u64(stored.size);
    w.0
}

fn directory(files: &[(String, Stored)]) -> Vec<u8> {
    let mut w = Writer(Vec::new());
    let mut offset = 0;
    for (name, stored) in files {
        w.u32(CENTRAL_HEADER).u16(VERSION).u16(VERSION).u16(FLAGS).u16(0).u16(0).u16(DATE).u32(stored.crc32);
        w.u32(WIDE).u32(WIDE).u16(short(name.len())).u16(28).u16(0).u16(0).u16(0).u32(0).u32(WIDE).text(name);
        w.u16(1).u16(24).u64(stored.size).u64(stored.size).u64(offset);
        offset += local_header(name, *stored).len() as u64 + stored.size;
    }
    let size = w.0.len() as u64;
    let count = files.len() as u64;
    w.u32(END_64).u64(44).u16(VERSION).u16(VERSION).u32(0).u32(0).u64(count).u64(count).u64(size).u64(offset);
    w.u32(END_64_LOCATOR).u32(0).u64(offset + size).u32(1);
    w.u32(END).u16(0).u16(0).u16(short(files.len())).u16(short(files.len())).u32(WIDE).u32(WIDE).u16(0);
    w.0
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Seek as _, SeekFrom, Write as _};

    use super::*;

    #[test]
    fn another_zip_reader_finds_files_beyond_4_gib() {
        let huge = Stored { size: 5 << 30, crc32: 0 };
        let small = Stored { size: 3, crc32: crc32fast::hash(b"abc") };
        let files = [("video.mov".to_owned(), huge), ("poster.png".to_owned(), small)];
        // The file is sparse: its 5 GiB take no disk space.
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&local_header("video.mov", huge)).unwrap();
        file.seek(SeekFrom::Current(5 << 30)).unwrap();
        file.write_all(&local_header("poster.png", small)).unwrap();
        file.write_all(b"abc").unwrap();
        file.write_all(&directory(&files)).unwrap();
        let mut zip = zip::ZipArchive::new(file).unwrap();
        assert_eq!(zip.by_name("video.mov").unwrap().size(), 5 << 30);
        let mut text = String::new();
        zip.by_name("poster.png").unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "abc");
    }
}
