//! A finished set becomes one ZIP file.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::file::FileEntry;
use crate::MediaError;
use crate::partial::Partial;

/// Bytes that are copied between two looks for a wish to stop.
const CHUNK: usize = 1 << 20;

/// Writes files of the folder `set`, in this order, into a ZIP at `target`. Pictures are stored as they are: they are
/// compressed already. Returns its size.
pub(crate) fn write_zip(set: &Path, files: &[FileEntry], target: &Path, stop: &AtomicBool) -> Result<u64, MediaError> {
    let fault = |source: std::io::Error| MediaError::File { file: target.to_owned(), source };
    let partial = Partial::create(target)?;
    let out = File::options().write(true).open(partial.path()).map_err(fault)?;
    let mut zip = ZipWriter::new(BufWriter::with_capacity(CHUNK, out));
    let mut chunk = vec![0; CHUNK];
    for entry in files {
        let is_picture = Path::new(&entry.path).extension().is_some_and(|e| e == "png" || e == "webp");
        let method = if is_picture { CompressionMethod::Stored } else { CompressionMethod::Deflated };
        let options = SimpleFileOptions::default()
            .compression_method(method)
            // The same set gives the same bytes, whenever it is written.
            .last_modified_time(DateTime::default())
            .unix_permissions(0o644)
            .large_file(entry.bytes >= u64::from(u32::MAX));
        zip.start_file(entry.path.as_str(), options).map_err(|error| fault(error.into()))?;
        let mut file = File::open(set.join(&entry.path)).map_err(fault)?;
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(MediaError::Stopped);
            }
            let count = file.read(&mut chunk).map_err(fault)?;
            if count == 0 {
                break;
            }
            zip.write_all(&chunk[..count]).map_err(fault)?;
        }
    }
    let mut out = zip.finish().map_err(|error| fault(error.into()))?;
    out.flush().map_err(fault)?;
    Ok(partial.keep()?.1)
}
