//! Secrets that sign links to local files.

use crate::sql::params;
use crate::table::table;
use crate::{Conn, Result, Tx};

/// A secret that signs links.
#[derive(Clone)]
pub struct LinkSecret {
    /// Identifier, which is part of each link that the secret signs. Empty for a secret that was created before secrets
    /// had identifiers.
    pub id: String,
    pub secret: String,
    /// Time of creation.
    pub created_at: i64,
    /// Time at which all links that the secret signed become invalid; `None` while the secret signs new links.
    pub ends_at: Option<i64>,
}

impl std::fmt::Debug for LinkSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { id, created_at, ends_at, .. } = self;
        let mut shown = f.debug_struct("LinkSecret");
        shown.field("id", id).field("created_at", created_at).field("ends_at", ends_at).finish_non_exhaustive()
    }
}

table!(LinkSecret in "link_secrets", columns: id, secret, created_at, ends_at);

pub async fn insert(tx: &mut Tx, secret: &LinkSecret) -> Result<()> {
    secret.add(tx).await
}

/// Finds the newest secret that still signs new links.
pub async fn find_newest(conn: &mut Conn) -> Result<Option<LinkSecret>> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM link_secrets WHERE ends_at IS NULL ORDER BY created_at DESC, id DESC LIMIT 1"
    );
    conn.fetch_optional(sql, params![]).await?.as_ref().map(LinkSecret::of).transpose()
}

/// Finds a secret by its identifier. Returns `None` if the secret's links are no longer valid.
pub async fn find(conn: &mut Conn, id: &str, now: i64) -> Result<Option<LinkSecret>> {
    let sql = concat!("SELECT ", columns!(), " FROM link_secrets WHERE id = $1 AND (ends_at IS NULL OR ends_at > $2)");
    conn.fetch_optional(sql, params![id, now]).await?.as_ref().map(LinkSecret::of).transpose()
}

/// Lists the secrets whose links are still valid, newest first.
pub async fn list(conn: &mut Conn, now: i64) -> Result<Vec<LinkSecret>> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM link_secrets WHERE ends_at IS NULL OR ends_at > $1 ORDER BY created_at DESC, id DESC"
    );
    conn.fetch_all(sql, params![now]).await?.iter().map(LinkSecret::of).collect()
}

/// Makes the links of all secrets invalid at the time `ends_at`. Secrets that end earlier stay unchanged.
pub async fn end_all(tx: &mut Tx, ends_at: i64) -> Result<()> {
    let sql = "UPDATE link_secrets SET ends_at = $1 WHERE ends_at IS NULL OR ends_at > $1";
    tx.execute(sql, params![ends_at]).await.map(drop)
}

/// Deletes the secrets whose links have become invalid. Returns the number of deleted secrets.
pub async fn delete_ended(tx: &mut Tx, now: i64) -> Result<u64> {
    tx.execute("DELETE FROM link_secrets WHERE ends_at <= $1", params![now]).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_show_the_identifier_but_not_the_secret() {
        let secret = LinkSecret { id: "k1".to_owned(), secret: "hidden".to_owned(), created_at: 5, ends_at: Some(9) };
        assert_eq!(format!("{secret:?}"), r#"LinkSecret { id: "k1", created_at: 5, ends_at: Some(9), .. }"#);
    }
}
