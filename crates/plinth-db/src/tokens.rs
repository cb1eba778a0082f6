//! API keys. Only the hash, the prefix and the last four characters of a secret are stored.

use plinth_spec::id::{AccountId, TokenId, WorkspaceId};
use plinth_spec::role::Role;
use plinth_spec::wire::Scope;

use crate::row::Row;
use crate::sql::{Param, Sql, now_ms, params};
use crate::table::{Column, insert, row};
use crate::workspaces::role;
use crate::{Conn, Result, Tx};

/// A new key.
#[derive(Clone, Debug)]
pub struct NewToken {
    pub id: TokenId,
    /// Account that owns the key.
    pub account_id: AccountId,
    /// Workspace to which the key gives access: a team workspace, or the account's personal workspace.
    pub workspace_id: WorkspaceId,
    /// Display name.
    pub name: String,
    /// Hex SHA-256 of the secret.
    pub sha256: String,
    /// Prefix of the secret.
    pub prefix: String,
    /// Last four characters of the secret.
    pub last4: String,
    /// Permissions of the key.
    pub scopes: Vec<Scope>,
    /// Time of creation.
    pub created_at: i64,
    /// Time of expiry, if the key expires.
    pub expires_at: Option<i64>,
}

/// A key, as shown to its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub id: TokenId,
    /// Workspace to which the key gives access.
    pub workspace_id: WorkspaceId,
    /// Display name.
    pub name: String,
    /// Prefix of the secret. Empty for keys that were created before prefixes were stored.
    pub prefix: String,
    /// Last four characters of the secret.
    pub last4: String,
    /// Permissions of the key.
    pub scopes: Vec<Scope>,
    /// Time of creation.
    pub created_at: i64,
    /// Time of expiry, if the key expires.
    pub expires_at: Option<i64>,
    /// Time of revocation, if the key is revoked.
    pub revoked_at: Option<i64>,
    /// Time of the last use, accurate to about a minute.
    pub last_used_at: Option<i64>,
}

row!(columns, token -> Token {
    id: "id",
    workspace_id: "workspace_id",
    name: "name",
    prefix: "prefix",
    last4: "last4",
    scopes: "scopes",
    created_at: "created_at",
    expires_at: "expires_at",
    revoked_at: "revoked_at",
    last_used_at: "last_used_at"
});

/// A key, with its account and workspace. One query reads everything that decides whether a request may use the key.
#[derive(Clone, Debug)]
pub struct Bearer {
    pub token: Token,
    /// Account that owns the key.
    pub account_id: AccountId,
    /// The account's e-mail address.
    pub email: String,
    /// Whether the account is an administrator of the installation.
    pub is_admin: bool,
    /// Whether the account is suspended.
    pub is_suspended: bool,
    /// Whether the account that owns the workspace is suspended.
    pub is_owner_suspended: bool,
    /// Name of the key's workspace.
    pub workspace_name: String,
    /// Whether the key's workspace is the personal workspace of an account.
    pub workspace_is_personal: bool,
    /// Account that owns the workspace and pays for its renders.
    pub payer_id: AccountId,
    /// Whether the workspace is deleted.
    pub workspace_is_deleted: bool,
    /// The account's role in the workspace; `None` if it is not a member.
    pub role: Option<Role>,
    /// Time of the database's clock when the key was read.
    pub read_at: i64,
}

pub async fn insert(tx: &mut Tx, token: &NewToken) -> Result<()> {
    let t = token;
    insert!(
        tx,
        "tokens",
        id: &t.id,
        account_id: &t.account_id,
        workspace_id: &t.workspace_id,
        name: t.name.as_str(),
        sha256: t.sha256.as_str(),
        prefix: t.prefix.as_str(),
        last4: t.last4.as_str(),
        scopes: Column::param(&t.scopes),
        created_at: t.created_at,
        expires_at: t.expires_at,
    )
}

macro_rules! select_bearer {
    ($condition:literal) => {
        Sql { sqlite: select_bearer!($condition, sqlite), postgres: select_bearer!($condition, postgres) }
    };
    ($condition:literal, $database:ident) => {
        concat!(
            "SELECT ",
            now_ms!($database),
            " AS read_at, t.*, a.email, a.is_admin, \
             (a.suspended_at IS NOT NULL) AS is_suspended, (o.suspended_at IS NOT NULL) AS is_owner_suspended, \
             w.name AS where_name, w.is_personal, w.owner_id, (w.deleted_at IS NOT NULL) AS where_is_deleted, ",
            role!(),
            " FROM (SELECT ",
            columns!(),
            ", account_id FROM tokens WHERE ",
            $condition,
            ") t \
             JOIN accounts a ON a.id = t.account_id \
             JOIN workspaces w ON w.id = t.workspace_id \
             JOIN accounts o ON o.id = w.owner_id \
             LEFT JOIN members m ON m.workspace_id = w.id AND m.account_id = t.account_id"
        )
    };
}

/// Finds a key by the hash of its secret, with its account and workspace.
pub async fn find_bearer(conn: &mut Conn, sha256: &str) -> Result<Option<Bearer>> {
    conn.fetch_optional(select_bearer!("sha256 = $1"), params![sha256]).await?.as_ref().map(bearer).transpose()
}

/// Finds a key by its identifier, with its account and workspace.
pub async fn find_bearer_by_id(conn: &mut Conn, id: &TokenId) -> Result<Option<Bearer>> {
    conn.fetch_optional(select_bearer!("id = $1"), params![id]).await?.as_ref().map(bearer).transpose()
}

fn bearer(row: &Row) -> Result<Bearer> {
    Ok(Bearer {
        token: token(row)?,
        account_id: row.parsed("account_id", AccountId::parse)?,
        email: row.text("email")?,
        is_admin: row.flag("is_admin")?,
        is_suspended: row.flag("is_suspended")?,
        is_owner_suspended: row.flag("is_owner_suspended")?,
        workspace_name: row.text("where_name")?,
        workspace_is_personal: row.flag("is_personal")?,
        payer_id: row.parsed("owner_id", AccountId::parse)?,
        workspace_is_deleted: row.flag("where_is_deleted")?,
        role: row.maybe_parsed("role", Role::from_name)?,
        read_at: row.int("read_at")?,
    })
}

/// Lists the keys of an account, newest first.
pub async fn list(conn: &mut Conn, account: &AccountId) -> Result<Vec<Token>> {
    let sql = concat!("SELECT ", columns!(), " FROM tokens WHERE account_id = $1 ORDER BY created_at DESC, id DESC");
    conn.fetch_all(sql, params![account]).await?.iter().map(token).collect()
}

/// Counts the keys of an account that are neither revoked nor expired.
pub async fn count_active(conn: &mut Conn, account: &AccountId, now: i64) -> Result<u64> {
    let sql = "SELECT count(*) AS n FROM tokens WHERE account_id = $1 AND revoked_at IS NULL \
               AND (expires_at IS NULL OR expires_at > $2)";
    conn.fetch_one(sql, params![account, now]).await?.count("n")
}

/// Revokes a key. Returns false if the key does not exist or was revoked before.
pub async fn revoke(tx: &mut Tx, id: &TokenId, now: i64) -> Result<bool> {
    let sql = "UPDATE tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL";
    Ok(tx.execute(sql, params![id, now]).await? == 1)
}

/// Sets the time of a key's last use.
pub async fn touch(tx: &mut Tx, id: &TokenId, now: i64) -> Result<()> {
    tx.execute("UPDATE tokens SET last_used_at = $2 WHERE id = $1", params![id, now]).await.map(drop)
}

impl Column for Vec<Scope> {
    fn read(row: &Row, column: &'static str) -> Result<Self> {
        row.parsed(column, scopes_from_text)
    }

    fn param(&self) -> Param {
        Param::from(text_from_scopes(self).as_str())
    }
}

fn text_from_scopes(scopes: &[Scope]) -> String {
    scopes.iter().map(|s| s.as_str()).collect::<Vec<_>>().join(",")
}

fn scopes_from_text(text: &str) -> Option<Vec<Scope>> {
    text.split(',').filter(|word| !word.is_empty()).map(Scope::from_name).collect()
}
