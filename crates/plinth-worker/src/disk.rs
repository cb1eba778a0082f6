//! Measures the disk space of jobs, so that one job cannot fill the disk that all jobs of the worker share.

use std::collections::{BTreeSet, HashMap};
use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plinth_service::free_bytes;

use crate::scratch::remove_tree;
use crate::session;
use crate::system::{FileId, id_and_bytes};

/// Disk space that each running job uses, in bytes, by the folder of the job. All clones share the same map.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disks(Arc<Mutex<HashMap<PathBuf, u64>>>);

impl Disks {
    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The disk space that one job may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiskLimits {
    /// Maximum size of all files of the job, in bytes.
    pub(crate) most_bytes: u64,
    /// Free space in bytes below which the job that uses the most disk space is ended.
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
    /// The free space is less than [`DiskLimits::reserve_bytes`], and no other job uses more disk space.
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
        let mut seen = BTreeSet::new();
        let Some(named) = self.writable.iter().map(|folder| folder_bytes(folder, &mut seen)).sum::<Option<u64>>()
        else {
            return DiskUse::Hidden;
        };
        let bytes = named + session::deleted_files(session).map(|file| file_bytes(&file, &mut seen)).sum::<u64>();
        let mut disks = self.disks.lock();
        disks.insert(self.folder.clone(), bytes);
        let is_largest = disks.values().all(|other| *other <= bytes);
        drop(disks);
        if bytes > self.limits.most_bytes {
            DiskUse::TooMuch
        } else if is_largest && free_bytes(&self.folder).is_ok_and(|free| free < self.limits.reserve_bytes) {
            DiskUse::LargestOnFullDisk
        } else {
            DiskUse::Allowed
        }
    }
}

impl Drop for JobDisk {
    fn drop(&mut self) {
        self.disks.lock().remove(&self.folder);
    }
}

/// Returns the disk space of all files in a folder, or `None` if a folder cannot be read because of its permissions or the
/// length of its path. Skips files that do not exist any more, because the job may delete files at any time. Skips files that
/// are in `seen`, so that a file with several names counts once.
fn folder_bytes(folder: &Path, seen: &mut BTreeSet<FileId>) -> Option<u64> {
    let (mut bytes, mut folders) = (0, vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if is_hidden_by(&error) => return None,
            Err(_gone) => continue,
        };
        for entry in entries.flatten() {
            match entry.metadata() {
                Ok(about) => {
                    if about.is_dir() {
                        folders.push(entry.path());
                    }
                    bytes += file_bytes(&about, seen);
                }
                Err(error) if is_hidden_by(&error) => return None,
                Err(_gone) => {}
            }
        }
    }
    Some(bytes)
}

/// Returns whether the error of a read means that the file exists, but that the worker cannot reach it.
fn is_hidden_by(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::InvalidFilename)
}

fn file_bytes(about: &Metadata, seen: &mut BTreeSet<FileId>) -> u64 {
    let (id, bytes) = id_and_bytes(about);
    if seen.insert(id) { bytes } else { 0 }
}

#[cfg(test)]
mod tests {
    use std::fs::{File, Permissions, create_dir, hard_link, write};
    use std::os::unix::fs::PermissionsExt as _;

    use rustix::fs::{Mode, OFlags};

    use super::*;

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
}
