//! The manifest of a backup. It contains one line of JSON per file of the backup. The last line contains the number and
//! total size of the files, and the hash of all earlier lines.

use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Read, Write};
use std::path::{Component, Path};

use anyhow::{Context as _, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

const NAME: &str = "manifest.jsonl";
const UNFINISHED: &str = "manifest.jsonl.part";
/// File name of the copy of the database.
pub(super) const DATABASE: &str = "plinth.db";
pub(super) const OBJECTS: &str = "objects";
const PIECE: usize = 256 << 10;
const CANNOT_WRITE: &str = "the manifest cannot be written";

/// A file of a backup.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) path: String,
    pub(super) size: u64,
    pub(super) sha256: String,
}

/// Totals of a backup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sum {
    pub(super) files: u64,
    pub(super) bytes: u64,
}

#[derive(Serialize, Deserialize)]
struct End {
    #[serde(flatten)]
    sum: Sum,
    manifest_sha256: String,
}

pub(super) struct Writer {
    file: BufWriter<File>,
    hash: Sha256,
    pub(super) sum: Sum,
}

impl Writer {
    /// Starts a manifest.
    /// Errors: the folder contains a manifest already, or is not writable.
    pub(super) fn begin(backup: &Path) -> Result<Self> {
        let path = backup.join(UNFINISHED);
        let file = File::create_new(&path).with_context(|| format!("{} cannot be created", path.display()))?;
        Ok(Self { file: BufWriter::new(file), hash: Sha256::new(), sum: Sum::default() })
    }

    pub(super) fn add(&mut self, entry: &Entry) -> Result<()> {
        let line = format!("{}\n", serde_json::to_string(entry)?);
        self.hash.update(&line);
        self.file.write_all(line.as_bytes()).context(CANNOT_WRITE)?;
        self.sum.files += 1;
        self.sum.bytes += entry.size;
        Ok(())
    }

    /// Completes the backup: syncs all files to disk, then gives the manifest its final name.
    pub(super) fn finish(mut self, backup: &Path) -> Result<Sum> {
        let end = End { sum: self.sum, manifest_sha256: hex::encode(self.hash.finalize()) };
        writeln!(self.file, "{}", serde_json::to_string(&end)?).context(CANNOT_WRITE)?;
        self.file.into_inner().context(CANNOT_WRITE)?.sync_all().context(CANNOT_WRITE)?;
        sync_folders(backup).context("the folders of the backup cannot be written to the disk")?;
        std::fs::rename(backup.join(UNFINISHED), backup.join(NAME)).context(CANNOT_WRITE)?;
        File::open(backup)?.sync_all().context(CANNOT_WRITE)?;
        Ok(self.sum)
    }
}

/// Calls `each` for every file in the manifest, in the order of its lines.
/// Errors: the manifest is missing or damaged. If it is damaged, earlier calls of `each` may have received wrong data.
pub(super) fn read(backup: &Path, mut each: impl FnMut(Entry) -> Result<()>) -> Result<Sum> {
    let path = backup.join(NAME);
    let file = File::open(&path).with_context(|| {
        format!("{} cannot be read; without it the folder is not a complete backup", path.display())
    })?;
    let damaged = || format!("{} is damaged", path.display());
    let (mut hash, mut sum) = (Sha256::new(), Sum::default());
    for line in BufReader::new(file).lines() {
        let line = line.with_context(damaged)?;
        if let Ok(entry) = serde_json::from_str::<Entry>(&line) {
            ensure!(is_expected(&entry.path), "{}: it names the unexpected file {}", damaged(), entry.path);
            hash.update(&line);
            hash.update("\n");
            sum.files += 1;
            sum.bytes += entry.size;
            each(entry)?;
        } else {
            let end: End = serde_json::from_str(&line).with_context(damaged)?;
            ensure!(end.sum == sum && end.manifest_sha256 == hex::encode(hash.finalize()), damaged());
            return Ok(sum);
        }
    }
    bail!("{}: its last line is missing", damaged())
}

/// Returns whether a backup may contain a file with this path. Rejects paths that lead out of the backup's folder.
fn is_expected(path: &str) -> bool {
    let is_plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    path == DATABASE || is_plain && path.starts_with(&format!("{OBJECTS}/"))
}

/// Syncs a folder and its subfolders to disk, so that the names of their files survive a power failure.
pub(super) fn sync_folders(folder: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_folders(&entry.path())?;
        }
    }
    File::open(folder)?.sync_all()
}

/// Copies a stream. Returns the number of copied bytes and their hash.
pub(super) fn copy(from: &mut dyn Read, to: &mut dyn Write) -> std::io::Result<(u64, String)> {
    let (mut size, mut hash) = (0, Sha256::new());
    let mut piece = vec![0; PIECE];
    loop {
        let read = from.read(&mut piece)?;
        let Some(bytes) = piece.get(..read).filter(|bytes| !bytes.is_empty()) else {
            return Ok((size, hex::encode(hash.finalize())));
        };
        hash.update(bytes);
        to.write_all(bytes)?;
        size += bytes.len() as u64;
    }
}
