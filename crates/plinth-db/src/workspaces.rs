//! Workspaces and their members.

use plinth_spec::id::{AccountId, WorkspaceId};
use plinth_spec::role::Role;

use crate::row::Row;
use crate::sql::params;
use crate::table::{insert, table};
use crate::{Conn, Result, Tx, storage};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    pub id: WorkspaceId,
    /// Display name.
    pub name: String,
    /// Account that owns the workspace and pays for its renders.
    pub owner_id: AccountId,
    /// Whether this is the owner's personal workspace.
    pub is_personal: bool,
    /// Time of creation.
    pub created_at: i64,
    /// Time of deletion, if the workspace is deleted.
    pub deleted_at: Option<i64>,
}

/// A workspace, with the role of one member in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    pub workspace: Workspace,
    pub role: Role,
}

table!(Workspace in "workspaces", columns, select: id, name, owner_id, is_personal, created_at, deleted_at);

/// The SQL expression for the role of member `m`. An administrator is stored as an editor with a mark in another column.
macro_rules! role {
    () => {
        "CASE WHEN m.role = 'editor' AND m.is_manager THEN 'admin' ELSE m.role END AS role"
    };
}
pub(crate) use role;

/// The SQL clause that excludes the owner of a workspace from a statement.
macro_rules! unless_owner {
    () => {
        "WHERE members.role <> 'owner'"
    };
}

/// A member of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The member's account.
    pub account_id: AccountId,
    /// The account's e-mail address.
    pub email: String,
    pub role: Role,
    /// Time at which the member was added.
    pub created_at: i64,
}

/// Inserts a workspace, and adds its owner as a member.
pub async fn insert(tx: &mut Tx, workspace: &Workspace) -> Result<()> {
    workspace.add(tx).await?;
    let w = workspace;
    set_member(tx, &w.id, &w.owner_id, Role::Owner, w.created_at).await
}

/// Finds a workspace by its identifier. Finds deleted workspaces, too.
pub async fn find(conn: &mut Conn, id: &WorkspaceId) -> Result<Option<Workspace>> {
    conn.fetch_optional(select!("WHERE id = $1"), params![id]).await?.as_ref().map(Workspace::of).transpose()
}

/// Finds an account's personal workspace.
pub async fn find_personal(conn: &mut Conn, owner: &AccountId) -> Result<Option<Workspace>> {
    let row = conn.fetch_optional(select!("WHERE owner_id = $1 AND is_personal"), params![owner]).await?;
    row.as_ref().map(Workspace::of).transpose()
}

/// Lists the workspaces of which an account is a member, its personal workspace first. Omits deleted workspaces, and
/// workspaces whose owner is suspended.
pub async fn list_of_member(conn: &mut Conn, account: &AccountId) -> Result<Vec<Membership>> {
    let sql = concat!(
        "SELECT w.*, ",
        role!(),
        " FROM members m JOIN (SELECT ",
        columns!(),
        " FROM workspaces) w ON w.id = m.workspace_id JOIN accounts o ON o.id = w.owner_id \
         WHERE m.account_id = $1 AND w.deleted_at IS NULL AND o.suspended_at IS NULL \
         ORDER BY w.is_personal DESC, w.created_at, w.id"
    );
    let rows = conn.fetch_all(sql, params![account]).await?;
    let memberships = rows
        .iter()
        .map(|row| Ok(Membership { workspace: Workspace::of(row)?, role: row.parsed("role", Role::from_name)? }));
    memberships.collect()
}

/// A workspace of an account, as administrators of the installation see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceSummary {
    pub workspace: Workspace,
    /// The account's role in the workspace.
    pub role: Role,
    pub renders: u64,
    /// Total size of the workspace's files, in bytes.
    pub stored_bytes: u64,
}

/// Lists the workspaces of which an account is a member, its personal workspace first. Includes workspaces of suspended owners,
/// but no deleted workspaces.
pub async fn list_summaries(conn: &mut Conn, account: &AccountId) -> Result<Vec<WorkspaceSummary>> {
    let sql = concat!(
        "SELECT w.*, coalesce(s.bytes, 0) AS stored_bytes, ",
        role!(),
        " FROM members m JOIN (SELECT render_count, ",
        columns!(),
        " FROM workspaces) w ON w.id = m.workspace_id LEFT JOIN storage s ON s.workspace_id = w.id \
         WHERE m.account_id = $1 AND w.deleted_at IS NULL ORDER BY w.is_personal DESC, w.created_at, w.id"
    );
    let read = |row: &Row| {
        Ok(WorkspaceSummary {
            workspace: Workspace::of(row)?,
            role: row.parsed("role", Role::from_name)?,
            renders: row.count("render_count")?,
            stored_bytes: storage::counted(row, "stored_bytes")?,
        })
    };
    conn.fetch_all(sql, params![account]).await?.iter().map(read).collect()
}

/// Marks a team workspace as deleted. Returns false if the workspace is personal, is deleted already, or does not
/// exist.
pub async fn set_deleted(tx: &mut Tx, id: &WorkspaceId, now: i64) -> Result<bool> {
    let sql = "UPDATE workspaces SET deleted_at = $2 WHERE id = $1 AND deleted_at IS NULL AND NOT is_personal";
    Ok(tx.execute(sql, params![id, now]).await? == 1)
}

const LIST_DELETED_WITH_ASSETS: &str = "SELECT w.id FROM workspaces w WHERE w.deleted_at IS NOT NULL AND (\
     EXISTS (SELECT 1 FROM overlays o WHERE o.workspace_id = w.id AND NOT o.is_system) \
     OR EXISTS (SELECT 1 FROM textures t WHERE t.workspace_id = w.id) \
     OR EXISTS (SELECT 1 FROM envs e WHERE e.workspace_id = w.id AND NOT e.is_system)) LIMIT $1";

/// Lists at most `limit` deleted workspaces that have overlays, textures or environments, apart from those that are available to all
/// workspaces.
pub async fn list_deleted_with_assets(conn: &mut Conn, limit: u32) -> Result<Vec<WorkspaceId>> {
    let rows = conn.fetch_all(LIST_DELETED_WITH_ASSETS, params![i64::from(limit)]).await?;
    rows.iter().map(|row| row.parsed("id", WorkspaceId::parse)).collect()
}

/// Lists at most `limit` deleted workspaces that have renders, according to the counter of renders. Reads one short row for each
/// workspace, and no renders.
pub async fn list_deleted_with_renders(conn: &mut Conn, limit: u32) -> Result<Vec<WorkspaceId>> {
    let sql = "SELECT id FROM workspaces WHERE deleted_at IS NOT NULL AND render_count > 0 LIMIT $1";
    let rows = conn.fetch_all(sql, params![i64::from(limit)]).await?;
    rows.iter().map(|row| row.parsed("id", WorkspaceId::parse)).collect()
}

/// Lists the members of a workspace, the owner first.
pub async fn list_members(conn: &mut Conn, id: &WorkspaceId) -> Result<Vec<Member>> {
    let sql = concat!(
        "SELECT a.id, a.email, m.created_at, ",
        role!(),
        " FROM members m JOIN accounts a ON a.id = m.account_id WHERE m.workspace_id = $1 \
         ORDER BY CASE WHEN m.role = $2 THEN 0 ELSE 1 END, m.created_at, a.id"
    );
    let rows = conn.fetch_all(sql, params![id, Role::Owner.as_str()]).await?;
    let members = rows.iter().map(|row| {
        Ok(Member {
            account_id: row.parsed("id", AccountId::parse)?,
            email: row.text("email")?,
            role: row.parsed("role", Role::from_name)?,
            created_at: row.int("created_at")?,
        })
    });
    members.collect()
}

/// Counts the teams that an account owns.
pub async fn count_teams(conn: &mut Conn, owner: &AccountId) -> Result<u64> {
    let sql = "SELECT count(*) AS n FROM workspaces WHERE owner_id = $1 AND deleted_at IS NULL AND NOT is_personal";
    conn.fetch_one(sql, params![owner]).await?.count("n")
}

/// Changes the name of a workspace.
pub async fn set_name(tx: &mut Tx, id: &WorkspaceId, name: &str) -> Result<()> {
    tx.execute("UPDATE workspaces SET name = $2 WHERE id = $1", params![id, name]).await.map(drop)
}

/// Makes another member the owner of a workspace. The former owner becomes an administrator. Returns false and changes nothing if
/// the account is no member.
pub async fn set_owner(tx: &mut Tx, id: &WorkspaceId, from: &AccountId, to: &AccountId) -> Result<bool> {
    let sql = "UPDATE members SET role = $3, is_manager = $4 WHERE workspace_id = $1 AND account_id = $2";
    let (role, is_manager) = stored(Role::Owner);
    if tx.execute(sql, params![id, to, role, is_manager]).await? != 1 {
        return Ok(false);
    }
    let (role, is_manager) = stored(Role::Admin);
    tx.execute(sql, params![id, from, role, is_manager]).await?;
    tx.execute("UPDATE workspaces SET owner_id = $2 WHERE id = $1", params![id, to]).await?;
    Ok(true)
}

/// Adds a member, or changes the role of a member. Never changes the role of the owner, even if the member has become the owner
/// after this transaction read the role.
pub async fn set_member(tx: &mut Tx, id: &WorkspaceId, account: &AccountId, role: Role, now: i64) -> Result<()> {
    let (role, is_manager) = stored(role);
    insert!(
        tx,
        "members",
        workspace_id: id,
        account_id: account,
        role: role,
        is_manager: is_manager,
        created_at: now;
        concat!(
            "ON CONFLICT (workspace_id, account_id) DO UPDATE SET role = excluded.role, is_manager = excluded.is_manager ",
            unless_owner!()
        )
    )
}

/// Changes the role of a member who has the role `from`. Returns false and changes nothing if the account is no member or has another
/// role, for example because another transaction has removed the member or changed its role since this transaction read the role.
pub async fn set_role(tx: &mut Tx, id: &WorkspaceId, account: &AccountId, from: Role, to: Role) -> Result<bool> {
    let sql = "UPDATE members SET role = $3, is_manager = $4 \
               WHERE workspace_id = $1 AND account_id = $2 AND role = $5 AND is_manager = $6";
    let ((role, is_manager), (old_role, was_manager)) = (stored(to), stored(from));
    Ok(tx.execute(sql, params![id, account, role, is_manager, old_role, was_manager]).await? == 1)
}

/// Returns the values that store a role: the column `role`, and the mark of administrators.
const fn stored(role: Role) -> (&'static str, bool) {
    match role {
        Role::Admin => (Role::Editor.as_str(), true),
        Role::Owner | Role::Editor | Role::Viewer => (role.as_str(), false),
    }
}

/// Removes a member who has the role `from`. Returns false and removes nothing if the account is no member or has another role, as
/// [`set_role`] does, or if it is the owner.
pub async fn remove_member(tx: &mut Tx, id: &WorkspaceId, account: &AccountId, from: Role) -> Result<bool> {
    let sql = "DELETE FROM members \
               WHERE workspace_id = $1 AND account_id = $2 AND role = $3 AND is_manager = $4 AND role <> $5";
    let (role, is_manager) = stored(from);
    Ok(tx.execute(sql, params![id, account, role, is_manager, Role::Owner.as_str()]).await? == 1)
}

/// Returns the role of an account in a workspace; `None` if the account is not a member.
pub async fn role_of(conn: &mut Conn, id: &WorkspaceId, account: &AccountId) -> Result<Option<Role>> {
    let sql = concat!("SELECT ", role!(), " FROM members m WHERE m.workspace_id = $1 AND m.account_id = $2");
    let row = conn.fetch_optional(sql, params![id, account]).await?;
    row.map(|row| row.parsed("role", Role::from_name)).transpose()
}

/// Returns the number of renders in a workspace, which a counter stores.
pub async fn render_count(conn: &mut Conn, id: &WorkspaceId) -> Result<u64> {
    let sql = "SELECT render_count FROM workspaces WHERE id = $1";
    conn.fetch_one(sql, params![id]).await?.count("render_count")
}

/// Consistency check: lists the workspaces whose counter differs from the number of their renders. The list should be
/// empty.
pub async fn find_miscounted(conn: &mut Conn) -> Result<Vec<WorkspaceId>> {
    let sql = "SELECT id FROM workspaces w WHERE render_count <> \
               (SELECT count(*) FROM renders r WHERE r.workspace_id = w.id AND r.deleted_at IS NULL) ORDER BY id";
    conn.fetch_all(sql, params![]).await?.iter().map(|row| row.parsed("id", WorkspaceId::parse)).collect()
}

#[cfg(test)]
mod tests {
    use plinth_testkit::TestDatabase;

    use super::*;
    use crate::query_plan::plans_on;
    use crate::{Db, DbOptions};

    #[tokio::test(flavor = "multi_thread")]
    async fn assets_of_deleted_workspaces_are_found_by_indexes() {
        for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
            let [plan] = plans_on(&database, [LIST_DELETED_WITH_ASSETS.into()], [params![9_i64]]).await;
            for index in ["overlays_page", "textures_", "envs_page"] {
                assert!(plan.contains(index), "{plan}");
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_workspace_whose_renders_are_miscounted_is_found() {
        for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
            let db = Db::open(database.address(), DbOptions::default()).await.unwrap();
            let found = db.write(|tx| {
                Box::pin(async move {
                    let account = "INSERT INTO accounts (id, email, is_admin, paid, free, created_at) \
                                   VALUES ('aaaaaaaaaaaa', 'a', FALSE, 0, 0, 0)";
                    tx.execute(account, params![]).await?;
                    for (id, renders) in [("v00000000001", 1), ("v00000000002", 0)] {
                        let workspace = "INSERT INTO workspaces (id, name, owner_id, is_personal, render_count, created_at) \
                                         VALUES ($1, 'w', 'aaaaaaaaaaaa', FALSE, $2, 0)";
                        tx.execute(workspace, params![id, renders]).await?;
                    }
                    find_miscounted(tx).await
                })
            });
            assert_eq!(found.await.unwrap(), [WorkspaceId::parse("v00000000001").unwrap()]);
        }
    }

    #[test]
    fn sql_names_the_roles() {
        let [owner, admin, editor] = [Role::Owner, Role::Admin, Role::Editor].map(Role::as_str);
        assert_eq!(
            role!(),
            format!("CASE WHEN m.role = '{editor}' AND m.is_manager THEN '{admin}' ELSE m.role END AS role")
        );
        assert_eq!(unless_owner!(), format!("WHERE members.role <> '{owner}'"));
    }
}
