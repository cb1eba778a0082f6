//! Measures the disk space of jobs, so that one job cannot fill the disk that all jobs of the worker share.

use std::collections::{BTreeSet, HashMap};
use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plinth_service::free_bytes;

use crate::models::CachedFolders;
use crate::scratch::remove_tree;
use crate::session;
use crate::system::{FileId, id_and_bytes};

/// Disk space that each name of a file or folder uses at least, in bytes. It is the block size of common file systems. Otherwise a job could
/// fill the disk's table of files with empty ones, which also take the worker a long time and much memory to measure.
const NAME_BYTES: u64 = 4096;

/// The disk space of the running jobs, and the cache that makes room for them. All clones share the same map.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disks {
    /// Disk space that each running job uses, in bytes, by the folder of the job.
    used: Arc<Mutex<HashMap<PathBuf, u64>>>,
    cached: CachedFolders,
}

impl Disks {
    /// `cached` are the folders that are deleted before a job is ended because the disk is full.
    pub(crate) fn new(cached: CachedFolders) -> Self {
        Self { used: Arc::default(), cached }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, u64>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The disk space that one job may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiskLimits {
    /// Maximum size of all files of the job, in bytes. Each name of a file counts as at least [`NAME_BYTES`].
    pub(crate) most_bytes: u64,
    /// Free space in bytes below which cached models are evicted, and the job that uses the most disk space is ended if that is not
    /// enough.
    pub(crate) reserve_bytes: u64,
}

/// Measures the disk space of a job.
#[derive(Debug)]
pub(crate) struct JobDisk {
    disks: Disks,
    /// Folder of the job.
    folder: PathBuf,
    /// Folders in which the job may write. Those outside of `folder` are caches, which outlive the job.
    writable: Vec<PathBuf>,
    limits: DiskLimits,
    /// Whether a measurement was [`DiskUse::TooMuch`] or [`DiskUse::Hidden`].
    is_exceeded: AtomicBool,
}

/// Result of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiskUse {
    Allowed,
    /// The job uses more than [`DiskLimits::most_bytes`].
    TooMuch,
    /// The job has made a folder that the worker cannot read, so its files cannot be measured.
    Hidden,
    /// The free space is less than [`DiskLimits::reserve_bytes`] although no cached model is left, and no other job uses more disk
    /// space.
    LargestOnFullDisk,
}

impl JobDisk {
    pub(crate) fn new(disks: &Disks, folder: &Path, writable: &[PathBuf], limits: DiskLimits) -> Self {
        Self {
            disks: disks.clone(),
            folder: folder.to_owned(),
            writable: writable.to_vec(),
            limits,
            is_exceeded: AtomicBool::new(false),
        }
    }

    /// Measures the files of the job, including deleted files that a process of `session` keeps open.
    pub(crate) fn measure(&self, session: u32) -> DiskUse {
        let found = self.find_use(session);
        if matches!(found, DiskUse::TooMuch | DiskUse::Hidden) {
            self.is_exceeded.store(true, Ordering::Relaxed);
        }
        found
    }

    /// Removes the caches in which the job may write, if a measurement was [`DiskUse::TooMuch`] or [`DiskUse::Hidden`].
    /// Otherwise the files that the job left there would end each later job with the same caches. All processes of the job
    /// must have ended before.
    pub(crate) fn remove_exceeded_caches(&self) {
        if !self.is_exceeded.load(Ordering::Relaxed) {
            return;
        }
        for cache in self.writable.iter().filter(|folder| !folder.starts_with(&self.folder)) {
            if let Err(error) = remove_tree(cache) {
                tracing::warn!(%error, folder = %cache.display(), "a cache that a job has filled cannot be removed");
            }
        }
    }

    fn find_use(&self, session: u32) -> DiskUse {
        let mut sum = Sum { seen: BTreeSet::new(), bytes: 0, most_bytes: self.limits.most_bytes };
        let exceeded = self.add_files(session, &mut sum).err();
        if exceeded == Some(DiskUse::Hidden) {
            return DiskUse::Hidden;
        }
        let mut disks = self.disks.lock();
        disks.insert(self.folder.clone(), sum.bytes);
        let is_largest = disks.values().all(|other| *other <= sum.bytes);
        drop(disks);
        if let Some(exceeded) = exceeded {
            exceeded
        } else if is_largest && self.lacks_room(|| self.is_full()) {
            DiskUse::LargestOnFullDisk
        } else {
            DiskUse::Allowed
        }
    }

    fn is_full(&self) -> bool {
        free_bytes(&self.folder).is_ok_and(|free| free < self.limits.reserve_bytes)
    }

    /// Returns whether the disk is full although cached models were evicted. The worker also evicts them before it claims a
    /// job, but it may look at the disk later than this job.
    fn lacks_room(&self, is_full: impl Fn() -> bool) -> bool {
        if !is_full() {
            return false;
        }
        self.disks.cached.make_room(self.limits.reserve_bytes);
        is_full()
    }

    /// Adds all files of the job to `sum`.
    /// Errors: as [`add_folder`].
    fn add_files(&self, session: u32, sum: &mut Sum) -> Result<(), DiskUse> {
        self.writable.iter().try_for_each(|folder| add_folder(folder, sum))?;
        session::deleted_files(session).try_for_each(|file| sum.add_deleted(&file))
    }
}

impl Drop for JobDisk {
    fn drop(&mut self) {
        self.disks.lock().remove(&self.folder);
    }
}

/// The disk space of the files that were found so far.
#[derive(Debug)]
struct Sum {
    /// Files that were found, so that the content of a file with several names counts once.
    seen: BTreeSet<FileId>,
    bytes: u64,
    most_bytes: u64,
}

impl Sum {
    /// Adds a file that was found by one of its names.
    /// Errors: [`DiskUse::TooMuch`] if the sum exceeds the limit.
    fn add_named(&mut self, about: &Metadata) -> Result<(), DiskUse> {
        let (id, bytes) = id_and_bytes(about);
        let is_new = self.seen.insert(id);
        self.add(if is_new { bytes.max(NAME_BYTES) } else { NAME_BYTES })
    }

    /// Adds a deleted file, which may be open several times.
    /// Errors: as [`Self::add_named`].
    fn add_deleted(&mut self, about: &Metadata) -> Result<(), DiskUse> {
        let (id, bytes) = id_and_bytes(about);
        let is_new = self.seen.insert(id);
        self.add(if is_new { bytes } else { 0 })
    }

    fn add(&mut self, bytes: u64) -> Result<(), DiskUse> {
        self.bytes += bytes;
        if self.bytes > self.most_bytes { Err(DiskUse::TooMuch) } else { Ok(()) }
    }
}

/// Adds all files in a folder to `sum`. Skips files that do not exist any more, because the job may delete files at any time.
/// Errors: [`DiskUse::TooMuch`] as soon as the sum exceeds the limit, so that the time does not depend on how many files a job
/// has made; [`DiskUse::Hidden`] if a folder cannot be read because of its permissions or the length of its path.
fn add_folder(folder: &Path, sum: &mut Sum) -> Result<(), DiskUse> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if is_hidden_by(&error) => return Err(DiskUse::Hidden),
            Err(_gone) => continue,
        };
        for entry in entries.flatten() {
            match entry.metadata() {
                Ok(about) => {
                    if about.is_dir() {
                        folders.push(entry.path());
                    }
                    sum.add_named(&about)?;
                }
                Err(error) if is_hidden_by(&error) => return Err(DiskUse::Hidden),
                Err(_gone) => {}
            }
        }
    }
    Ok(())
}

/// Returns whether the error of a read means that the file exists, but that the worker cannot reach it.
fn is_hidden_by(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::InvalidFilename)
}

#[cfg(test)]
mod tests {
    use std::fs::{File, Permissions, create_dir, hard_link, write};
    use std::os::unix::fs::PermissionsExt as _;

    use rustix::fs::{Mode, OFlags};

    use super::*;
    use crate::scratch::Scratch;

    fn job(disks: &Disks, folder: &Path, name: &str, limits: DiskLimits) -> JobDisk {
        let own = folder.join(name);
        create_dir(&own).unwrap();
        create_dir(own.join("out")).unwrap();
        JobDisk::new(disks, &own, &[own.join("out")], limits)
    }

    #[test]
    fn a_job_that_writes_more_than_its_limit_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let limits = DiskLimits { most_bytes: 300_000, reserve_bytes: 0 };
        let job = job(&Disks::default(), folder.path(), "a", limits);
        let out = job.writable[0].clone();
        create_dir(out.join("deep")).unwrap();
        write(out.join("deep/1"), vec![1; 200_000]).unwrap();
        hard_link(out.join("deep/1"), out.join("again")).unwrap();
        File::create(out.join("sparse")).unwrap().set_len(1 << 30).unwrap();
        assert_eq!(job.measure(std::process::id()), DiskUse::Allowed);
        write(out.join("2"), vec![1; 200_000]).unwrap();
        assert_eq!(job.measure(std::process::id()), DiskUse::TooMuch);
    }

    #[test]
    fn a_job_that_makes_many_empty_files_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let limits = DiskLimits { most_bytes: 300_000, reserve_bytes: 0 };
        let job = job(&Disks::default(), folder.path(), "a", limits);
        let out = job.writable[0].clone();
        let make = |names: std::ops::Range<u32>| names.for_each(|name| write(out.join(name.to_string()), b"").unwrap());
        make(0..70);
        assert_eq!(job.measure(0), DiskUse::Allowed);
        make(70..100);
        assert_eq!(job.measure(0), DiskUse::TooMuch);
        (1..100).for_each(|name| std::fs::remove_file(out.join(name.to_string())).unwrap());
        assert_eq!(job.measure(0), DiskUse::Allowed);
        (1..100).for_each(|name| hard_link(out.join("0"), out.join(name.to_string())).unwrap());
        assert_eq!(job.measure(0), DiskUse::TooMuch, "each name of a file uses space in its folder");
    }

    #[test]
    fn the_measurement_ends_at_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let (disks, limits) = (Disks::default(), DiskLimits { most_bytes: 10_000, reserve_bytes: 0 });
        let job = job(&disks, folder.path(), "a", limits);
        (0..100).for_each(|name| write(job.writable[0].join(name.to_string()), b"").unwrap());
        assert_eq!(job.measure(0), DiskUse::TooMuch);
        assert_eq!(disks.lock().get(&job.folder), Some(&(3 * NAME_BYTES)), "only three files were counted");
    }

    /// Creates folders in `parent`, the inner ones with a path that is longer than the system accepts. Even a user who may read any
    /// folder, such as root, cannot read them by their path. The innermost one has no permissions. Returns the path of the outermost
    /// one.
    fn hide_folders(parent: &Path) -> PathBuf {
        let (name, mut inner) = ("d".repeat(250), parent.to_owned());
        let mut folder = File::open(parent).unwrap();
        for _ in 0..20 {
            rustix::fs::mkdirat(&folder, &name, Mode::RWXU).unwrap();
            let flags = OFlags::RDONLY | OFlags::DIRECTORY;
            folder = rustix::fs::openat(&folder, &name, flags, Mode::empty()).unwrap().into();
            inner.push(&name);
        }
        rustix::fs::mkdirat(&folder, "locked", Mode::empty()).unwrap();
        assert!(std::fs::read_dir(&inner).is_err(), "the path is longer than the system accepts");
        parent.join(name)
    }

    #[test]
    fn a_job_that_hides_its_files_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let limits = DiskLimits { most_bytes: u64::MAX, reserve_bytes: 0 };
        let job = job(&Disks::default(), folder.path(), "a", limits);
        let out = job.writable[0].clone();
        let hidden = hide_folders(&out);
        assert_eq!(job.measure(0), DiskUse::Hidden);
        remove_tree(&hidden).unwrap();
        assert_eq!(job.measure(0), DiskUse::Allowed);
        create_dir(out.join("hidden")).unwrap();
        let unreadable = |mode| std::fs::set_permissions(out.join("hidden"), Permissions::from_mode(mode)).unwrap();
        unreadable(0o300);
        if std::fs::read_dir(out.join("hidden")).is_err() {
            assert_eq!(job.measure(0), DiskUse::Hidden);
            remove_tree(&out).unwrap();
            assert!(!out.exists());
        }
    }

    #[test]
    fn caches_that_a_job_has_filled_are_removed_so_that_later_jobs_run() {
        let folder = tempfile::tempdir().unwrap();
        let (own, cache) = (folder.path().join("job"), folder.path().join("cache"));
        let limits = DiskLimits { most_bytes: 300_000, reserve_bytes: 0 };
        let begin = || {
            std::fs::create_dir_all(own.join("out")).unwrap();
            std::fs::create_dir_all(&cache).unwrap();
            JobDisk::new(&Disks::default(), &own, &[own.join("out"), cache.clone()], limits)
        };
        let hide = || drop(hide_folders(&cache));
        let fill = || write(cache.join("large"), vec![1; 400_000]).unwrap();
        let misuses: [(&dyn Fn(), DiskUse); 2] = [(&hide, DiskUse::Hidden), (&fill, DiskUse::TooMuch)];
        for (misuse, found) in misuses {
            let job = begin();
            assert_eq!(job.measure(0), DiskUse::Allowed);
            job.remove_exceeded_caches();
            assert!(cache.exists(), "a job that keeps its limits leaves its caches");
            misuse();
            assert_eq!(job.measure(0), found);
            job.remove_exceeded_caches();
            assert!(!cache.exists() && own.exists(), "{found:?}");
            assert_eq!(begin().measure(0), DiskUse::Allowed);
        }
    }

    #[test]
    fn only_the_largest_job_ends_on_a_full_disk() {
        let folder = tempfile::tempdir().unwrap();
        let (disks, limits) = (Disks::default(), DiskLimits { most_bytes: u64::MAX, reserve_bytes: u64::MAX });
        let [small, large] = ["small", "large"].map(|name| job(&disks, folder.path(), name, limits));
        write(small.writable[0].join("1"), vec![1; 100_000]).unwrap();
        write(large.writable[0].join("1"), vec![1; 200_000]).unwrap();
        assert_eq!(large.measure(0), DiskUse::LargestOnFullDisk);
        assert_eq!(small.measure(0), DiskUse::Allowed);
        drop(large);
        assert_eq!(small.measure(0), DiskUse::LargestOnFullDisk);
    }

    #[test]
    fn cached_models_are_evicted_before_a_job_is_ended_on_a_full_disk() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::open(folder.path()).unwrap();
        let cached = scratch.models().join("model0000000");
        for (reserve_bytes, found) in [(0, DiskUse::Allowed), (u64::MAX, DiskUse::LargestOnFullDisk)] {
            create_dir(&cached).unwrap();
            let limits = DiskLimits { most_bytes: u64::MAX, reserve_bytes };
            let name = reserve_bytes.to_string();
            let job = job(&Disks::new(CachedFolders::of(&scratch)), folder.path(), &name, limits);
            assert_eq!(job.measure(0), found);
            assert_eq!(cached.exists(), found == DiskUse::Allowed);
            remove_tree(&cached).unwrap();
            if reserve_bytes > 0 {
                create_dir(&cached).unwrap();
                assert!(!job.lacks_room(|| cached.exists()), "the eviction made room");
            }
        }
    }
}
