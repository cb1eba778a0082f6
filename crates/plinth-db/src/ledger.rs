//! The ledger. Each change of a balance writes a ledger entry in the same transaction.

use plinth_spec::funding::Pool;
use plinth_spec::id::{AccountId, EntryId, RenderId, WorkspaceId};
use plinth_spec::wire::{LedgerEntry, LedgerType};

use crate::sql::{Param, params};
use crate::table::row;
use crate::{Conn, Result, Tx, accounts};

/// A new ledger entry.
#[derive(Clone, Debug)]
pub struct NewEntry {
    pub id: EntryId,
    /// Account whose balance changes.
    pub account_id: AccountId,
    /// Workspace in which the credits were spent.
    pub workspace_id: Option<WorkspaceId>,
    /// Type of the entry.
    pub kind: LedgerType,
    /// Pool of credits that changes.
    pub pool: Pool,
    /// Number of credits; positive when added to the account, negative when spent.
    pub credits: i64,
    /// Price paid for the credits, in cents.
    pub price_cents: i64,
    /// Render that was charged or refunded.
    pub render_id: Option<RenderId>,
    /// Source of the credits.
    pub source: String,
    pub description: String,
    /// Time of the entry.
    pub created_at: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posted {
    /// The balance changed and the entry is written.
    Done,
    /// The pool has too few credits; nothing changed.
    InsufficientCredits,
    /// The render has an entry of this type already; nothing changed.
    Duplicate,
}

row!(columns, entry -> LedgerEntry {
    id: "id",
    created_at: "created_at",
    kind: "type",
    credits: "credits",
    price_cents: "price_cents",
    source: "source",
    description: "description",
    render_id: "render_id"
});

/// Writes the entry and adds its credits to the account's balance, so that a balance is always the sum of its entries.
pub async fn post(tx: &mut Tx, entry: &NewEntry) -> Result<Posted> {
    let e = entry;
    // Without a render, SQLite would search the whole table.
    if let Some(render) = &e.render_id {
        let find_duplicate = "SELECT id FROM ledger WHERE render_id = $1 AND type = $2";
        if tx.fetch_optional(find_duplicate, params![render, e.kind.as_str()]).await?.is_some() {
            return Ok(Posted::Duplicate);
        }
    }
    if !accounts::move_credits(tx, &e.account_id, e.pool, e.credits).await? {
        return Ok(Posted::InsufficientCredits);
    }
    insert(tx, std::slice::from_ref(e)).await?;
    Ok(Posted::Done)
}

/// Writes several entries of one account and changes its balance. Runs one statement for each pool and one for all
/// entries. Returns false if a pool has too few credits; the caller must then roll the transaction back.
/// Errors: [`DbError::is_duplicate`](crate::DbError::is_duplicate) if the ledger already has an entry of the same type
/// for the same render.
pub async fn post_all(tx: &mut Tx, account: &AccountId, entries: &[NewEntry]) -> Result<bool> {
    for pool in [Pool::Paid, Pool::Free] {
        let credits = entries.iter().filter(|entry| entry.pool == pool).map(|entry| entry.credits).sum::<i64>();
        if credits != 0 && !accounts::move_credits(tx, account, pool, credits).await? {
            return Ok(false);
        }
    }
    insert(tx, entries).await.map(|()| true)
}

/// Inserts entries. A unique index prevents two entries of one type for one render, even if the caller has not locked
/// the account.
async fn insert(tx: &mut Tx, entries: &[NewEntry]) -> Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let columns =
        "id, account_id, workspace_id, render_id, type, pool, credits, price_cents, source, description, created_at";
    let values = |e: &NewEntry| {
        let params = params![
            &e.id,
            &e.account_id,
            e.workspace_id.as_ref(),
            e.render_id.as_ref(),
            e.kind.as_str(),
            e.pool.as_str(),
            e.credits,
            e.price_cents,
            e.source.as_str(),
            e.description.as_str(),
            e.created_at,
        ];
        params.to_vec()
    };
    let values: Vec<Param> = entries.iter().flat_map(values).collect();
    tx.insert_rows("ledger", columns, &values).await
}

/// The change of a balance by an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BalanceChange {
    pub account_id: AccountId,
    pub pool: Pool,
    /// Number of credits; positive when added to the account, negative when spent.
    pub credits: i64,
}

row!(change_columns, change -> BalanceChange { account_id: "account_id", pool: "pool", credits: "credits" });

/// Finds the change that the entry with this identifier has booked.
pub async fn find_change(conn: &mut Conn, id: &EntryId) -> Result<Option<BalanceChange>> {
    let sql = concat!("SELECT ", change_columns!(), " FROM ledger WHERE id = $1");
    conn.fetch_optional(sql, params![id]).await?.as_ref().map(change).transpose()
}

/// Lists the entries of an account, newest first. With a `workspace`, lists only entries of this workspace.
pub async fn list(
    conn: &mut Conn,
    account: &AccountId,
    workspace: Option<&WorkspaceId>,
    limit: u32,
    offset: u64,
) -> Result<Vec<LedgerEntry>> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM ledger WHERE account_id = $1 AND ($2 IS NULL OR workspace_id = $2) \
         ORDER BY created_at DESC, id DESC LIMIT $3 OFFSET $4"
    );
    let params = params![account, workspace, i64::from(limit), offset.cast_signed()];
    conn.fetch_all(sql, params).await?.iter().map(entry).collect()
}

/// Lists the entries of an account that are older than the entry `before`, newest first; without `before`, lists the
/// newest entries. With a `workspace`, lists only entries of this workspace. Pages that start at an entry, unlike pages
/// that start at an offset, do not shift when entries are added.
pub async fn list_before(
    conn: &mut Conn,
    account: &AccountId,
    workspace: Option<&WorkspaceId>,
    before: Option<(i64, &EntryId)>,
    limit: u32,
) -> Result<Vec<LedgerEntry>> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM ledger WHERE account_id = $1 AND ($2 IS NULL OR workspace_id = $2) \
         AND ($3 IS NULL OR created_at < $3 OR (created_at = $3 AND id < $4)) \
         ORDER BY created_at DESC, id DESC LIMIT $5"
    );
    let (at, id) = before.unzip();
    let params = params![account, workspace, at, id, i64::from(limit)];
    conn.fetch_all(sql, params).await?.iter().map(entry).collect()
}

/// Counts the entries on all pages of [`list`].
pub async fn count(conn: &mut Conn, account: &AccountId, workspace: Option<&WorkspaceId>) -> Result<u64> {
    let sql = "SELECT count(*) AS n FROM ledger WHERE account_id = $1 AND ($2 IS NULL OR workspace_id = $2)";
    conn.fetch_one(sql, params![account, workspace]).await?.count("n")
}

/// Consistency check: lists the accounts whose balance differs from the sum of their entries. The list should be empty.
pub async fn find_unbalanced(conn: &mut Conn) -> Result<Vec<AccountId>> {
    let sql = "SELECT a.id FROM accounts a LEFT JOIN ledger l ON l.account_id = a.id \
               GROUP BY a.id, a.paid, a.free \
               HAVING a.paid <> CAST(coalesce(sum(CASE WHEN l.pool = $1 THEN l.credits END), 0) AS BIGINT) \
               OR a.free <> CAST(coalesce(sum(CASE WHEN l.pool = $2 THEN l.credits END), 0) AS BIGINT) \
               ORDER BY a.id";
    let rows = conn.fetch_all(sql, params![Pool::Paid.as_str(), Pool::Free.as_str()]).await?;
    rows.iter().map(|row| row.parsed("id", AccountId::parse)).collect()
}

/// Returns the number of credits that were refunded for a render.
pub async fn find_refund(conn: &mut Conn, render: &RenderId) -> Result<Option<u64>> {
    let sql = "SELECT credits FROM ledger WHERE render_id = $1 AND type = 'refund'";
    conn.fetch_optional(sql, params![render]).await?.map(|row| row.count("credits")).transpose()
}

#[cfg(test)]
mod tests {
    use plinth_testkit::TestDatabase;

    use super::*;
    use crate::{Db, DbOptions};

    #[tokio::test(flavor = "multi_thread")]
    async fn accounts_whose_balance_is_not_the_sum_of_their_entries_are_found() {
        for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
            let db = Db::open(database.address(), DbOptions::default()).await.unwrap();
            let found = db.write(|tx| {
                Box::pin(async move {
                    let accounts = [("a00000000001", 7, 0, 7), ("a00000000002", 0, 0, 0), ("a00000000003", 0, 7, 7)];
                    for (id, paid, free, entered) in accounts {
                        let account = "INSERT INTO accounts (id, email, is_admin, paid, free, created_at) \
                                       VALUES ($1, $1, FALSE, $2, $3, 0)";
                        tx.execute(account, params![id, paid, free]).await?;
                        let entry = "INSERT INTO ledger (id, account_id, type, pool, credits, price_cents, source, description, \
                                     created_at) VALUES ($1, $1, 'admin_grant', 'paid', $2, 0, '', '', 0)";
                        tx.execute(entry, params![id, entered]).await?;
                    }
                    find_unbalanced(tx).await
                })
            });
            assert_eq!(found.await.unwrap(), [AccountId::parse("a00000000003").unwrap()], "each pool is checked");
        }
    }
}
