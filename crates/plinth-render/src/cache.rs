//! A folder that caches the results of long computations. A model that was rendered before is therefore drawn sooner.
//!
//! The name of a file is a hash of all inputs of the computation. A file contains a checksum, and gets its name only
//! when it is complete. Any file may be missing, damaged or deleted at any time, and several processes may share the
//! folder.

use std::fs::{File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bytemuck::NoUninit;
use rayon::prelude::*;
use twox_hash::XxHash3_128;

use crate::system::{inode_change_time, own_program};

/// Beginning of the names of files that are not complete yet.
const UNFINISHED: &str = ".plinth-cache-";
/// Number of digits of the hash in the name of a file.
const HASH_DIGITS: usize = 32;
/// The first bytes of each file, which identify its format.
const MAGIC: &[u8; 8] = b"plinth-1";
/// Size of the header in bytes. The header consists of the magic bytes and the checksum.
const HEAD: usize = MAGIC.len() + size_of::<u128>();

/// A folder that caches the results of long computations.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    most_bytes: u64,
    program: Program,
}

/// The identity of a build of this program. Some package managers (Nix, OSTree) give all files the same modification
/// time, so length and modification time alone do not tell builds apart.
#[derive(Clone, Debug)]
struct Program {
    version: &'static str,
    /// Length of the executable in bytes.
    length: u64,
    /// Modification time of the executable.
    modified: SystemTime,
    /// Time of the last change of the executable's inode. See [`inode_change_time`].
    inode_changed: (i64, i64),
}

impl Program {
    /// Returns the identity of the running program.
    /// Errors: if the program cannot read its own executable.
    fn running() -> io::Result<Self> {
        let executable = own_program()?;
        Ok(Self {
            version: env!("CARGO_PKG_VERSION"),
            length: executable.len(),
            modified: executable.modified()?,
            inode_changed: inode_change_time(&executable),
        })
    }
}

impl Cache {
    /// Opens a cache in a folder, which is created before the first file is stored. All files of the cache together have at
    /// most `most_bytes` bytes; other files in the folder do not count and are never deleted. Files of another build of this
    /// program are not used.
    /// Errors: if the program cannot read its own executable.
    pub fn open(folder: PathBuf, most_bytes: u64) -> io::Result<Self> {
        Ok(Self { folder, most_bytes, program: Program::running()? })
    }

    /// Returns the path of the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the maximum number of bytes of all files together.
    pub(crate) const fn most_bytes(&self) -> u64 {
        self.most_bytes
    }

    /// Returns a new key that contains the identity of the program and `kind`. The caller adds all inputs of the
    /// computation to the key.
    pub(crate) fn key(&self, kind: &'static str) -> Key {
        let mut key = Key { kind, hash: XxHash3_128::new() };
        let Program { version, length, modified, inode_changed } = &self.program;
        key.debug(&(version, length, modified, inode_changed));
        key
    }

    /// Returns the content that is stored under a name. Returns `None` if the file does not exist or is damaged.
    pub(crate) fn load(&self, name: &str) -> Option<Vec<u8>> {
        let path = self.folder.join(name);
        let mut file = File::open(&path).ok()?;
        // The header is read on its own, so that the content need not be moved.
        let (mut header, mut content) = (Vec::new(), Vec::new());
        (&mut file).take(HEAD as u64).read_to_end(&mut header).ok()?;
        file.read_to_end(&mut content).ok()?;
        if header != head(&content) {
            // Removing the file may fail because another process has already deleted it.
            drop(std::fs::remove_file(&path));
            return None;
        }
        // The modification time records the last use. If the time cannot be updated, `trim` may delete the file sooner.
        drop(File::options().append(true).open(&path).and_then(|file| file.set_modified(SystemTime::now())));
        Some(content)
    }

    /// Stores content under a name. If the cache exceeds its size limit, deletes the files that have not been used for
    /// the longest time.
    /// Errors: if the folder cannot be created, or the file cannot be written.
    pub(crate) fn store(&self, name: &str, content: &[u8]) -> io::Result<()> {
        self.write(name, content)?;
        self.trim()
    }

    /// Stores several files like [`Self::store`]. While it writes, the cache may exceed its size limit.
    /// Errors: those of [`Self::store`].
    pub(crate) fn store_all<'a>(&self, files: impl IntoIterator<Item = (&'a str, Vec<u8>)>) -> io::Result<()> {
        let stored = files.into_iter().try_for_each(|(name, content)| self.write(name, &content));
        stored.and(self.trim())
    }

    fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        if (content.len() + HEAD) as u64 > self.most_bytes {
            return Ok(());
        }
        std::fs::create_dir_all(&self.folder)?;
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(&self.folder)?;
        file.write_all(&head(content))?;
        file.write_all(content)?;
        file.persist(self.folder.join(name))?;
        Ok(())
    }

    fn trim(&self) -> io::Result<()> {
        let about = |entry: io::Result<std::fs::DirEntry>| -> Option<(SystemTime, PathBuf, Metadata)> {
            let entry = entry.ok().filter(|entry| entry.file_name().to_str().is_some_and(is_name))?;
            // Another process may delete files at the same time, so files without metadata are skipped.
            let metadata = entry.metadata().ok().filter(Metadata::is_file)?;
            Some((metadata.modified().ok()?, entry.path(), metadata))
        };
        let mut files: Vec<_> = std::fs::read_dir(&self.folder)?.filter_map(about).collect();
        files.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        let mut bytes: u64 = files.iter().map(|(_, _, metadata)| metadata.len()).sum();
        for (_, path, metadata) in files {
            if bytes <= self.most_bytes {
                break;
            }
            drop(std::fs::remove_file(path));
            bytes -= metadata.len();
        }
        Ok(())
    }
}

/// Returns whether a file with this name belongs to the cache. The user may have chosen a folder with other files.
fn is_name(name: &str) -> bool {
    let is_digit = |c: u8| matches!(c, b'0'..=b'9' | b'a'..=b'f');
    let is_hash = |hash: &str| hash.len() == HASH_DIGITS && hash.bytes().all(is_digit);
    name.starts_with(UNFINISHED) || name.split_once('-').is_some_and(|(_kind, hash)| is_hash(hash))
}

/// Returns the header of a file with this content.
fn head(content: &[u8]) -> [u8; HEAD] {
    let mut out = [0; HEAD];
    let (magic, checksum) = out.split_at_mut(MAGIC.len());
    magic.copy_from_slice(MAGIC);
    checksum.copy_from_slice(&XxHash3_128::oneshot(content).to_le_bytes());
    out
}

/// A hash of all inputs of a computation.
#[derive(Clone)]
pub(crate) struct Key {
    kind: &'static str,
    hash: XxHash3_128,
}

impl Key {
    /// Adds the length and the elements of a list.
    pub(crate) fn list<T: NoUninit>(&mut self, list: &[T]) {
        self.hash.write(&(list.len() as u64).to_le_bytes());
        self.hash.write(bytemuck::cast_slice(list));
    }

    /// Adds lists of bytes that may be long, and hashes several lists at the same time.
    pub(crate) fn long_lists(&mut self, lists: &[&[u8]]) {
        let hashes: Vec<u128> = lists.par_iter().map(|list| XxHash3_128::oneshot(list)).collect();
        self.list(&hashes);
    }

    /// Adds the `Debug` output of a value. The output must contain everything that affects the result of the
    /// computation.
    pub(crate) fn debug(&mut self, value: &impl std::fmt::Debug) {
        self.list(format!("{value:?}").as_bytes());
    }

    /// Returns the name under which the result is stored.
    pub(crate) fn name(self) -> String {
        format!("{}-{:0digits$x}", self.kind, self.hash.finish_128(), digits = HASH_DIGITS)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    fn cache(folder: &tempfile::TempDir, most_bytes: u64) -> Cache {
        Cache::open(folder.path().join("cache"), most_bytes).unwrap()
    }

    #[test]
    fn intact_files_are_loaded_and_damaged_files_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(&folder, 1 << 20);
        assert_eq!(cache.load("a"), None);
        cache.store("a", b"content").unwrap();
        assert_eq!(cache.load("a").unwrap(), b"content");
        let path = cache.folder().join("a");
        let whole = std::fs::read(&path).unwrap();
        let mut damaged: Vec<Vec<u8>> = (0..whole.len()).map(|end| whole[..end].to_vec()).collect();
        damaged.extend((0..whole.len()).map(|at| {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            changed
        }));
        damaged.push([whole.as_slice(), b"x"].concat());
        for bytes in damaged {
            std::fs::write(&path, &bytes).unwrap();
            assert_eq!(cache.load("a"), None, "{bytes:?}");
            assert!(!path.exists(), "{bytes:?}");
        }
    }

    #[test]
    fn loaded_content_is_not_moved_away_from_its_header() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(&folder, 1 << 20);
        cache.store("a", &[7; 1000]).unwrap();
        let content = cache.load("a").unwrap();
        assert_eq!(content, [7; 1000]);
        assert!(content.capacity() < 1000 + HEAD, "{}", content.capacity());
    }

    #[test]
    fn the_least_recently_used_files_are_deleted_first() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(&folder, 3 * (HEAD as u64 + 10));
        let [a, b, c, d, huge] = ["a", "b", "c", "d", "huge"].map(|kind| cache.key(kind).name());
        for (i, name) in [&a, &b, &c].into_iter().enumerate() {
            cache.store(name, &[0; 10]).unwrap();
            let file = File::options().append(true).open(cache.folder().join(name)).unwrap();
            file.set_modified(UNIX_EPOCH + Duration::from_secs(i as u64)).unwrap();
        }
        cache.load(&a).unwrap();
        cache.store(&d, &[0; 10]).unwrap();
        let left: Vec<_> = [&a, &b, &c, &d].into_iter().filter(|name| cache.load(name).is_some()).collect();
        assert_eq!(left, [&a, &c, &d]);
        cache.store(&huge, &[0; 1000]).unwrap();
        assert!(cache.load(&huge).is_none() && cache.load(&d).is_some());
    }

    #[test]
    fn files_of_the_user_are_never_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(&folder, HEAD as u64 + 10);
        std::fs::create_dir(cache.folder()).unwrap();
        let users =
            ["chair.glb", "video-1.mp4", "0123456789abcdef0123456789abcdef", "a-0123456789ABCDEF0123456789ABCDEF"];
        for name in users {
            std::fs::write(cache.folder().join(name), [0; 1000]).unwrap();
        }
        let unfinished = cache.folder().join(".plinth-cache-x");
        std::fs::write(&unfinished, [0; 1000]).unwrap();
        let name = cache.key("k").name();
        cache.store(&name, &[0; 10]).unwrap();
        assert!(users.iter().all(|name| cache.folder().join(name).exists()));
        assert!(!unfinished.exists() && cache.load(&name).is_some());
    }

    #[test]
    fn keys_of_different_builds_differ() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(&folder, 1);
        assert_eq!(cache.program.version, env!("CARGO_PKG_VERSION"));
        let executable = std::fs::metadata(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(cache.program.inode_changed, inode_change_time(&executable));
        let changes: [fn(&mut Program); 5] = [
            |_same| (),
            |program| program.version = "another version",
            |program| program.length += 1,
            |program| program.modified += Duration::from_secs(1),
            |program| program.inode_changed.1 += 1,
        ];
        let names = changes.map(|change| {
            let mut other = cache.clone();
            change(&mut other.program);
            other.key("k").name()
        });
        assert_eq!(names[0], cache.key("k").name());
        assert_eq!(BTreeSet::from(names).len(), changes.len());
    }

    #[test]
    fn keys_of_different_lists_differ() {
        let folder = tempfile::tempdir().unwrap();
        let name = |lists: [&[u8]; 2]| {
            let mut key = cache(&folder, 1).key("k");
            for list in lists {
                key.list(list);
            }
            key.name()
        };
        assert_eq!(name([b"ab", b"c"]), name([b"ab", b"c"]));
        assert_ne!(name([b"ab", b"c"]), name([b"a", b"bc"]));
        let name = |lists: [&[u8]; 2]| {
            let mut key = cache(&folder, 1).key("k");
            key.long_lists(&lists);
            key.name()
        };
        assert_eq!(name([b"ab", b"c"]), name([b"ab", b"c"]));
        assert_ne!(name([b"ab", b"c"]), name([b"a", b"bc"]));
        assert_ne!(name([b"ab", b"c"]), name([b"c", b"ab"]));
    }
}
