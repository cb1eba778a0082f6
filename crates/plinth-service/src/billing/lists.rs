//! Credit packs on sale, and ledger entries.

use plinth_db::{ledger, products};
use plinth_spec::page::{OffsetPage, PageRequest, Start, Total};
use plinth_spec::wire::{LedgerEntry, Page, Product};

use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::service::Service;

impl Service {
    /// Lists the credit packs on sale.
    pub async fn products(&self) -> Result<Vec<Product>> {
        Ok(products::list(&mut self.db.read().await?).await?)
    }

    /// Replaces the credit packs on sale.
    pub async fn set_products(&self, packs: Vec<Product>) -> Result<()> {
        let set = self.db.write(move |tx| {
            Box::pin(async move {
                products::delete_all(tx).await?;
                for pack in &packs {
                    products::upsert(tx, pack).await?;
                }
                Ok::<_, ServiceError>(())
            })
        });
        set.await
    }

    /// Lists ledger entries, newest first. A caller with a key of a team workspace gets only the entries of this
    /// workspace.
    pub async fn purchases(
        &self,
        caller: &Caller,
        limit: Option<&str>,
        offset: Option<&str>,
    ) -> Result<Page<LedgerEntry>> {
        let page = PageRequest::parse(limit, offset, None, "")?;
        let offset = if let Start::Offset(offset) = page.start { offset } else { 0 };
        let workspace = caller.bound.as_ref().map(|bound| &bound.id);
        let mut conn = self.db.read().await?;
        let data = ledger::list(&mut conn, &caller.payer_id, workspace, page.limit, offset).await?;
        let total = ledger::count(&mut conn, &caller.payer_id, workspace).await?;
        let shown = OffsetPage { offset, limit: page.limit, rows: data.len() as u64 };
        Ok(Page { data, meta: shown.meta(Total::exact(total)) })
    }
}
