//! Reads the files of a ZIP archive by name, and limits their total unpacked size.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use zip::ZipArchive;

use super::{ImportError, text};

/// Maximum number of entries of an archive.
const MAX_ENTRIES: usize = 20_000;

pub(super) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    /// Entry indices by name. Names have forward slashes and the same letter case as in the archive.
    entries: BTreeMap<String, usize>,
    /// Entry names by lower-case path and by lower-case file name. If several entries have the same key, the map
    /// contains the first of them.
    by_path: BTreeMap<String, String>,
    by_base: BTreeMap<String, String>,
    remaining: u64,
    limit: u64,
}

fn invalid_archive(problem: impl std::fmt::Display) -> ImportError {
    ImportError::Archive { problem: problem.to_string() }
}

/// Returns the number of entries that the end-of-central-directory record declares, or `None` for ZIP64 archives. It
/// can exceed the number of entries that the ZIP reader lists, because the reader keeps only one entry per name.
fn listed_entries(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(4).rposition(|w| w == b"PK\x05\x06")?;
    let count = u16::from_le_bytes(bytes.get(end + 10..end + 12)?.try_into().ok()?);
    (count != u16::MAX).then_some(usize::from(count))
}

impl<'a> Archive<'a> {
    /// Opens an archive and lists its files. Folders, symbolic links, and metadata files of operating systems are
    /// skipped.
    pub(super) fn open(bytes: &'a [u8], limit: u64) -> Result<Self, ImportError> {
        let mut zip = ZipArchive::new(Cursor::new(bytes)).map_err(invalid_archive)?;
        let count = zip.len();
        if count > MAX_ENTRIES {
            return Err(invalid_archive(format!("it has {count} entries, more than {MAX_ENTRIES}")));
        }
        if let Some(listed) = listed_entries(bytes).filter(|listed| *listed != count) {
            return Err(invalid_archive(format!("{listed} entries are listed but only {count} differ in name")));
        }
        let (mut entries, mut aliases) = (BTreeMap::new(), Vec::new());
        let mut declared_size = 0_u64;
        for index in 0..count {
            let file = zip.by_index_raw(index).map_err(invalid_archive)?;
            declared_size = declared_size.saturating_add(file.size());
            if file.encrypted() {
                return Err(invalid_archive("it is encrypted"));
            }
            let name = text::decode(file.name_raw()).replace('\\', "/");
            let is_regular = !file.is_dir() && !file.is_symlink() && !name.ends_with('/');
            let is_inside_archive =
                !name.starts_with('/') && !name.split('/').any(|part| part == ".." || part.ends_with(':'));
            let base = name.rsplit('/').next().unwrap_or_default();
            if is_regular && is_inside_archive && !name.starts_with("__MACOSX/") && !base.starts_with("._") {
                // The encoding of a name that is not UTF-8 should be code page 437 (APPNOTE.TXT, appendix D), but many
                // programs use another encoding. The name in code page 437 is stored as an alias.
                aliases.extend(file.name().ok().map(|alias| (alias.replace('\\', "/"), name.clone())));
                entries.insert(name, index);
            }
        }
        if declared_size > limit {
            return Err(ImportError::TooLarge { limit });
        }
        let (mut by_path, mut by_base) = (BTreeMap::new(), BTreeMap::new());
        let names = entries.keys().map(|name| (name.clone(), name.clone()));
        for (alias, name) in names.chain(aliases) {
            let lower = alias.to_lowercase();
            let base = lower.rsplit('/').next().unwrap_or_default().to_owned();
            by_path.entry(lower).or_insert_with(|| name.clone());
            by_base.entry(base).or_insert(name);
        }
        Ok(Self { zip, entries, by_path, by_base, remaining: limit, limit })
    }

    /// Returns the name of the only OBJ file.
    pub(super) fn find_obj(&self) -> Result<String, ImportError> {
        let mut found = self.entries.keys().filter(|name| name.to_lowercase().ends_with(".obj"));
        match (found.next(), found.count()) {
            (Some(name), 0) => Ok(name.clone()),
            (None, _) => Err(ImportError::ObjCount { count: 0 }),
            (Some(_), more) => Err(ImportError::ObjCount { count: more + 1 }),
        }
    }

    /// Finds the entry to which `name` refers in the file `referrer`. The name is looked up as in [`Self::find_path`],
    /// then as a file name in any folder. Letter case and the direction of slashes are ignored.
    pub(super) fn find(&self, referrer: &str, name: &str) -> Option<String> {
        self.find_path(referrer, name).or_else(|| {
            let base = name.rsplit(['/', '\\']).next().filter(|base| !base.is_empty())?;
            self.by_base.get(&base.to_lowercase()).cloned()
        })
    }

    /// Finds the entry to which the path `name` refers in the file `referrer`. The path is relative to the folder of
    /// `referrer` or else a full path. Letter case and the direction of slashes are ignored.
    pub(super) fn find_path(&self, referrer: &str, name: &str) -> Option<String> {
        let name = name.replace('\\', "/").to_lowercase();
        let folder = referrer.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_lowercase());
        let mut relative: Vec<&str> = Vec::new();
        for part in folder.split('/').chain(name.split('/')) {
            match part {
                "" | "." => {}
                ".." => drop(relative.pop()),
                _ => relative.push(part),
            }
        }
        self.by_path.get(&relative.join("/")).or_else(|| self.by_path.get(&name)).cloned()
    }

    /// Unpacks a file, and counts its unpacked size against the limit of the archive.
    pub(super) fn read(&mut self, name: &str) -> Result<Vec<u8>, ImportError> {
        let index = self.entries.get(name).ok_or_else(|| invalid_archive("a file is missing"))?;
        let file = self.zip.by_index(*index).map_err(invalid_archive)?;
        let mut out = Vec::new();
        let count = file.take(self.remaining + 1).read_to_end(&mut out).map_err(invalid_archive)? as u64;
        if count > self.remaining {
            return Err(ImportError::TooLarge { limit: self.limit });
        }
        self.remaining -= count;
        Ok(out)
    }
}
