//! Uploads the files of a job to the store.

use std::io;
use std::path::{Component, Path, PathBuf};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use plinth_service::jobs::{Claim, RenderFiles};
use plinth_spec::OutputPaths;
use plinth_store::{ObjectKey, StoreError};

use crate::node::Node;
use crate::outage::retry_store;

/// Maximum number of concurrent uploads.
const AT_ONCE: usize = 8;

/// Uploads the files of a render that are not yet in `stored`. Their keys contain the attempt number of the claim.
pub(crate) async fn upload_render(
    node: &Node,
    folder: &Path,
    claim: &Claim,
    files: &OutputPaths,
    stored: &mut RenderFiles,
) -> Result<(), StoreError> {
    let store = node.service.store();
    let missing = files.iter().filter(|(file, _place)| stored.get(**file).is_none());
    let places = missing.map(|(file, place)| (*file, place.as_path()));
    for CheckedFile { key: file, path, size } in files_in(folder, places, node.options.disk_bytes)? {
        let key = ObjectKey::Render(&claim.render.id, claim.render.attempt, file, stored.codec);
        let put = || store.put_file_of_size(&key, &path, size);
        stored.stored.insert(file, retry_store(node.options.outage, "a finished file", put).await?.into());
    }
    Ok(())
}

/// Uploads the files of a packaging. Their keys contain the attempt numbers of the claim. A playlist is uploaded after
/// the files that it references. Returns the size of all files, in bytes.
pub(crate) async fn upload_package(
    node: &Node,
    folder: &Path,
    claim: &Claim,
    names: &[String],
) -> Result<u64, StoreError> {
    let store = node.service.store();
    let places = names.iter().map(|name| (name.clone(), Path::new(name)));
    let files = files_in(folder, places, node.options.disk_bytes)?;
    let (lists, media): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|file| Path::new(&file.key).extension().is_some_and(|kind| kind == "m3u8"));
    let (masters, lists): (Vec<_>, Vec<_>) = lists.into_iter().partition(|file| !file.key.contains('/'));
    let mut bytes = 0;
    for files in [media, lists, masters] {
        let puts = files.into_iter().map(|CheckedFile { key: name, path, size }| async move {
            let render = &claim.render;
            let attempt = render.files_attempt.unwrap_or(render.attempt);
            let key = ObjectKey::Hls(&render.id, attempt, render.hls_attempt, &name);
            let put = || store.put_file_of_size(&key, &path, size);
            let stored = retry_store(node.options.outage, "a packaged file", put).await?;
            Ok::<_, StoreError>(stored.size)
        });
        let puts = stream::iter(puts).buffer_unordered(AT_ONCE);
        bytes += puts.try_fold(0, async |sum, size| Ok(sum + size)).await?;
    }
    Ok(bytes)
}

/// An output file of a job, which was checked before its upload.
#[derive(Debug)]
struct CheckedFile<K> {
    /// Says which file this is.
    key: K,
    path: PathBuf,
    /// Size in bytes. A process of the job may still change the file.
    size: u64,
}

/// Returns a job's output files in `folder`, as [`file_in`]. Their sizes together must not exceed `most_bytes`: a sparse file
/// uses little of a job's disk space, but is stored as a file of its full size.
fn files_in<'a, K>(
    folder: &Path,
    places: impl Iterator<Item = (K, &'a Path)>,
    most_bytes: u64,
) -> io::Result<Vec<CheckedFile<K>>> {
    let mut bytes = 0_u64;
    let checked = places.map(|(key, place)| {
        let path = file_in(folder, place)?;
        let size = path.metadata()?.len();
        bytes = bytes.saturating_add(size);
        if bytes > most_bytes {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the job's output files are larger than its disk limit",
            ));
        }
        Ok(CheckedFile { key, path, size })
    });
    checked.collect()
}

/// Returns the path of a job's output file in `folder`. Jobs are not trusted, so this function returns an error for names
/// and links that lead out of the folder, and for everything that is not a regular file.
fn file_in(folder: &Path, name: &Path) -> io::Result<PathBuf> {
    let rejected = |problem| Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    if !name.components().all(|part| matches!(part, Component::Normal(_))) {
        return rejected("the job names a file outside of its folder");
    }
    let path = folder.canonicalize()?.join(name);
    if path.canonicalize()? != path || !path.is_file() {
        return rejected("an output of the job is not a regular file");
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_outputs_count_with_their_full_size() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["a", "b"].map(Path::new);
        for name in names {
            std::fs::File::create(folder.path().join(name)).unwrap().set_len(1 << 40).unwrap();
        }
        let found = |most| files_in(folder.path(), names.into_iter().map(|name| (name, name)), most);
        let sizes: Vec<u64> = found(2 << 40).unwrap().into_iter().map(|file| file.size).collect();
        assert_eq!(sizes, [1 << 40; 2]);
        assert_eq!(found((2 << 40) - 1).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn names_outside_the_folder_are_rejected() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path("540p")).unwrap();
        std::fs::write(path("540p/0.m4s"), "").unwrap();
        std::fs::write(other.path().join("secret"), "").unwrap();
        std::os::unix::fs::symlink(other.path().join("secret"), path("link")).unwrap();
        std::os::unix::fs::symlink(other.path(), path("folder")).unwrap();
        let there = file_in(folder.path(), Path::new("540p/0.m4s")).unwrap();
        assert_eq!(there, folder.path().canonicalize().unwrap().join("540p/0.m4s"));
        for name in ["../secret", "/etc/passwd", "540p/../540p/0.m4s", ".", "540p", "link", "folder/secret", "missing"]
        {
            assert!(file_in(folder.path(), Path::new(name)).is_err(), "{name}");
        }
    }
}
