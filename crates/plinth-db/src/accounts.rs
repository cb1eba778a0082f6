//! Accounts, with their balances of paid and free credits.

use plinth_spec::funding::{Balance, Pool};
use plinth_spec::id::AccountId;

use crate::row::Row;
use crate::sql::{Sql, containing, params};
use crate::table::{insert, row};
use crate::{Conn, Result, Tx, storage};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub id: AccountId,
    /// E-mail address, lower-case.
    pub email: String,
    /// Argon2 hash of the password, if the account has a password.
    pub password_hash: Option<String>,
    /// Whether the account is an administrator of the installation.
    pub is_admin: bool,
    /// Time of the suspension, if the account is suspended.
    pub suspended_at: Option<i64>,
    /// Paid and free credits.
    pub balance: Balance,
    /// Time of creation.
    pub created_at: i64,
}

row!(columns, account -> Account {
    id: "id",
    email: "email",
    password_hash: "password_hash",
    is_admin: "is_admin",
    suspended_at: "suspended_at",
    created_at: "created_at";
    balance = balance
});

macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT ", columns!(), ", paid, free FROM accounts ", $rest)
    };
}

fn balance(row: &Row) -> Result<Balance> {
    Ok(Balance { paid: row.count("paid")?, free: row.count("free")? })
}

/// Inserts an account with a balance of zero. Credits are added through the ledger.
pub async fn insert(tx: &mut Tx, account: &Account) -> Result<()> {
    let a = account;
    insert!(
        tx,
        "accounts",
        id: &a.id,
        email: a.email.as_str(),
        password_hash: a.password_hash.as_deref(),
        is_admin: a.is_admin,
        suspended_at: a.suspended_at,
        paid: 0_i64,
        free: 0_i64,
        created_at: a.created_at,
    )
}

/// Finds an account by its identifier.
pub async fn find(conn: &mut Conn, id: &AccountId) -> Result<Option<Account>> {
    conn.fetch_optional(select!("WHERE id = $1"), params![id]).await?.as_ref().map(account).transpose()
}

/// Finds an account by its e-mail address, given in lower case.
pub async fn find_by_email(conn: &mut Conn, email: &str) -> Result<Option<Account>> {
    conn.fetch_optional(select!("WHERE email = $1"), params![email]).await?.as_ref().map(account).transpose()
}

/// Filter of [`list`].
#[derive(Clone, Debug, Default)]
pub struct AccountFilter {
    /// Only accounts whose address contains this text, which is given in lower case.
    pub search: Option<String>,
    /// Whether [`list`] returns only administrators.
    pub admins: bool,
    /// Whether [`list`] returns only suspended accounts.
    pub suspended: bool,
}

/// An account in the list of all accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedAccount {
    pub account: Account,
    /// Number of renders in its workspaces.
    pub renders: u64,
    /// Size of the files of its workspaces, in bytes.
    pub stored_bytes: u64,
}

/// Returns a page of all accounts, the newest first.
pub async fn list(conn: &mut Conn, filter: &AccountFilter, limit: u32, offset: u64) -> Result<Vec<ListedAccount>> {
    // The inner statement selects the page, so that the sums are computed only for the accounts of this page.
    let sql = concat!(
        "SELECT page.*, (SELECT CAST(coalesce(sum(w.render_count), 0) AS BIGINT) FROM workspaces w \
         WHERE w.owner_id = page.id) AS renders, \
         (SELECT CAST(coalesce(sum(s.bytes), 0) AS BIGINT) FROM workspaces w JOIN storage s ON s.workspace_id = w.id \
         WHERE w.owner_id = page.id) AS stored_bytes FROM (",
        select!(
            "WHERE ($1 IS NULL OR email LIKE $1 ESCAPE '!') AND (NOT $2 OR is_admin) \
             AND (NOT $3 OR suspended_at IS NOT NULL) ORDER BY created_at DESC, id DESC LIMIT $4 OFFSET $5"
        ),
        ") page ORDER BY created_at DESC, id DESC"
    );
    let pattern = filter.search.as_deref().map(containing);
    let params = params![pattern.as_deref(), filter.admins, filter.suspended, i64::from(limit), offset.cast_signed()];
    let read = |row: &Row| {
        Ok(ListedAccount {
            account: account(row)?,
            renders: row.count("renders")?,
            stored_bytes: storage::counted(row, "stored_bytes")?,
        })
    };
    conn.fetch_all(sql, params).await?.iter().map(read).collect()
}

/// Locks all administrators until the transaction ends, so that no other transaction can remove or suspend an administrator
/// meanwhile. Returns the number of administrators who are not suspended.
pub async fn lock_admins(tx: &mut Tx) -> Result<usize> {
    macro_rules! admins {
        ($lock:literal) => {
            concat!("SELECT suspended_at FROM accounts WHERE is_admin ORDER BY id", $lock)
        };
    }
    let sql = Sql { sqlite: admins!(""), postgres: admins!(" FOR NO KEY UPDATE") };
    let rows = tx.fetch_all(sql, params![]).await?;
    let suspended = rows.iter().map(|row| row.maybe_int("suspended_at")).collect::<Result<Vec<_>>>()?;
    Ok(suspended.into_iter().filter(Option::is_none).count())
}

/// Sets whether an account is an administrator of the installation.
pub async fn set_admin(tx: &mut Tx, id: &AccountId, is_admin: bool) -> Result<()> {
    tx.execute("UPDATE accounts SET is_admin = $2 WHERE id = $1", params![id, is_admin]).await.map(drop)
}

/// Counts all accounts.
pub async fn count(conn: &mut Conn) -> Result<u64> {
    conn.fetch_one("SELECT count(*) AS n FROM accounts", params![]).await?.count("n")
}

/// Finds an account and locks its row until the transaction ends, so that no other transaction can change its balance.
/// To avoid deadlocks, every charge and refund locks the account before it changes a render.
pub async fn lock(tx: &mut Tx, id: &AccountId) -> Result<Option<Account>> {
    // SQLite needs no lock, because it allows one writer at a time. PostgreSQL locks the account in FOR KEY SHARE mode
    // when it checks the foreign key of a render. FOR NO KEY UPDATE does not block this check; FOR UPDATE would block it.
    let sql = Sql { sqlite: select!("WHERE id = $1"), postgres: select!("WHERE id = $1 FOR NO KEY UPDATE") };
    tx.fetch_optional(sql, params![id]).await?.as_ref().map(account).transpose()
}

/// Like [`lock`], but does not wait. Returns `None` if another transaction holds the lock, or if the account does not
/// exist.
pub async fn try_lock(tx: &mut Tx, id: &AccountId) -> Result<Option<Account>> {
    let sql =
        Sql { sqlite: select!("WHERE id = $1"), postgres: select!("WHERE id = $1 FOR NO KEY UPDATE SKIP LOCKED") };
    tx.fetch_optional(sql, params![id]).await?.as_ref().map(account).transpose()
}

/// Adds credits to a pool; a negative number removes them. Returns false if the pool has too few credits.
pub(crate) async fn move_credits(tx: &mut Tx, id: &AccountId, pool: Pool, credits: i64) -> Result<bool> {
    let sql = match pool {
        Pool::Paid => "UPDATE accounts SET paid = paid + $2 WHERE id = $1 AND paid + $2 >= 0",
        Pool::Free => "UPDATE accounts SET free = free + $2 WHERE id = $1 AND free + $2 >= 0",
    };
    Ok(tx.execute(sql, params![id, credits]).await? == 1)
}

/// Suspends an account from the time `since` on; `None` ends the suspension.
pub async fn set_suspended(tx: &mut Tx, id: &AccountId, since: Option<i64>) -> Result<()> {
    tx.execute("UPDATE accounts SET suspended_at = $2 WHERE id = $1", params![id, since]).await.map(drop)
}

/// Sets the hash of an account's password; `None` removes the password.
pub async fn set_password_hash(tx: &mut Tx, id: &AccountId, hash: Option<&str>) -> Result<()> {
    tx.execute("UPDATE accounts SET password_hash = $2 WHERE id = $1", params![id, hash]).await.map(drop)
}
