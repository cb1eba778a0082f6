//! Listing what is stored.

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;

use crate::Result;
use crate::error::StoreError;
use crate::open::Store;

/// An object of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Where it lies, as [`ObjectKey::path`](crate::ObjectKey::path) says it.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// When it was put, in milliseconds since 1970.
    pub modified_at_ms: i64,
}

impl Store {
    /// Everything under a folder, in no order; empty text: everything.
    /// Errors: a folder that no object can lie in.
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
                // It was removed meanwhile.
                Err(object_store::Error::NotFound { .. }) => None,
                Err(error) => Some(Err(StoreError::from(error))),
            };
            std::future::ready(listed)
        });
        Ok(listed.boxed())
    }
}
