//! Models that are kept on this machine, because the next render often shows the same one.

use std::io;
use std::path::Path;
use std::time::SystemTime;

use plinth_spec::id::ModelId;
use plinth_store::{ObjectKey, Store, StoreError};

use crate::fetch::download;
use crate::scratch::Scratch;

/// Puts a model's file into a job's folder: from those that are kept, or from the store.
pub(crate) async fn fetch_model(
    store: &Store,
    scratch: &Scratch,
    keep_bytes: u64,
    id: &ModelId,
    file: &Path,
) -> Result<(), StoreError> {
    let name = format!("{id}.glb");
    let kept = scratch.models().join(&name);
    // A model never changes. A link holds it even when it is cleared away meanwhile.
    if std::fs::hard_link(&kept, file).is_ok() {
        touch(&kept);
        return Ok(());
    }
    let arriving = tempfile::Builder::new().prefix(&name).tempfile_in(scratch.own())?.into_temp_path();
    download(store, &ObjectKey::Model(id), &arriving).await?;
    if std::fs::hard_link(&arriving, file).is_err() {
        tokio::fs::copy(&arriving, file).await?;
    }
    if let Err(error) = arriving.persist(&kept) {
        tracing::warn!(error = %error.error, "a model cannot be kept for further renders");
    }
    let folder = scratch.models().to_owned();
    let cleared = tokio::task::spawn_blocking(move || clear(&folder, keep_bytes)).await;
    if let Ok(Err(error)) = cleared {
        tracing::warn!(error = %error, "kept models cannot be cleared away");
    }
    Ok(())
}

/// Notes that a file was used now.
fn touch(file: &Path) {
    let touched = std::fs::File::options().write(true).open(file).and_then(|f| f.set_modified(SystemTime::now()));
    if let Err(error) = touched {
        tracing::debug!(error = %error, "a kept model was cleared away meanwhile");
    }
}

/// Removes the files that were not used for longest until the others fit.
fn clear(folder: &Path, keep_bytes: u64) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        // Another worker may clear away at the same time.
        let Ok(about) = entry.metadata() else { continue };
        files.push((about.modified()?, about.len(), entry.path()));
    }
    files.sort();
    let mut bytes: u64 = files.iter().map(|(_used, size, _path)| size).sum();
    for (_used, size, path) in files {
        if bytes <= keep_bytes {
            break;
        }
        drop(std::fs::remove_file(path));
        bytes -= size;
    }
    Ok(())
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
            let path = folder.path().join(name);
            std::fs::write(&path, [0; 10]).unwrap();
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(now - Duration::from_secs(1000 + age as u64)).unwrap();
        }
        touch(&folder.path().join("oldest"));
        clear(folder.path(), 25).unwrap();
        let mut left: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        left.sort();
        assert_eq!(left, ["newest", "oldest"]);
    }
}
