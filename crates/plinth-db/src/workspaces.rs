//! Workspaces and who is in them.

use plinth_spec::id::{AccountId, WorkspaceId};
use plinth_spec::role::Role;

use crate::sql::params;
use crate::table::table;
use crate::{Conn, Result, Tx};

/// A workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// Identifier.
    pub id: WorkspaceId,
    /// Its name.
    pub name: String,
    /// Who pays for it.
    pub owner_id: AccountId,
    /// Whether it is the account's own one.
    pub is_personal: bool,
    /// When it was created.
    pub created_at: i64,
    /// Since when it is gone.
    pub deleted_at: Option<i64>,
}

/// A workspace from the side of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The workspace.
    pub workspace: Workspace,
    /// What the member may do there.
    pub role: Role,
}

table!(Workspace in "workspaces", columns: id, name, owner_id, is_personal, created_at, deleted_at);

macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT ", columns!(), " FROM workspaces ", $rest)
    };
}

/// Adds a workspace. Its owner is a member of it.
pub async fn insert(tx: &mut Tx, workspace: &Workspace) -> Result<()> {
    workspace.add(tx).await?;
    let w = workspace;
    set_member(tx, &w.id, &w.owner_id, Role::Owner, w.created_at).await
}

/// The workspace with an identifier.
pub async fn find(conn: &mut Conn, id: &WorkspaceId) -> Result<Option<Workspace>> {
    conn.fetch_optional(select!("WHERE id = $1"), params![id]).await?.as_ref().map(Workspace::of).transpose()
}

/// An account's own workspace.
pub async fn find_personal(conn: &mut Conn, owner: &AccountId) -> Result<Option<Workspace>> {
    let row = conn.fetch_optional(select!("WHERE owner_id = $1 AND is_personal"), params![owner]).await?;
    row.as_ref().map(Workspace::of).transpose()
}

/// Where an account may work, its own workspace first. What is gone, or whose owner is shut out, is not listed.
pub async fn list_of_member(conn: &mut Conn, account: &AccountId) -> Result<Vec<Membership>> {
    let sql = "SELECT w.id, w.name, w.owner_id, w.is_personal, w.created_at, w.deleted_at, m.role \
               FROM members m JOIN workspaces w ON w.id = m.workspace_id JOIN accounts o ON o.id = w.owner_id \
               WHERE m.account_id = $1 AND w.deleted_at IS NULL AND o.suspended_at IS NULL \
               ORDER BY w.is_personal DESC, w.created_at, w.id";
    let rows = conn.fetch_all(sql, params![account]).await?;
    let memberships = rows
        .iter()
        .map(|row| Ok(Membership { workspace: Workspace::of(row)?, role: row.parsed("role", Role::from_name)? }));
    memberships.collect()
}

/// Closes a workspace.
pub async fn set_deleted(tx: &mut Tx, id: &WorkspaceId, now: i64) -> Result<bool> {
    let sql = "UPDATE workspaces SET deleted_at = $2 WHERE id = $1 AND deleted_at IS NULL AND NOT is_personal";
    Ok(tx.execute(sql, params![id, now]).await? == 1)
}

/// Adds a member or changes what they may do.
pub async fn set_member(tx: &mut Tx, id: &WorkspaceId, account: &AccountId, role: Role, now: i64) -> Result<()> {
    let sql = "INSERT INTO members (workspace_id, account_id, role, created_at) VALUES ($1, $2, $3, $4) \
               ON CONFLICT (workspace_id, account_id) DO UPDATE SET role = excluded.role";
    tx.execute(sql, params![id, account, role.as_str(), now]).await.map(drop)
}

/// Removes a member. False: there was none.
pub async fn remove_member(tx: &mut Tx, id: &WorkspaceId, account: &AccountId) -> Result<bool> {
    let sql = "DELETE FROM members WHERE workspace_id = $1 AND account_id = $2";
    Ok(tx.execute(sql, params![id, account]).await? == 1)
}

/// What an account may do in a workspace.
pub async fn role_of(conn: &mut Conn, id: &WorkspaceId, account: &AccountId) -> Result<Option<Role>> {
    let sql = "SELECT role FROM members WHERE workspace_id = $1 AND account_id = $2";
    let row = conn.fetch_optional(sql, params![id, account]).await?;
    row.map(|row| row.parsed("role", Role::from_name)).transpose()
}

/// How many renders a workspace's list has. Renders are counted in where they are added and removed.
pub async fn render_count(conn: &mut Conn, id: &WorkspaceId) -> Result<u64> {
    let sql = "SELECT render_count FROM workspaces WHERE id = $1";
    conn.fetch_one(sql, params![id]).await?.count("render_count")
}

/// Workspaces whose count of renders is not that of their rows: none, always. For checks.
pub async fn find_miscounted(conn: &mut Conn) -> Result<Vec<WorkspaceId>> {
    let sql = "SELECT id FROM workspaces w WHERE render_count <> \
               (SELECT count(*) FROM renders r WHERE r.workspace_id = w.id AND r.deleted_at IS NULL) ORDER BY id";
    conn.fetch_all(sql, params![]).await?.iter().map(|row| row.parsed("id", WorkspaceId::parse)).collect()
}
