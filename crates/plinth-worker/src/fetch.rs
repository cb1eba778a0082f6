//! Downloads from the store.

use std::path::Path;

use futures_util::TryStreamExt as _;
use plinth_store::{ObjectKey, Store, StoreError};
use tokio::io::AsyncWriteExt as _;

/// Downloads an object to a file.
pub(crate) async fn download(store: &Store, key: &ObjectKey<'_>, file: &Path) -> Result<(), StoreError> {
    let mut content = store.read(key, None).await?;
    let mut writer = tokio::fs::File::create(file).await?;
    while let Some(piece) = content.try_next().await? {
        writer.write_all(&piece).await?;
    }
    writer.sync_all().await?;
    Ok(())
}
