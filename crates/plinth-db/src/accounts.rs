//! Accounts, with their balances of paid and free credits.

use plinth_spec::funding::{Balance, Pool};
use plinth_spec::id::AccountId;

use crate::row::Row;
use crate::sql::{Sql, params};
use crate::table::{insert, row};
use crate::{Conn, Result, Tx};

/// An account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Identifier.
    pub id: AccountId,
    /// E-mail address, lower-case.
    pub email: String,
    /// Argon2 hash of the password, if the account has one.
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

/// Counts all accounts.
pub async fn count(conn: &mut Conn) -> Result<u64> {
    conn.fetch_one("SELECT count(*) AS n FROM accounts", params![]).await?.count("n")
}

/// Finds an account and locks its row until the transaction ends, so that no other transaction can change its balance.
/// To avoid deadlocks, every charge and refund locks the account before it changes a render.
pub async fn lock(tx: &mut Tx, id: &AccountId) -> Result<Option<Account>> {
    // SQLite needs no lock, because it allows one writer at a time. PostgreSQL locks the account in FOR KEY SHARE mode
    // when it checks the foreign key of a render. FOR NO KEY UPDATE does not block this check, but FOR UPDATE would.
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
