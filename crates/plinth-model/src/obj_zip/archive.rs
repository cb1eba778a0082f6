//! Reads the files of a ZIP archive by name, and limits their total unpacked size.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use unicode_normalization::UnicodeNormalization as _;
use zip::ZipArchive;

use super::{ImportError, text};

/// Maximum number of entries of an archive.
const MAX_ENTRIES: usize = 20_000;
/// Maximum length in bytes of a name that is looked up. Names of entries have at most 65 535 bytes (APPNOTE.TXT, section 4.4.10),
/// and at most four times as many in another encoding.
const MAX_NAME_BYTES: usize = 4 * u16::MAX as usize;

/// Entry names by path or by file name. Each name has two keys: as it is spelled, and in lower case. If several entries
/// have the same key, the map contains the first entry that is spelled like the key, or else the first of them.
type EntryNames = BTreeMap<String, String>;

pub(super) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    /// Entry indices by name. Names have forward slashes and the same letter case as in the archive.
    entries: BTreeMap<String, usize>,
    by_path: EntryNames,
    by_base: EntryNames,
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

/// Returns the entries by path and by file name. `names` are pairs of a path and the name of its entry.
fn by_path_and_base(names: &[(String, String)]) -> (EntryNames, EntryNames) {
    let (mut by_path, mut by_base) = (EntryNames::new(), EntryNames::new());
    let spellings: [fn(&str) -> String; 2] = [composed, lower_case];
    for spelled in spellings {
        for (path, entry) in names {
            let key = spelled(path);
            let base = key.rsplit('/').next().unwrap_or_default().to_owned();
            by_path.entry(key).or_insert_with(|| entry.clone());
            by_base.entry(base).or_insert_with(|| entry.clone());
        }
    }
    (by_path, by_base)
}

fn look_up(names: &EntryNames, name: &str) -> Option<String> {
    names.get(&composed(name)).or_else(|| names.get(&lower_case(name))).cloned()
}

/// Converts a name to Unicode normalization form C, because macOS stores file names in form D.
fn composed(name: &str) -> String {
    if name.is_ascii() { name.to_owned() } else { name.nfc().collect() }
}

fn lower_case(name: &str) -> String {
    composed(&name.to_lowercase())
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
                // programs use another encoding. The name in code page 437 is stored as an alias. So is the name in
                // Latin-1, because a file that contains the same bytes may be decoded as Latin-1.
                let encodings = [file.name().ok().map(Cow::into_owned), Some(text::latin_1(file.name_raw()))];
                aliases.extend(encodings.into_iter().flatten().map(|alias| (alias.replace('\\', "/"), name.clone())));
                entries.insert(name, index);
            }
        }
        if declared_size > limit {
            return Err(ImportError::TooLarge { limit });
        }
        let names = entries.keys().map(|name| (name.clone(), name.clone()));
        let (by_path, by_base) = by_path_and_base(&names.chain(aliases).collect::<Vec<_>>());
        Ok(Self { zip, entries, by_path, by_base, remaining: limit, limit })
    }

    /// Returns the name of the only OBJ file.
    pub(super) fn find_obj(&self) -> Result<String, ImportError> {
        let mut found = self.entries.keys().filter(|name| name.to_lowercase().ends_with(".obj"));
        match (found.next(), found.count()) {
            (Some(name), 0) => Ok(name.clone()),
            (None, _) if self.has_gltf() => Err(ImportError::Gltf),
            (None, _) => Err(ImportError::ObjCount { count: 0 }),
            (Some(_), more) => Err(ImportError::ObjCount { count: more + 1 }),
        }
    }

    /// Returns the MTL file that most likely belongs to the OBJ file `obj`, whatever its `mtllib` lines name: the file with
    /// the name of the OBJ file, as in Blender, or else the only MTL file.
    pub(super) fn find_mtl(&self, obj: &str) -> Option<String> {
        let stem = obj.rsplit_once('.').map_or(obj, |(stem, _)| stem);
        look_up(&self.by_path, &format!("{stem}.mtl")).or_else(|| {
            let mut found = self.entries.keys().filter(|name| name.to_lowercase().ends_with(".mtl"));
            let first = found.next()?;
            found.next().is_none().then(|| first.clone())
        })
    }

    fn has_gltf(&self) -> bool {
        let is_gltf = |name: &str| [".glb", ".gltf"].into_iter().any(|extension| name.ends_with(extension));
        self.entries.keys().any(|name| is_gltf(&name.to_lowercase()))
    }

    /// Finds the entry to which `name` refers in the file `referrer`. The name is looked up as in [`Self::find_path`],
    /// then as a file name in any folder.
    pub(super) fn find(&self, referrer: &str, name: &str) -> Option<String> {
        if name.len() > MAX_NAME_BYTES {
            return None;
        }
        self.find_path(referrer, name).or_else(|| {
            let base = text::unquoted(name).rsplit(['/', '\\']).next().filter(|base| !base.is_empty())?;
            look_up(&self.by_base, base)
        })
    }

    /// Finds the entry to which the path `name` refers in the file `referrer`. The path is relative to the folder of
    /// `referrer` or else a full path. Quotation marks around it, letter case, the direction of slashes, and the
    /// normalization form of Unicode are ignored. If several names differ only in letter case, the exact one is
    /// preferred.
    pub(super) fn find_path(&self, referrer: &str, name: &str) -> Option<String> {
        if name.len() > MAX_NAME_BYTES {
            return None;
        }
        let name = text::unquoted(name).replace('\\', "/");
        let folder = referrer.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut relative: Vec<&str> = Vec::new();
        for part in folder.split('/').chain(name.split('/')) {
            match part {
                "" | "." => {}
                ".." => drop(relative.pop()),
                _ => relative.push(part),
            }
        }
        look_up(&self.by_path, &relative.join("/")).or_else(|| look_up(&self.by_path, &name))
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
