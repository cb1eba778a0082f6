//! The archive: files by name, unpacked within a limit.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use zip::ZipArchive;

use super::{ImportError, text};

/// Most entries that are looked at.
const MAX_ENTRIES: usize = 20_000;

/// An opened archive.
pub(super) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    /// By name with forward slashes, letter case as stored.
    entries: BTreeMap<String, usize>,
    /// Names by whole path and by last part, in lower case; the first of several that differ in letter case only.
    by_path: BTreeMap<String, String>,
    by_base: BTreeMap<String, String>,
    left: u64,
    limit: u64,
}

fn broken(problem: impl std::fmt::Display) -> ImportError {
    ImportError::Archive { problem: problem.to_string() }
}

/// Entries that the end of the central directory tells of; unknown for ZIP64. The reader keeps one per name.
fn listed_entries(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(4).rposition(|w| w == b"PK\x05\x06")?;
    let count = u16::from_le_bytes(bytes.get(end + 10..end + 12)?.try_into().ok()?);
    (count != u16::MAX).then_some(usize::from(count))
}

impl<'a> Archive<'a> {
    /// Lists the files; folders, links and what operating systems add are left out.
    pub(super) fn open(bytes: &'a [u8], limit: u64) -> Result<Self, ImportError> {
        let mut zip = ZipArchive::new(Cursor::new(bytes)).map_err(broken)?;
        let count = zip.len();
        if count > MAX_ENTRIES {
            return Err(broken(format!("it has {count} entries, more than {MAX_ENTRIES}")));
        }
        if let Some(listed) = listed_entries(bytes).filter(|listed| *listed != count) {
            return Err(broken(format!("{listed} entries are listed but only {count} differ in name")));
        }
        let mut entries = BTreeMap::new();
        let mut declared = 0_u64;
        for index in 0..count {
            let file = zip.by_index_raw(index).map_err(broken)?;
            declared = declared.saturating_add(file.size());
            if file.encrypted() {
                return Err(broken("it is encrypted"));
            }
            let name = text::decode(file.name_raw()).replace('\\', "/");
            let plain = !file.is_dir() && !file.is_symlink() && !name.ends_with('/');
            let safe = !name.starts_with('/') && !name.split('/').any(|part| part == ".." || part.ends_with(':'));
            let base = name.rsplit('/').next().unwrap_or_default();
            if plain && safe && !name.starts_with("__MACOSX/") && !base.starts_with("._") {
                entries.insert(name, index);
            }
        }
        if declared > limit {
            return Err(ImportError::TooLarge { limit });
        }
        let (mut by_path, mut by_base) = (BTreeMap::new(), BTreeMap::new());
        for name in entries.keys() {
            let lower = name.to_lowercase();
            let base = lower.rsplit('/').next().unwrap_or_default().to_owned();
            by_path.entry(lower).or_insert_with(|| name.clone());
            by_base.entry(base).or_insert_with(|| name.clone());
        }
        Ok(Self { zip, entries, by_path, by_base, left: limit, limit })
    }

    /// The name of the only OBJ.
    pub(super) fn the_obj(&self) -> Result<String, ImportError> {
        let mut found = self.entries.keys().filter(|name| name.to_lowercase().ends_with(".obj"));
        match (found.next(), found.count()) {
            (Some(one), 0) => Ok(one.clone()),
            (None, _) => Err(ImportError::ObjCount { count: 0 }),
            (Some(_), more) => Err(ImportError::ObjCount { count: more + 1 }),
        }
    }

    /// The entry that a file means by a name: beside it, by its whole path, or anywhere by its last part; letter case
    /// and the direction of slashes do not matter.
    pub(super) fn find(&self, beside: &str, wanted: &str) -> Option<String> {
        let wanted = wanted.replace('\\', "/").to_lowercase();
        let folder = beside.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{}/", folder.to_lowercase()));
        let relative = format!("{folder}{}", wanted.trim_start_matches("./"));
        let base = wanted.rsplit('/').next().filter(|base| !base.is_empty());
        let found = self.by_path.get(&relative).or_else(|| self.by_path.get(&wanted));
        found.or_else(|| self.by_base.get(base?)).cloned()
    }

    /// Unpacks a file, counting what comes out.
    pub(super) fn read(&mut self, name: &str) -> Result<Vec<u8>, ImportError> {
        let index = self.entries.get(name).ok_or_else(|| broken("a file is missing"))?;
        let file = self.zip.by_index(*index).map_err(broken)?;
        let mut out = Vec::new();
        let count = file.take(self.left + 1).read_to_end(&mut out).map_err(broken)? as u64;
        if count > self.left {
            return Err(ImportError::TooLarge { limit: self.limit });
        }
        self.left -= count;
        Ok(out)
    }
}
