//! Comparing what lies in the store with what rows name.

use std::collections::HashSet;

use futures_util::StreamExt as _;
use plinth_db::garbage;
use plinth_db::naming::{self, Kind};
use plinth_store::Listed;

use super::named::{Named, naming_row};
use crate::error::{Result, ServiceError};
use crate::service::Service;

/// Younger objects that no row names may belong to something that is under way.
const SAFETY_MS: i64 = 24 * 3600 * 1000;
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
    /// Rows that name objects.
    pub rows: u64,
}

impl Service {
    /// Compares store and rows. `found` is told each thing that does not agree, at once. With `repair`, objects that no row
    /// names are marked for removal. Rows whose objects are gone stay as they are: they are somebody's, and a backup may
    /// have the objects.
    pub async fn check_storage(&self, repair: bool, found: &mut (dyn FnMut(Finding) + Send)) -> Result<Checked> {
        let mut checked = Checked::default();
        self.find_orphans(repair, &mut checked, found).await?;
        self.find_gone(&mut checked, found).await?;
        Ok(checked)
    }

    async fn find_orphans(
        &self,
        repair: bool,
        checked: &mut Checked,
        found: &mut (dyn FnMut(Finding) + Send),
    ) -> Result<()> {
        // Whatever is put has its mark before. Objects older than the safety age were put before this list was read.
        let marks: HashSet<String> = garbage::list(&mut self.db.read().await?).await?.into_iter().collect();
        let now = self.options.clock.now_ms(&mut self.db.read().await?).await?;
        let mut objects = self.store.list("")?;
        let mut last: Option<((Kind, String), Named)> = None;
        let mut unmarked = Vec::new();
        while let Some(object) = objects.next().await {
            let Listed { path, size, modified_at_ms } = object?;
            checked.objects += 1;
            checked.bytes += size;
            if is_marked(&marks, &path) || self.is_named(&path, &mut last).await? {
                continue;
            }
            if modified_at_ms > now - SAFETY_MS {
                checked.young += 1;
                continue;
            }
            if repair {
                unmarked.push(path.clone());
                if unmarked.len() >= AT_ONCE as usize {
                    self.mark(std::mem::take(&mut unmarked)).await?;
                }
            }
            found(Finding::Orphan { path, size });
        }
        self.mark(unmarked).await
    }

    /// Whether a row names an object. `last` keeps the row that was looked at: its objects follow each other.
    async fn is_named(&self, path: &str, last: &mut Option<((Kind, String), Named)>) -> Result<bool> {
        let Some((kind, id)) = naming_row(path) else { return Ok(false) };
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

    async fn mark(&self, paths: Vec<String>) -> Result<()> {
        let marking = self.write_at(move |tx, now| {
            Box::pin(async move {
                for path in paths {
                    garbage::insert(tx, &path, now).await?;
                }
                Ok::<_, ServiceError>(())
            })
        });
        marking.await
    }

    async fn find_gone(&self, checked: &mut Checked, found: &mut (dyn FnMut(Finding) + Send)) -> Result<()> {
        for kind in Kind::ALL {
            let mut after = String::new();
            loop {
                let rows = naming::page(&mut self.db.read().await?, kind, &after, AT_ONCE).await?;
                let Some(last) = rows.last() else { break };
                last.id().clone_into(&mut after);
                for row in &rows {
                    checked.rows += 1;
                    for path in Named::by(row)?.required {
                        if !self.is_there(&path).await? && self.is_still_named(kind, row.id(), &path).await? {
                            found(Finding::Gone { path });
                        }
                    }
                }
            }
        }
        Ok(())
    }

    async fn is_there(&self, path: &str) -> Result<bool> {
        Ok(self.store.find_path(path).await?.is_some())
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
