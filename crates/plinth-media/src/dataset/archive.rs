//! Writes a finished dataset to a ZIP file.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::file::FileEntry;
use crate::MediaError;
use crate::partial::Partial;

/// Number of bytes that are copied between two checks for cancellation.
const CHUNK: usize = 1 << 20;
/// Deflate level for text files. Higher levels hardly reduce the size but take longer. The ZIP is written at the end of
/// a job, when nothing else runs in parallel, so its time adds to the duration of the job.
const QUICK: i64 = 1;

/// Writes the files of the folder `set` to a ZIP at `target`, in the order of `files`. Returns the size of the ZIP in
/// bytes. Images are stored without further compression, because their formats are compressed.
pub(crate) fn write_zip(set: &Path, files: &[FileEntry], target: &Path, stop: &AtomicBool) -> Result<u64, MediaError> {
    let fault = |source: std::io::Error| MediaError::File { file: target.to_owned(), source };
    let partial = Partial::create(target)?;
    let out = File::options().write(true).open(partial.path()).map_err(fault)?;
    match write_entries(set, files, BufWriter::with_capacity(CHUNK, out), stop).map_err(fault)? {
        None => Err(MediaError::Stopped),
        Some(mut out) => {
            out.flush().map_err(fault)?;
            Ok(partial.keep()?.1)
        }
    }
}

/// Writes the entries of the ZIP. Returns `None` if `stop` became true.
fn write_entries<W: Write + Seek>(
    set: &Path,
    files: &[FileEntry],
    out: W,
    stop: &AtomicBool,
) -> std::io::Result<Option<W>> {
    let mut zip = ZipWriter::new(out);
    let mut chunk = vec![0; CHUNK];
    for entry in files {
        let is_picture = Path::new(&entry.path).extension().is_some_and(|e| e == "png" || e == "webp");
        let method = if is_picture { CompressionMethod::Stored } else { CompressionMethod::Deflated };
        let options = SimpleFileOptions::default()
            .compression_method(method)
            .compression_level((!is_picture).then_some(QUICK))
            // The modification time is constant, so that the same dataset always gives the same bytes.
            .last_modified_time(DateTime::default())
            .unix_permissions(0o644)
            .large_file(entry.bytes >= u64::from(u32::MAX));
        zip.start_file(entry.path.as_str(), options)?;
        let mut file = File::open(set.join(&entry.path))?;
        loop {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let count = file.read(&mut chunk)?;
            if count == 0 {
                break;
            }
            zip.write_all(&chunk[..count])?;
        }
    }
    Ok(Some(zip.finish()?))
}

#[cfg(test)]
mod tests {
    use std::io::SeekFrom;
    use std::process::Command;

    use super::*;

    /// A file in which blocks of zeros take no disk space, so that the test can write more than 4 GB.
    struct Sparse(File);

    impl Write for Sparse {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if bytes.iter().any(|byte| *byte != 0) {
                return self.0.write(bytes);
            }
            self.0.seek(SeekFrom::Current(i64::try_from(bytes.len()).unwrap()))?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            self.0.flush()
        }
    }

    impl Seek for Sparse {
        fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
            self.0.seek(to)
        }
    }

    #[test]
    fn a_zip_of_more_than_four_gigabytes_is_read_by_other_programs() {
        let folder = tempfile::tempdir().unwrap();
        let (big, last) = (folder.path().join("big.png"), folder.path().join("last.txt"));
        // The size of the first file and the offset of the second file need 64 bits.
        let bytes = (1_u64 << 32) + 5;
        File::create(&big).unwrap().set_len(bytes).unwrap();
        std::fs::write(&last, "the end").unwrap();
        let entry = |path: &str, bytes| FileEntry { path: path.to_owned(), bytes, sha256: String::new() };
        let zip = folder.path().join("set.zip");
        let files = [entry("big.png", bytes), entry("last.txt", 7)];
        let out = Sparse(File::create(&zip).unwrap());
        write_entries(folder.path(), &files, out, &AtomicBool::new(false)).unwrap().unwrap();
        let script = "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); \
            print([(i.filename, i.file_size, i.header_offset > 1 << 32) for i in z.infolist()], z.read('last.txt'))";
        let done = Command::new(plinth_testkit::python()).args(["-c", script]).arg(&zip).output().unwrap();
        let output = String::from_utf8(done.stdout).unwrap();
        let expected = "[('big.png', 4294967301, False), ('last.txt', 7, True)] b'the end'";
        assert_eq!(output.trim(), expected, "{}", String::from_utf8_lossy(&done.stderr));
    }
}
