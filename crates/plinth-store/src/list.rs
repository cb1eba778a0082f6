//! Lists stored objects.

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;

use crate::Result;
use crate::error::StoreError;
use crate::open::Store;

/// An object in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Path of the object, as returned by [`ObjectKey::path`](crate::ObjectKey::path).
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// Time of the last write, in milliseconds since 1970.
    pub modified_at_ms: i64,
}

impl Store {
    /// Lists all objects below a folder, in no particular order. If `folder` is empty, lists the whole store.
    /// Errors: if `folder` is not a valid path.
    pub fn list(&self, folder: &str) -> Result<BoxStream<'static, Result<Listed>>> {
        let root = self.path_of("")?;
        let found = self.objects.list(Some(&self.path_of(folder.trim_end_matches('/'))?));
        let listed = found.filter_map(move |found| {
            let listed = match found {
                Ok(meta) => {
                    let parts: Option<Vec<_>> = meta.location.prefix_match(&root).map(Iterator::collect);
                    parts.map(|parts| {
                        let path = parts.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join("/");
                        Ok(Listed { path, size: meta.size, modified_at_ms: meta.last_modified.timestamp_millis() })
                    })
                }
                // The object was deleted while the objects were listed.
                Err(object_store::Error::NotFound { .. }) => None,
                Err(error) => Some(Err(StoreError::from(error))),
            };
            std::future::ready(listed)
        });
        Ok(listed.boxed())
    }
}
