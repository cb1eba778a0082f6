//! Comparing what lies in the store with what rows name.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};

use futures_util::StreamExt as _;
use plinth_db::garbage;
use plinth_db::naming::{self, Kind};
use plinth_store::Listed;

use super::named::{Named, naming_row};
use crate::error::{Result, ServiceError};
use crate::service::Service;
use crate::write::UNNAMED_MS;

/// An upload may take this long, so a younger object that no row names yet may get its row.
const SAFETY_MS: i64 = UNNAMED_MS;
/// Rows that are read in one go, and marks that are made in one.
const AT_ONCE: u32 = 500;

/// Something that does not agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// An object that no row names and that nothing will remove.
    Orphan {
        /// Where it lies.
        path: String,
        /// Bytes.
        size: u64,
    },
    /// An object that a row names and that is not there.
    Gone {
        /// Where it should lie.
        path: String,
    },
}

/// What was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Objects of the store.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Objects that no row names, but that are too young to tell.
    pub young: u64,
    /// Objects that are not the service's own, but lie in the same bucket or folder: they are left alone.
    pub foreign: u64,
    /// Rows that name objects.
    pub rows: u64,
}

/// What the list of the store came to.
#[derive(Default)]
struct Listing {
    checked: Checked,
    /// Objects that a row names.
    named: u64,
    /// Paths of objects that no row names and that nothing will remove.
    orphans: Vec<String>,
    /// Hashes of all paths: a million objects take some 20 MB.
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
    /// Compares store and rows. `found` is told each thing that does not agree, at once. With `repair`, objects that no row
    /// names are marked for removal. Rows whose objects are gone stay as they are: they are somebody's, and a backup may
    /// have the objects.
    /// Errors: with `repair`, no row names any object of the store, as when the database is not the one of this store.
    pub async fn check_storage(&self, repair: bool, found: &mut (dyn FnMut(Finding) + Send)) -> Result<Checked> {
        let mut listed = Listing::default();
        self.find_orphans(&mut listed, found).await?;
        if repair && !listed.orphans.is_empty() {
            if listed.named == 0 {
                let words = "nothing was marked for removal: no row names any file of the store, so this may be the database \
                             of another installation";
                return Err(ServiceError::bad_request(words));
            }
            for paths in listed.orphans.chunks(AT_ONCE as usize) {
                self.mark_orphans(paths.to_vec()).await?;
            }
        }
        self.find_gone(&mut listed, found).await?;
        Ok(listed.checked)
    }

    async fn find_orphans(&self, listed: &mut Listing, found: &mut (dyn FnMut(Finding) + Send)) -> Result<()> {
        // Whatever is put has its mark before. Objects older than the safety age were put before this list was read.
        let marks: HashSet<String> = garbage::list(&mut self.db.read().await?).await?.into_iter().collect();
        let now = self.options.clock.now_ms(&mut self.db.read().await?).await?;
        let mut objects = self.store.list("")?;
        let mut last: Option<((Kind, String), Named)> = None;
        while let Some(object) = objects.next().await {
            let Listed { path, size, modified_at_ms } = object?;
            listed.checked.objects += 1;
            listed.checked.bytes += size;
            listed.add(&path);
            let Some(row) = naming_row(&path) else {
                listed.checked.foreign += 1;
                continue;
            };
            if self.is_named(&path, row, &mut last).await? {
                listed.named += 1;
            } else if modified_at_ms > now - SAFETY_MS {
                listed.checked.young += u64::from(!is_marked(&marks, &path));
            } else if !is_marked(&marks, &path) {
                listed.orphans.push(path.clone());
                found(Finding::Orphan { path, size });
            }
        }
        Ok(())
    }

    /// Whether a row names an object. `last` keeps the row that was looked at: its objects follow each other.
    async fn is_named(
        &self,
        path: &str,
        (kind, id): (Kind, &str),
        last: &mut Option<((Kind, String), Named)>,
    ) -> Result<bool> {
        if let Some((row, named)) = last
            && *row == (kind, id.to_owned())
            && named.has(path)
        {
            return Ok(true);
        }
        let row = naming::find(&mut self.db.read().await?, kind, id).await?;
        let named = row.as_ref().map(Named::by).transpose()?.unwrap_or_default();
        let is_named = named.has(path);
        *last = Some(((kind, id.to_owned()), named));
        Ok(is_named)
    }

    /// Marks objects for removal, but for those that a row names by now.
    async fn mark_orphans(&self, paths: Vec<String>) -> Result<()> {
        let marking = self.write_at(move |tx, now| {
            Box::pin(async move {
                for path in paths {
                    let Some((kind, id)) = naming_row(&path) else { continue };
                    let row = naming::find(tx, kind, id).await?;
                    let named = row.as_ref().map(Named::by).transpose()?.unwrap_or_default();
                    if !named.has(&path) {
                        garbage::insert(tx, &path, now).await?;
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
                let rows = naming::page(&mut self.db.read().await?, kind, &after, AT_ONCE).await?;
                let Some(last) = rows.last() else { break };
                last.id().clone_into(&mut after);
                for row in &rows {
                    listed.checked.rows += 1;
                    for path in Named::by(row)?.required {
                        // What was put after the list was made is looked for by its name.
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

    /// Its row may have been deleted, and then its object, since the row was read.
    async fn is_still_named(&self, kind: Kind, id: &str, path: &str) -> Result<bool> {
        let row = naming::find(&mut self.db.read().await?, kind, id).await?;
        let named = row.as_ref().map(Named::by).transpose()?.unwrap_or_default();
        Ok(named.required.iter().any(|named| named == path))
    }
}

/// Whether an object is removed anyway: it, or a folder that it lies in, has a mark.
fn is_marked(marks: &HashSet<String>, path: &str) -> bool {
    let folders = path.match_indices('/').filter_map(|(at, _)| path.get(..=at));
    marks.contains(path) || folders.into_iter().any(|folder| marks.contains(folder))
}
