//! Files of a job become objects.

use std::path::{Component, Path, PathBuf};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use plinth_service::jobs::{Claim, RenderFiles};
use plinth_spec::OutputPaths;
use plinth_store::{ObjectKey, Store, StoreError};

/// Small files that are on their way at once.
const AT_ONCE: usize = 8;

/// Stores those files of a render under the claim's attempt that are not stored yet.
pub(crate) async fn upload_render(
    store: &Store,
    folder: &Path,
    claim: &Claim,
    files: &OutputPaths,
    stored: &mut RenderFiles,
) -> Result<(), StoreError> {
    for (file, place) in files {
        if stored.get(*file).is_none() {
            let key = ObjectKey::Render(&claim.render.id, claim.render.attempt, *file, stored.codec);
            let put = store.put_file(&key, &folder.join(place)).await?;
            stored.stored.insert(*file, put.into());
        }
    }
    Ok(())
}

/// Stores files of a packaging under the claim's attempts, those that name others last.
pub(crate) async fn upload_package(
    store: &Store,
    folder: &Path,
    claim: &Claim,
    names: &[String],
) -> Result<(), StoreError> {
    let is_list = |name: &String| Path::new(name).extension().is_some_and(|kind| kind == "m3u8");
    let (lists, media): (Vec<String>, Vec<String>) = names.iter().cloned().partition(is_list);
    let (masters, lists): (Vec<String>, Vec<String>) = lists.into_iter().partition(|name| !name.contains('/'));
    for names in [media, lists, masters] {
        let puts = names.into_iter().map(|name| async move {
            let render = &claim.render;
            let attempt = render.files_attempt.unwrap_or(render.attempt);
            let key = ObjectKey::Hls(&render.id, attempt, render.hls_attempt, &name);
            store.put_file(&key, &file_in(folder, &name)?).await.map(drop)
        });
        stream::iter(puts).buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    }
    Ok(())
}

/// A file in a folder. A name that leads out of it is refused: it comes from a job.
fn file_in(folder: &Path, name: &str) -> std::io::Result<PathBuf> {
    let is_inside = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    if is_inside { Ok(folder.join(name)) } else { Err(std::io::ErrorKind::InvalidInput.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out_of_the_folder() {
        let folder = Path::new("job");
        assert_eq!(file_in(folder, "540p/0.m4s").unwrap(), Path::new("job/540p/0.m4s"));
        for name in ["../secret", "/etc/passwd", "a/../../b", "."] {
            assert!(file_in(folder, name).is_err(), "{name}");
        }
    }
}
