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
    for (file, place) in files {
        if stored.get(*file).is_none() {
            let key = ObjectKey::Render(&claim.render.id, claim.render.attempt, *file, stored.codec);
            let path = file_in(folder, place)?;
            let put = retry_store(node.options.outage, "a finished file", || store.put_file(&key, &path)).await?;
            stored.stored.insert(*file, put.into());
        }
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
    let is_list = |name: &String| Path::new(name).extension().is_some_and(|kind| kind == "m3u8");
    let (lists, media): (Vec<String>, Vec<String>) = names.iter().cloned().partition(is_list);
    let (masters, lists): (Vec<String>, Vec<String>) = lists.into_iter().partition(|name| !name.contains('/'));
    let mut bytes = 0;
    for names in [media, lists, masters] {
        let puts = names.into_iter().map(|name| async move {
            let render = &claim.render;
            let attempt = render.files_attempt.unwrap_or(render.attempt);
            let key = ObjectKey::Hls(&render.id, attempt, render.hls_attempt, &name);
            let path = file_in(folder, Path::new(&name))?;
            let put = retry_store(node.options.outage, "a packaged file", || store.put_file(&key, &path)).await?;
            Ok::<_, StoreError>(put.size)
        });
        let puts = stream::iter(puts).buffer_unordered(AT_ONCE);
        bytes += puts.try_fold(0, async |sum, size| Ok(sum + size)).await?;
    }
    Ok(bytes)
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
