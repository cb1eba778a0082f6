//! Models that are kept on this machine, because the next render often shows the same one.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use plinth_pipeline::child::CacheFolder;
use plinth_spec::id::ModelId;
use plinth_store::{ObjectKey, Store, StoreError};

use crate::fetch::download;
use crate::scratch::Scratch;

/// What jobs of one model may keep of what they work out, in bytes.
const LIGHT_BYTES: u64 = 512 << 20;

/// Puts a model's file into a job's folder: from those that are kept, or from the store.
pub(crate) async fn fetch_model(
    store: &Store,
    scratch: &Scratch,
    keep_bytes: u64,
    id: &ModelId,
    file: &Path,
) -> Result<(), StoreError> {
    let kept = kept_model(scratch, id);
    // A model never changes. A link holds it even when it is cleared away meanwhile.
    if std::fs::hard_link(&kept, file).is_ok() {
        touch(&kept);
        clear_models(scratch, keep_bytes).await;
        return Ok(());
    }
    let arriving = tempfile::Builder::new().prefix("model-").tempfile_in(scratch.own())?.into_temp_path();
    download(store, &ObjectKey::Model(id), &arriving).await?;
    if std::fs::hard_link(&arriving, file).is_err() {
        tokio::fs::copy(&arriving, file).await?;
    }
    let made = kept.parent().map_or(Ok(()), std::fs::create_dir_all);
    if let Err(error) = made.and_then(|()| arriving.persist(&kept).map_err(|error| error.error)) {
        tracing::warn!(error = %error, "a model cannot be kept for further renders");
    }
    clear_models(scratch, keep_bytes).await;
    Ok(())
}

/// Where a model is kept, in a folder of its own.
fn kept_model(scratch: &Scratch, id: &ModelId) -> PathBuf {
    scratch.models().join(id.to_string()).join("model.glb")
}

/// Where jobs of a model keep what they work out for it. Only they write there, so that no model's jobs can give another's
/// something wrong.
pub(crate) fn cache_folder(scratch: &Scratch, id: &ModelId) -> CacheFolder {
    CacheFolder { folder: scratch.models().join(id.to_string()).join("light"), most_bytes: LIGHT_BYTES }
}

/// Removes the models that were not used for longest, with all that is kept of them, until the others fit.
async fn clear_models(scratch: &Scratch, keep_bytes: u64) {
    let folder = scratch.models().to_owned();
    let cleared = tokio::task::spawn_blocking(move || clear(&folder, keep_bytes)).await;
    if let Ok(Err(error)) = cleared {
        tracing::warn!(error = %error, "kept models cannot be cleared away");
    }
}

/// Notes that a file was used now.
fn touch(file: &Path) {
    let touched = std::fs::File::options().write(true).open(file).and_then(|f| f.set_modified(SystemTime::now()));
    if let Err(error) = touched {
        tracing::debug!(error = %error, "a kept model was cleared away meanwhile");
    }
}

fn clear(folder: &Path, keep_bytes: u64) -> io::Result<()> {
    let mut models = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        // Another worker may clear away at the same time.
        let Ok((used, size)) = used_and_size(&path) else { continue };
        models.push((used, size, path));
    }
    models.sort();
    let mut bytes: u64 = models.iter().map(|(_used, size, _path)| size).sum();
    for (_used, size, path) in models {
        if bytes <= keep_bytes {
            break;
        }
        drop(if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) });
        bytes -= size;
    }
    Ok(())
}

/// When any file of a folder was last used, and the size of all of them.
fn used_and_size(path: &Path) -> io::Result<(SystemTime, u64)> {
    let about = std::fs::symlink_metadata(path)?;
    let own = (about.modified()?, about.len());
    if !about.is_dir() {
        return Ok(own);
    }
    let inside = std::fs::read_dir(path)?.flatten().filter_map(|entry| used_and_size(&entry.path()).ok());
    Ok(inside.reduce(|a, b| (a.0.max(b.0), a.1 + b.1)).unwrap_or(own))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        for (age, name) in ["newest", "newer", "older", "oldest"].iter().enumerate() {
            let light = folder.path().join(name).join("light");
            std::fs::create_dir_all(&light).unwrap();
            for (later, path) in [folder.path().join(name).join("model.glb"), light.join("a")].iter().enumerate() {
                std::fs::write(path, [0; 5]).unwrap();
                let file = std::fs::File::options().write(true).open(path).unwrap();
                file.set_modified(now - Duration::from_secs(1000 + 10 * age as u64 - later as u64)).unwrap();
            }
        }
        touch(&folder.path().join("oldest").join("light").join("a"));
        clear(folder.path(), 25).unwrap();
        let mut left: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        left.sort();
        assert_eq!(left, ["newest", "oldest"]);
    }
}
