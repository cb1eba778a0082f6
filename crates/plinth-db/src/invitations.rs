//! Invitations to team workspaces. Only the hash of the secret in an invitation's link is stored.

use plinth_spec::id::{AccountId, InvitationId, WorkspaceId};
use plinth_spec::role::Role;

use crate::row::Row;
use crate::sql::params;
use crate::table::insert;
use crate::{Conn, Result, Tx};

/// An invitation that can be accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    pub id: InvitationId,
    pub workspace_id: WorkspaceId,
    /// Role that the invited person gets. The role `owner` means that the inviter offers to transfer the ownership of
    /// the workspace.
    pub role: Role,
    /// Address for which the invitation is meant; `None` if the inviter entered no address.
    pub email: Option<String>,
    /// Account that invites.
    pub inviter_id: AccountId,
    /// Time of creation.
    pub created_at: i64,
    /// Time at which the invitation expires.
    pub expires_at: i64,
}

fn read(row: &Row) -> Result<Invitation> {
    Ok(Invitation {
        id: row.parsed("id", InvitationId::parse)?,
        workspace_id: row.parsed("workspace_id", WorkspaceId::parse)?,
        role: row.parsed("role", Role::from_name)?,
        email: row.maybe_text("email")?,
        inviter_id: row.parsed("inviter_id", AccountId::parse)?,
        created_at: row.int("created_at")?,
        expires_at: row.int("expires_at")?,
    })
}

/// Builds a statement that selects invitations.
macro_rules! select {
    ($($rest:literal),+) => {
        concat!(
            "SELECT id, workspace_id, role, email, inviter_id, created_at, expires_at FROM invitations WHERE ",
            $($rest),+
        )
    };
}

/// Builds the statement that selects invitations which can be accepted at the time `$2`.
macro_rules! select_open {
    ($rest:literal) => {
        select!("ended_at IS NULL AND expires_at > $2 AND ", $rest)
    };
}

pub async fn insert(tx: &mut Tx, invitation: &Invitation, sha256: &str) -> Result<()> {
    let i = invitation;
    insert!(
        tx,
        "invitations",
        id: &i.id,
        sha256: sha256,
        workspace_id: &i.workspace_id,
        role: i.role.as_str(),
        email: i.email.as_deref(),
        inviter_id: &i.inviter_id,
        created_at: i.created_at,
        expires_at: i.expires_at,
    )
}

/// Finds an invitation by the hash of its secret. Returns `None` if the invitation has expired or ended.
pub async fn find_open(conn: &mut Conn, sha256: &str, now: i64) -> Result<Option<Invitation>> {
    conn.fetch_optional(select_open!("sha256 = $1"), params![sha256, now]).await?.as_ref().map(read).transpose()
}

/// Finds an invitation that was accepted or revoked, by the hash of its secret.
pub async fn find_ended(conn: &mut Conn, sha256: &str) -> Result<Option<Invitation>> {
    let sql = select!("sha256 = $1 AND ended_at IS NOT NULL");
    conn.fetch_optional(sql, params![sha256]).await?.as_ref().map(read).transpose()
}

/// Lists the invitations to a workspace that can be accepted, newest first.
pub async fn list_open(conn: &mut Conn, workspace: &WorkspaceId, now: i64) -> Result<Vec<Invitation>> {
    let sql = select_open!("workspace_id = $1 ORDER BY created_at DESC, id DESC");
    conn.fetch_all(sql, params![workspace, now]).await?.iter().map(read).collect()
}

/// Ends an invitation of a workspace, because it was accepted or revoked. Returns false if it has ended already.
pub async fn end(tx: &mut Tx, workspace: &WorkspaceId, id: &InvitationId, now: i64) -> Result<bool> {
    let sql = "UPDATE invitations SET ended_at = $3 WHERE workspace_id = $1 AND id = $2 AND ended_at IS NULL";
    Ok(tx.execute(sql, params![workspace, id, now]).await? == 1)
}

/// Ends all invitations to a workspace that offer the given role.
pub async fn end_all(tx: &mut Tx, workspace: &WorkspaceId, role: Role, now: i64) -> Result<()> {
    let sql = "UPDATE invitations SET ended_at = $3 WHERE workspace_id = $1 AND role = $2 AND ended_at IS NULL";
    tx.execute(sql, params![workspace, role.as_str(), now]).await.map(drop)
}

/// Ends all invitations to a workspace that are meant for an address.
pub async fn end_for(tx: &mut Tx, workspace: &WorkspaceId, email: &str, now: i64) -> Result<()> {
    let sql = "UPDATE invitations SET ended_at = $3 WHERE workspace_id = $1 AND email = $2 AND ended_at IS NULL";
    tx.execute(sql, params![workspace, email, now]).await.map(drop)
}

/// Deletes the invitations that expired at or before the time `before`. Returns the number of deleted rows.
pub async fn delete_expired(tx: &mut Tx, before: i64) -> Result<u64> {
    tx.execute("DELETE FROM invitations WHERE expires_at <= $1", params![before]).await
}
