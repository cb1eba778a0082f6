//! Compares the objects in the store with the objects that database rows reference.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};

use futures_util::StreamExt as _;
use plinth_db::referencing_rows::{self, Kind};
use plinth_db::unreferenced_objects;
use plinth_store::{Listed, ObjectKey};

use super::references::{References, referencing_row};
use crate::error::{Result, ServiceError};
use crate::service::Service;
use crate::write::UNREFERENCED_MS;

/// Maximum duration of an upload, in milliseconds. An unreferenced object that is younger may belong to an upload in
/// progress.
const SAFETY_MS: i64 = UNREFERENCED_MS;
/// Maximum number of rows per query, and of scheduled deletions per transaction.
const AT_ONCE: u32 = 500;

/// An inconsistency between the store and the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// An object that no row references and that is not scheduled for deletion.
    Orphan { path: String, size: u64 },
    /// An object that a row references and that does not exist.
    Gone {
        /// Expected path of the object.
        path: String,
    },
}

/// Totals of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Number of objects in the store.
    pub objects: u64,
    /// Total size of the objects, in bytes.
    pub bytes: u64,
    /// Number of unreferenced objects that may belong to an upload in progress.
    pub young: u64,
    /// Number of objects in the same bucket or folder that this service did not create. A repair does not delete them.
    pub foreign: u64,
    /// Number of rows that reference objects.
    pub rows: u64,
}

/// Result of listing all objects of the store.
#[derive(Default)]
struct Listing {
    checked: Checked,
    /// Number of objects that a row references.
    referenced: u64,
    /// Paths of objects that no row references and that are not scheduled for deletion.
    orphans: Vec<String>,
    /// Hashes of the paths of all objects. The hashes of a million objects need about 20 MB.
    paths: HashSet<u64>,
    hasher: RandomState,
}

impl Listing {
    fn add(&mut self, path: &str) {
        self.paths.insert(self.hasher.hash_one(path));
    }

    fn has(&self, path: &str) -> bool {
        self.paths.contains(&self.hasher.hash_one(path))
    }
}

impl Service {
    /// Compares the store with the database, and calls `found` for each inconsistency immediately. With `repair`,
    /// schedules unreferenced objects for deletion. Keeps rows whose objects are missing, because a backup may contain
    /// the objects.
    /// Errors: `repair` is set and no row references any object of the store. This suggests that the database belongs
    /// to another store.
    pub async fn check_storage(&self, repair: bool, found: &mut (dyn FnMut(Finding) + Send)) -> Result<Checked> {
        let mut listed = Listing::default();
        self.find_orphans(&mut listed, found).await?;
        if repair && !listed.orphans.is_empty() {
            if listed.referenced == 0 {
                let message = "nothing was marked for removal: no row references any file of the store, so this may be the database \
                             of another installation";
                return Err(ServiceError::bad_request(message));
            }
            for paths in listed.orphans.chunks(AT_ONCE as usize) {
                self.mark_orphans(paths.to_vec()).await?;
            }
        }
        self.find_gone(&mut listed, found).await?;
        Ok(listed.checked)
    }

    async fn find_orphans(&self, listed: &mut Listing, found: &mut (dyn FnMut(Finding) + Send)) -> Result<()> {
        // An upload schedules its prefix for deletion before it stores objects. Objects older than `SAFETY_MS` were
        // stored before this query, so the result of this query contains their prefixes.
        let marks: HashSet<String> =
            unreferenced_objects::list(&mut self.db.read().await?).await?.into_iter().collect();
        let now = self.options.clock.read_ms(&self.db).await?;
        let mut objects = self.store.list("")?;
        let mut last: Option<((Kind, String), References)> = None;
        while let Some(object) = objects.next().await {
            let Listed { path, size, modified_at_ms } = object?;
            listed.checked.objects += 1;
            listed.checked.bytes += size;
            listed.add(&path);
            if path == ObjectKey::StoreId.path() {
                continue;
            }
            let Some(row) = referencing_row(&path) else {
                listed.checked.foreign += 1;
                continue;
            };
            if self.is_referenced(&path, row, &mut last).await? {
                listed.referenced += 1;
            } else if modified_at_ms > now - SAFETY_MS {
                listed.checked.young += u64::from(!is_marked(&marks, &path));
            } else if !is_marked(&marks, &path) {
                listed.orphans.push(path.clone());
                found(Finding::Orphan { path, size });
            }
        }
        Ok(())
    }

    /// Returns whether a row references an object. `last` caches the row, because the listing returns the objects of a
    /// row one after another.
    async fn is_referenced(
        &self,
        path: &str,
        (kind, id): (Kind, &str),
        last: &mut Option<((Kind, String), References)>,
    ) -> Result<bool> {
        if let Some((row, references)) = last
            && *row == (kind, id.to_owned())
            && references.has(path)
        {
            return Ok(true);
        }
        let row = referencing_rows::find(&mut self.db.read().await?, kind, id).await?;
        let references = row.as_ref().map(References::of).transpose()?.unwrap_or_default();
        let is_referenced = references.has(path);
        *last = Some(((kind, id.to_owned()), references));
        Ok(is_referenced)
    }

    /// Schedules objects for deletion, except objects that a row references in the meantime.
    async fn mark_orphans(&self, paths: Vec<String>) -> Result<()> {
        let marking = self.write_at(move |tx, now| {
            Box::pin(async move {
                for path in paths {
                    let Some((kind, id)) = referencing_row(&path) else { continue };
                    let row = referencing_rows::find(tx, kind, id).await?;
                    let references = row.as_ref().map(References::of).transpose()?.unwrap_or_default();
                    if !references.has(&path) {
                        unreferenced_objects::insert(tx, &path, now).await?;
                    }
                }
                Ok::<_, ServiceError>(())
            })
        });
        marking.await
    }

    async fn find_gone(&self, listed: &mut Listing, found: &mut (dyn FnMut(Finding) + Send)) -> Result<()> {
        for kind in Kind::ALL {
            let mut after = String::new();
            loop {
                let rows = referencing_rows::page(&mut self.db.read().await?, kind, &after, AT_ONCE).await?;
                let Some(last) = rows.last() else { break };
                last.id().clone_into(&mut after);
                for row in &rows {
                    listed.checked.rows += 1;
                    for path in References::of(row)?.required {
                        // An object that was stored after the listing is looked up in the store.
                        let is_there = listed.has(&path) || self.store.find_path(&path).await?.is_some();
                        if !is_there && self.is_still_named(kind, row.id(), &path).await? {
                            found(Finding::Gone { path });
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads a row again and returns whether it still references an object. The row may have been changed or deleted
    /// since the first read.
    async fn is_still_named(&self, kind: Kind, id: &str, path: &str) -> Result<bool> {
        let row = referencing_rows::find(&mut self.db.read().await?, kind, id).await?;
        let references = row.as_ref().map(References::of).transpose()?.unwrap_or_default();
        Ok(references.required.iter().any(|reference| reference == path))
    }
}

/// Returns whether an object, or a folder that contains it, is scheduled for deletion.
fn is_marked(marks: &HashSet<String>, path: &str) -> bool {
    let folders = path.match_indices('/').filter_map(|(at, _)| path.get(..=at));
    marks.contains(path) || folders.into_iter().any(|folder| marks.contains(folder))
}
