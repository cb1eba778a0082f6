//! The cache in the scratch folder: models with their light and reduced textures, and compiled shaders.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use plinth_pipeline::child::CacheFolder;
use plinth_service::{file_sha256, free_bytes};
use plinth_spec::id::{self, ModelId, WorkspaceId};
use plinth_store::{ObjectKey, Store, StoreError};

use crate::fetch::download;
use crate::options::WorkerOptions;
use crate::scratch::{Scratch, is_left_by_removal, remove_cached};
use crate::system::let_all_read;

/// Names in the folder of a model and in the folder of a workspace.
const MODEL: &str = "model.glb";
const LIGHT: &str = "light";
const USED: &str = "used";
const HOME: &str = "home";
/// Size limit of the light and the reduced textures of one model, in bytes.
const LIGHT_BYTES: u64 = 512 << 20;

/// The model that a job needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestedModel<'a> {
    pub(crate) id: &'a ModelId,
    /// SHA-256 of the file in lower-case hex.
    pub(crate) sha256: &'a str,
}

/// Writes a model to `file`, which is in the folder of a job, and replaces the file that an earlier try has left there.
/// Takes the model from the cache, or downloads it from the store. Checks the hash of the model in both cases.
/// Errors: an incomplete file stays in the folder of the job. If the download has filled the disk, the disk is then still full when
/// the failure of the job is reported.
pub(crate) async fn fetch_model(
    store: &Store,
    scratch: &Scratch,
    options: &WorkerOptions,
    wanted: &RequestedModel<'_>,
    file: &Path,
) -> Result<(), StoreError> {
    let kept = cached_model_path(scratch, wanted.id);
    // The file that an earlier try has left may be a hard link to the cached file, which must not be overwritten.
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    // The hard link stays valid even if another worker evicts the cached file.
    if std::fs::hard_link(&kept, file).is_ok() {
        if has_sha256(file, wanted.sha256).await? {
            touch(&kept);
            evict(scratch, options.cache_bytes).await;
            return Ok(());
        }
        tracing::warn!(model.id = %wanted.id, "the cached file of a model was changed; downloading it again");
        std::fs::remove_file(file)?;
    }
    let key = ObjectKey::Model(wanted.id);
    // Only the download fails if the store has no such object.
    let size = store.find(&key).await?.map_or(0, |found| found.size);
    make_room(scratch, options.room_bytes.saturating_add(size)).await;
    download(store, &key, file).await?;
    if !has_sha256(file, wanted.sha256).await? {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the hash of the stored file differs from the hash of the uploaded file",
        )
        .into());
    }
    // The file must be readable for all users, because jobs may run as another user.
    let_all_read(file)?;
    if let Err(error) = put_into_cache(scratch, file, &kept) {
        tracing::warn!(error = %error, "caching a model failed");
    }
    evict(scratch, options.cache_bytes).await;
    Ok(())
}

/// Links a model to its path in the cache, and replaces a file that is there.
fn put_into_cache(scratch: &Scratch, file: &Path, kept: &Path) -> io::Result<()> {
    if let Some(folder) = kept.parent() {
        std::fs::create_dir_all(folder)?;
    }
    // A new link cannot replace a file, but a link that is moved can.
    let folder = tempfile::Builder::new().prefix("model-").tempdir_in(scratch.own())?;
    let link = folder.path().join(MODEL);
    std::fs::hard_link(file, &link)?;
    std::fs::rename(&link, kept)
}

async fn has_sha256(file: &Path, wanted: &str) -> io::Result<bool> {
    let file = file.to_owned();
    let hashing = tokio::task::spawn_blocking(move || file_sha256(&file));
    let (found, _size) = hashing.await.map_err(io::Error::from)??;
    Ok(found == wanted)
}

fn cached_model_path(scratch: &Scratch, id: &ModelId) -> PathBuf {
    scratch.models().join(id.to_string()).join(MODEL)
}

/// Returns the cache folder for the light and the reduced textures of a model. Only jobs of this model can write to the folder, so a
/// hostile model cannot poison the cache of another model.
pub(crate) fn cache_folder(scratch: &Scratch, id: &ModelId) -> CacheFolder {
    CacheFolder { folder: scratch.models().join(id.to_string()).join(LIGHT), most_bytes: LIGHT_BYTES }
}

/// Returns the home folder of a workspace's jobs. Drivers cache compiled shaders in this folder and execute them later.
/// Therefore each workspace has its own home folder.
pub(crate) fn home_folder(scratch: &Scratch, workspace: &WorkspaceId) -> PathBuf {
    let own = scratch.homes().join(workspace.to_string());
    // The time of use is recorded outside of the folder that jobs can write to, because a job could replace the file by
    // a link. An error is ignored; its only effect is that the folder is evicted earlier.
    drop(std::fs::create_dir_all(&own).and_then(|()| File::create(own.join(USED))));
    own.join(HOME)
}

/// The cached models and home folders, of which the least recently used ones are deleted. The default has none.
#[derive(Clone, Debug, Default)]
pub(crate) struct CachedFolders {
    /// The folders that contain the models and the home folders.
    parents: Vec<PathBuf>,
    /// The folder of this worker.
    own: PathBuf,
}

impl CachedFolders {
    pub(crate) fn of(scratch: &Scratch) -> Self {
        let parents = vec![scratch.models().to_owned(), scratch.homes().to_owned()];
        Self { parents, own: scratch.own().to_owned() }
    }

    /// Deletes the least recently used models and home folders until the disk has `room_bytes` of free space. Deletes nothing if
    /// the free space cannot be measured. Blocks the thread.
    pub(crate) fn make_room(&self, room_bytes: u64) {
        self.clear_until(|_bytes| Ok(free_bytes(&self.own)? >= room_bytes));
    }

    /// Deletes the least recently used models and home folders until `is_enough` returns true, as [`clear`]. An error is logged.
    fn clear_until(&self, is_enough: impl Fn(u64) -> io::Result<bool>) {
        if let Err(error) = clear(&self.parents, &self.own, is_enough) {
            tracing::warn!(error = %error, "evicting cached models failed");
        }
    }
}

/// Deletes the least recently used models and home folders until the rest does not exceed the size limit.
async fn evict(scratch: &Scratch, cache_bytes: u64) {
    on_blocking_thread(scratch, move |cached| cached.clear_until(|bytes| Ok(bytes <= cache_bytes))).await;
}

/// Does the same as [`CachedFolders::make_room`] on a thread that may block.
pub(crate) async fn make_room(scratch: &Scratch, room_bytes: u64) {
    on_blocking_thread(scratch, move |cached| cached.make_room(room_bytes)).await;
}

/// Deletes the least recently used models and home folders until at most half of their bytes are left. For a disk that is full
/// although the system reports free space, for example because the disk quota of the user is exhausted.
pub(crate) async fn remove_half(scratch: &Scratch) {
    on_blocking_thread(scratch, |cached| {
        let all = Cell::new(0);
        cached.clear_until(|bytes| {
            all.set(all.get().max(bytes));
            Ok(bytes <= all.get() / 2)
        });
    })
    .await;
}

async fn on_blocking_thread(scratch: &Scratch, work: impl FnOnce(&CachedFolders) + Send + 'static) {
    let cached = CachedFolders::of(scratch);
    if let Err(error) = tokio::task::spawn_blocking(move || work(&cached)).await {
        tracing::error!(error = %error, "evicting cached models panicked");
    }
}

/// Sets the time of last use of a file to now.
fn touch(file: &Path) {
    let touched = File::open(file).and_then(|file| file.set_modified(SystemTime::now()));
    if let Err(error) = touched {
        tracing::debug!(error = %error, "a cached model was evicted in the meantime");
    }
}

/// Deletes the least recently used entries of some folders. An entry is a folder whose name is the ID of a model or a workspace,
/// and which contains only what workers put there; anything else does not count and is never deleted. Stops when `is_enough` returns true; its argument is the size of the
/// remaining entries in bytes. `own` is the folder of this worker.
/// Errors: those of `is_enough`, and a folder that cannot be read.
fn clear(folders: &[PathBuf], own: &Path, is_enough: impl Fn(u64) -> io::Result<bool>) -> io::Result<()> {
    let mut models = Vec::new();
    let entries = folders.iter().map(std::fs::read_dir).collect::<io::Result<Vec<_>>>()?;
    for entry in entries.into_iter().flatten() {
        let entry = entry?;
        let has_id = entry.file_name().to_str().is_some_and(id::is_well_formed);
        if !has_id || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let path = entry.path();
        if !is_made_by_workers(&path) {
            continue;
        }
        // Skips a path that another worker has evicted in the meantime.
        let Ok((used, size)) = used_and_size(&path) else { continue };
        models.push((used, size, path));
    }
    models.sort();
    let mut bytes: u64 = models.iter().map(|(_used, size, _path)| size).sum();
    for (_used, size, path) in models {
        if is_enough(bytes)? {
            break;
        }
        match remove_cached(&path, own) {
            Ok(()) => bytes -= size,
            Err(error) => tracing::warn!(%error, path = %path.display(), "a cached folder cannot be removed"),
        }
    }
    Ok(())
}

/// Returns whether everything in a folder has a name that workers give.
fn is_made_by_workers(folder: &Path) -> bool {
    let Ok(mut entries) = std::fs::read_dir(folder) else { return false };
    let is_given = |name: &str| [MODEL, LIGHT, USED, HOME].contains(&name) || is_left_by_removal(name);
    entries.all(|entry| entry.is_ok_and(|entry| entry.file_name().to_str().is_some_and(is_given)))
}

/// Returns the latest time of use of all files in a folder, and their total size. An empty folder counts as a file. Folders that
/// cannot be read count nothing. Keeps the folders in a list, because a job may nest them so deep that a recursive function would
/// overflow the stack.
/// Errors: `path` does not exist.
fn used_and_size(path: &Path) -> io::Result<(SystemTime, u64)> {
    let about = std::fs::symlink_metadata(path)?;
    let own = (about.modified()?, about.len());
    let (mut latest, mut bytes): (Option<SystemTime>, u64) = (None, 0);
    let mut count = |(used, size): (SystemTime, u64)| {
        latest = latest.max(Some(used));
        bytes += size;
    };
    let mut folders = vec![(path.to_owned(), own)];
    while let Some((folder, own)) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        let mut is_empty = true;
        for entry in entries.flatten() {
            let Ok(about) = entry.metadata() else { continue };
            let Ok(used) = about.modified() else { continue };
            is_empty = false;
            if about.is_dir() {
                folders.push((entry.path(), (used, about.len())));
            } else {
                count((used, about.len()));
            }
        }
        if is_empty {
            count(own);
        }
    }
    Ok(latest.map_or(own, |used| (used, bytes)))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Barrier;
    use std::time::Duration;

    use plinth_store::{LinkSigner, StoreOptions};

    use super::*;
    use crate::scratch::remove_tree;

    fn store_in(folder: &Path) -> Store {
        let store = Store::open(StoreOptions {
            address: format!("file://{}", folder.join("store").display()),
            s3: Vec::new(),
            s3_public_endpoint: None,
            signer: LinkSigner::new("http://127.0.0.1:1".parse().unwrap()),
        });
        store.unwrap()
    }

    fn options(room_bytes: u64) -> WorkerOptions {
        WorkerOptions { room_bytes, ..WorkerOptions::new(PathBuf::new(), PathBuf::new()) }
    }

    #[tokio::test]
    async fn a_failed_download_leaves_its_file_in_the_folder_of_the_job() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::open(folder.path()).unwrap();
        let store = store_in(folder.path());
        let (id, file) = (ModelId::parse("model0000000").unwrap(), folder.path().join("model.glb"));
        store.put(&ObjectKey::Model(&id), "incomplete".into()).await.unwrap();
        let wanted = RequestedModel { id: &id, sha256: "another" };
        fetch_model(&store, &scratch, &options(0), &wanted, &file).await.unwrap_err();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "incomplete");
        assert!(!cached_model_path(&scratch, &id).exists());
    }

    #[tokio::test]
    async fn cached_models_make_room_for_a_download() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::open(folder.path()).unwrap();
        let store = store_in(folder.path());
        let (id, file) = (ModelId::parse("model0000000").unwrap(), folder.path().join("model.glb"));
        store.put(&ObjectKey::Model(&id), "new".into()).await.unwrap();
        std::fs::write(&file, "new").unwrap();
        let (sha256, _size) = file_sha256(&file).unwrap();
        let wanted = RequestedModel { id: &id, sha256: &sha256 };
        for (room_bytes, is_kept) in [(0, true), (u64::MAX, false)] {
            let other = scratch.models().join("model0000001");
            std::fs::create_dir_all(&other).unwrap();
            fetch_model(&store, &scratch, &options(room_bytes), &wanted, &file).await.unwrap();
            assert_eq!(other.exists(), is_kept);
            let kept = cached_model_path(&scratch, &id);
            assert_eq!(std::fs::read_to_string(&kept).unwrap(), "new");
            std::fs::remove_file(kept).unwrap();
        }
    }

    #[tokio::test]
    async fn a_file_that_an_earlier_try_has_left_is_replaced_and_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::open(folder.path()).unwrap();
        let store = store_in(folder.path());
        let (id, other, file) = (ModelId::parse("model0000000").unwrap(), folder.path().join("other"), "model.glb");
        let file = folder.path().join(file);
        std::fs::write(&other, "another model").unwrap();
        store.put_file(&ObjectKey::Model(&id), &other).await.unwrap();
        let (sha256, _size) = file_sha256(&other).unwrap();
        std::fs::write(&other, "a cached file").unwrap();
        std::fs::hard_link(&other, &file).unwrap();
        let wanted = RequestedModel { id: &id, sha256: &sha256 };
        fetch_model(&store, &scratch, &options(0), &wanted, &file).await.unwrap();
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "a cached file");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "another model");
        // The second try finds the model in the cache.
        fetch_model(&store, &scratch, &options(0), &wanted, &file).await.unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "another model");
    }

    #[tokio::test]
    async fn cached_models_are_removed_if_the_disk_has_no_room() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::open(folder.path()).unwrap();
        let kept = scratch.models().join("model0000000");
        std::fs::create_dir(&kept).unwrap();
        make_room(&scratch, 0).await;
        assert!(kept.exists());
        make_room(&scratch, u64::MAX).await;
        assert!(!kept.exists());
    }

    #[tokio::test]
    async fn half_of_the_cached_models_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::open(folder.path()).unwrap();
        for name in ["model0000000", "model0000001", "model0000002", "model0000003"] {
            let model = scratch.models().join(name);
            std::fs::create_dir(&model).unwrap();
            std::fs::write(model.join(MODEL), [0; 5]).unwrap();
        }
        let left = || std::fs::read_dir(scratch.models()).unwrap().count();
        remove_half(&scratch).await;
        assert_eq!(left(), 2);
        remove_half(&scratch).await;
        assert_eq!(left(), 1);
        remove_half(&scratch).await;
        assert_eq!(left(), 0);
        remove_half(&scratch).await;
    }

    #[tokio::test]
    async fn cached_models_are_kept_if_the_free_space_cannot_be_measured() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::open(folder.path()).unwrap();
        let kept = scratch.models().join("model0000000");
        std::fs::create_dir(&kept).unwrap();
        std::fs::remove_dir_all(scratch.own()).unwrap();
        make_room(&scratch, u64::MAX).await;
        assert!(kept.exists());
    }

    #[test]
    fn least_recently_used_models_are_evicted_first() {
        let (folder, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let now = SystemTime::now();
        let names = ["newest000000", "newer0000000", "older0000000", "oldest000000"];
        for (age, name) in names.iter().enumerate() {
            let light = folder.path().join(name).join("light");
            std::fs::create_dir_all(&light).unwrap();
            for (later, path) in [folder.path().join(name).join("model.glb"), light.join("a")].iter().enumerate() {
                std::fs::write(path, [0; 5]).unwrap();
                let file = File::options().write(true).open(path).unwrap();
                file.set_modified(now - Duration::from_secs(1000 + 10 * age as u64 - later as u64)).unwrap();
            }
        }
        touch(&folder.path().join("oldest000000").join("light").join("a"));
        clear(&[folder.path().to_owned()], own.path(), |bytes| Ok(bytes <= 25)).unwrap();
        let mut left: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        left.sort();
        assert_eq!(left, ["newest000000", "oldest000000"]);
        assert_eq!(std::fs::read_dir(own.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_rest_of_an_interrupted_removal_is_evicted() {
        let (folder, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (home, photos) = (folder.path().join("workspace000"), folder.path().join("photographs0"));
        for made in [home.join("home"), home.join("12345678901234567890-17"), photos.join("2026-07")] {
            std::fs::create_dir_all(&made).unwrap();
            std::fs::write(made.join("a"), [0; 5]).unwrap();
        }
        clear(&[folder.path().to_owned()], own.path(), |bytes| Ok(bytes < 10)).unwrap();
        assert!(!home.exists() && photos.exists());
    }

    #[test]
    fn two_workers_that_evict_the_same_folder_evict_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let (older, newer) = (folder.path().join("workspace000"), folder.path().join("workspace001"));
        for i in 0..300 {
            std::fs::create_dir_all(older.join("home").join(i.to_string()).join("inner")).unwrap();
        }
        std::fs::write(older.join("used"), [0; 5]).unwrap();
        std::fs::create_dir(&newer).unwrap();
        let later = SystemTime::now() + Duration::from_hours(1);
        File::create(newer.join("used")).unwrap().set_modified(later).unwrap();
        let both_have_listed = Barrier::new(2);
        let evict = || {
            let own = tempfile::tempdir().unwrap();
            let was_asked = Cell::new(false);
            let is_enough = |bytes: u64| {
                if !was_asked.replace(true) {
                    both_have_listed.wait();
                }
                Ok(bytes == 0)
            };
            clear(&[folder.path().to_owned()], own.path(), is_enough).unwrap();
        };
        std::thread::scope(|scope| {
            scope.spawn(evict);
            scope.spawn(evict);
        });
        assert!(!older.exists() && newer.exists());
    }

    #[test]
    fn a_folder_that_cannot_be_moved_stays_in_the_cache() {
        let folder = tempfile::tempdir().unwrap();
        let cached = folder.path().join("model0000000");
        std::fs::create_dir(&cached).unwrap();
        std::fs::write(cached.join("model.glb"), [0; 5]).unwrap();
        let missing = folder.path().join("missing");
        assert!(remove_cached(&cached, &missing).is_err());
        assert!(cached.join("model.glb").exists());
    }

    #[test]
    fn a_deep_tree_is_measured_with_a_small_stack() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("tree");
        let mut inner = tree.clone();
        std::fs::create_dir(&inner).unwrap();
        for _ in 0..1500 {
            inner.push("d");
            std::fs::create_dir(&inner).unwrap();
        }
        let used = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        std::fs::write(inner.join("a"), [0; 7]).unwrap();
        File::options().write(true).open(inner.join("a")).unwrap().set_modified(used).unwrap();
        let measuring = std::thread::Builder::new().stack_size(256 << 10);
        let found = measuring
            .spawn({
                let tree = tree.clone();
                move || used_and_size(&tree)
            })
            .unwrap()
            .join()
            .unwrap()
            .unwrap();
        assert_eq!(found, (used, 7), "folders that contain something do not count themselves");
        remove_tree(&tree).unwrap();
    }

    #[test]
    fn other_files_beside_cached_models_do_not_count_and_are_kept() {
        let (folder, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (cached, elsewhere) = (folder.path().join("model0000000"), folder.path().join("elsewhere"));
        for made in [&cached, &elsewhere] {
            std::fs::create_dir(made).unwrap();
            std::fs::write(made.join("model.glb"), [0; 5]).unwrap();
        }
        let (file, link) = (folder.path().join("model0000001"), folder.path().join("model0000002"));
        std::fs::write(&file, [0; 5]).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
        let drawings = folder.path().join("architecture");
        std::fs::create_dir(&drawings).unwrap();
        std::fs::write(drawings.join("house.dwg"), [0; 5]).unwrap();
        clear(&[folder.path().to_owned()], own.path(), |bytes| Ok(bytes <= 5)).unwrap();
        assert!(cached.exists());
        clear(&[folder.path().to_owned()], own.path(), |_bytes| Ok(false)).unwrap();
        assert!(!cached.exists() && file.exists() && link.join("model.glb").exists());
        assert!(drawings.join("house.dwg").exists(), "its name could be an ID");
    }
}
