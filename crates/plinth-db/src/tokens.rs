//! API keys. Of a secret, only its hash and last four characters are known here.

use plinth_spec::id::{AccountId, TokenId, WorkspaceId};
use plinth_spec::role::Role;
use plinth_spec::wire::Scope;

use crate::row::Row;
use crate::sql::params;
use crate::{Conn, Result, Tx};

/// A new key.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// Identifier.
    pub id: TokenId,
    /// Whose it is.
    pub account_id: AccountId,
    /// Where it works: a team workspace, or the account's own.
    pub workspace_id: WorkspaceId,
    /// What people call it.
    pub name: String,
    /// Hex SHA-256 of the secret.
    pub sha256: String,
    /// The word that the secret begins with.
    pub prefix: String,
    /// Last four characters of the secret.
    pub last4: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// When it was created.
    pub created_at: i64,
    /// When it ends.
    pub expires_at: Option<i64>,
}

/// A key as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Identifier.
    pub id: TokenId,
    /// Where it works.
    pub workspace_id: WorkspaceId,
    /// What people call it.
    pub name: String,
    /// The word that the secret begins with; empty: not known of an old one.
    pub prefix: String,
    /// Last four characters of the secret.
    pub last4: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// When it was created.
    pub created_at: i64,
    /// When it ends.
    pub expires_at: Option<i64>,
    /// Since when it is void.
    pub revoked_at: Option<i64>,
    /// When it was last used, to about a minute.
    pub last_used_at: Option<i64>,
}

/// Everything that decides whether a request with a key is let in, read at once.
#[derive(Clone, Debug)]
pub struct Bearer {
    /// The key.
    pub token: Token,
    /// Its account.
    pub account_id: AccountId,
    /// The account's address.
    pub email: String,
    /// Whether the account administers the installation.
    pub is_admin: bool,
    /// Whether the account, or the owner of the workspace, is shut out.
    pub is_suspended: bool,
    /// The name of the workspace where it works.
    pub workspace_name: String,
    /// Whether that is the account's own one.
    pub workspace_is_personal: bool,
    /// Who pays there.
    pub payer_id: AccountId,
    /// Whether that workspace is gone.
    pub workspace_is_deleted: bool,
    /// What the account may do there; none: it is not a member.
    pub role: Option<Role>,
}

/// Adds a key.
pub async fn insert(tx: &mut Tx, token: &NewToken) -> Result<()> {
    let sql = "INSERT INTO tokens \
               (id, account_id, workspace_id, name, sha256, prefix, last4, scopes, created_at, expires_at) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    let t = token;
    let scopes = text_from_scopes(&t.scopes);
    let params = params![
        &t.id,
        &t.account_id,
        &t.workspace_id,
        t.name.as_str(),
        t.sha256.as_str(),
        t.prefix.as_str(),
        t.last4.as_str(),
        scopes.as_str(),
        t.created_at,
        t.expires_at,
    ];
    tx.execute(sql, params).await.map(drop)
}

/// Finds a key by the hash of its secret, with its account and workspace.
pub async fn find_bearer(conn: &mut Conn, sha256: &str) -> Result<Option<Bearer>> {
    let sql = "SELECT t.id, t.workspace_id, t.name, t.prefix, t.last4, t.scopes, t.created_at, t.expires_at, t.revoked_at, \
               t.last_used_at, t.account_id, a.email, a.is_admin, \
               (a.suspended_at IS NOT NULL OR o.suspended_at IS NOT NULL) AS is_suspended, \
               w.name AS where_name, w.is_personal, w.owner_id, (w.deleted_at IS NOT NULL) AS where_is_deleted, \
               m.role \
               FROM tokens t \
               JOIN accounts a ON a.id = t.account_id \
               JOIN workspaces w ON w.id = t.workspace_id \
               JOIN accounts o ON o.id = w.owner_id \
               LEFT JOIN members m ON m.workspace_id = w.id AND m.account_id = t.account_id \
               WHERE t.sha256 = $1";
    let row = conn.fetch_optional(sql, params![sha256]).await?;
    row.map(|row| {
        Ok(Bearer {
            token: token(&row)?,
            account_id: row.parsed("account_id", AccountId::parse)?,
            email: row.text("email")?,
            is_admin: row.flag("is_admin")?,
            is_suspended: row.flag("is_suspended")?,
            workspace_name: row.text("where_name")?,
            workspace_is_personal: row.flag("is_personal")?,
            payer_id: row.parsed("owner_id", AccountId::parse)?,
            workspace_is_deleted: row.flag("where_is_deleted")?,
            role: row.maybe_parsed("role", Role::from_name)?,
        })
    })
    .transpose()
}

/// The keys of an account, newest first.
pub async fn list(conn: &mut Conn, account: &AccountId) -> Result<Vec<Token>> {
    let sql = "SELECT id, workspace_id, name, prefix, last4, scopes, created_at, expires_at, revoked_at, last_used_at \
               FROM tokens WHERE account_id = $1 ORDER BY created_at DESC, id DESC";
    conn.fetch_all(sql, params![account]).await?.iter().map(token).collect()
}

/// How many keys of an account are in force.
pub async fn count_in_force(conn: &mut Conn, account: &AccountId, now: i64) -> Result<u64> {
    let sql = "SELECT count(*) AS n FROM tokens WHERE account_id = $1 AND revoked_at IS NULL \
               AND (expires_at IS NULL OR expires_at > $2)";
    conn.fetch_one(sql, params![account, now]).await?.count("n")
}

/// Makes a key void. False: there is no such key in force.
pub async fn revoke(tx: &mut Tx, id: &TokenId, now: i64) -> Result<bool> {
    let sql = "UPDATE tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL";
    Ok(tx.execute(sql, params![id, now]).await? == 1)
}

/// Remembers that a key was used.
pub async fn touch(tx: &mut Tx, id: &TokenId, now: i64) -> Result<()> {
    tx.execute("UPDATE tokens SET last_used_at = $2 WHERE id = $1", params![id, now]).await.map(drop)
}

fn token(row: &Row) -> Result<Token> {
    Ok(Token {
        id: row.parsed("id", TokenId::parse)?,
        workspace_id: row.parsed("workspace_id", WorkspaceId::parse)?,
        name: row.text("name")?,
        prefix: row.text("prefix")?,
        last4: row.text("last4")?,
        scopes: row.parsed("scopes", scopes_from_text)?,
        created_at: row.int("created_at")?,
        expires_at: row.maybe_int("expires_at")?,
        revoked_at: row.maybe_int("revoked_at")?,
        last_used_at: row.maybe_int("last_used_at")?,
    })
}

fn text_from_scopes(scopes: &[Scope]) -> String {
    scopes.iter().map(|s| s.as_str()).collect::<Vec<_>>().join(",")
}

fn scopes_from_text(text: &str) -> Option<Vec<Scope>> {
    text.split(',').filter(|word| !word.is_empty()).map(Scope::from_name).collect()
}
