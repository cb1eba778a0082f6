//! One account, as administrators see it.

use plinth_db::accounts::Account;
use plinth_db::admin_log::{self, LogEntry};
use plinth_db::renders::{self, Render};
use plinth_db::workspaces::{self, WorkspaceSummary};
use plinth_db::{ledger, sessions, storage, tokens};
use plinth_spec::FailureCode;
use plinth_spec::id::{AccountId, RenderId};
use plinth_spec::role::Role;
use plinth_spec::state::RenderStatus;
use plinth_spec::wire::LedgerEntry;

use super::accounts::{find, no_account};
use crate::access::IDLE_MS;
use crate::error::Result;
use crate::service::Service;

/// Maximum number of renders, ledger entries and log entries in an [`AccountView`].
const NEWEST: u32 = 20;

/// One account, as administrators see it.
#[derive(Clone, Debug)]
pub struct AccountView {
    pub account: Account,
    /// Workspaces that the account owns, and workspaces of which the account is a member.
    pub workspaces: Vec<WorkspaceSummary>,
    /// Number of API keys that are neither revoked nor expired.
    pub keys: u64,
    /// Number of browsers in which the account is signed in.
    pub sessions: usize,
    /// Size of the files of the workspaces that the account owns, in bytes.
    pub stored_bytes: u64,
    /// The newest ledger entries of the account.
    pub ledger: Vec<LedgerEntry>,
    /// The newest renders of the workspaces that the account owns.
    pub renders: Vec<AccountRender>,
    /// The newest log entries that concern the account.
    pub log: Vec<LogEntry>,
}

/// A render of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountRender {
    pub id: RenderId,
    /// Name of the workspace of the render.
    pub workspace: String,
    pub status: RenderStatus,
    /// Number of credits that were charged.
    pub credits: u64,
    /// Failure code; `None` if the render did not fail.
    pub failure: Option<FailureCode>,
    /// Failure message; `None` if the render did not fail.
    pub message: Option<String>,
    /// Time of the order.
    pub created_at: i64,
}

impl Service {
    /// Returns one account, with the data that administrators need to support its owner.
    /// Errors: there is no such account.
    pub async fn account_view(&self, id: &str) -> Result<AccountView> {
        let id = AccountId::parse(id).ok_or_else(no_account)?;
        let mut conn = self.db.read().await?;
        let account = find(&mut conn, &id).await?;
        let now = self.options.clock.now_ms(&mut conn).await?;
        let workspaces = workspaces::list_summaries(&mut conn, &id).await?;
        let mut newest = Vec::new();
        for own in workspaces.iter().filter(|summary| summary.role == Role::Owner) {
            let renders = renders::newest(&mut conn, &own.workspace.id, NEWEST).await?;
            newest.extend(renders.into_iter().map(|render| render_row(render, &own.workspace.name)));
        }
        newest.sort_by(|one, other| (other.created_at, &other.id).cmp(&(one.created_at, &one.id)));
        newest.truncate(NEWEST as usize);
        Ok(AccountView {
            keys: tokens::count_active(&mut conn, &id, now).await?,
            sessions: sessions::list(&mut conn, &id, now, now - IDLE_MS).await?.len(),
            stored_bytes: storage::of_account(&mut conn, &id).await?,
            ledger: ledger::list(&mut conn, &id, None, NEWEST, 0).await?,
            log: admin_log::list(&mut conn, Some(&id), NEWEST, 0).await?,
            renders: newest,
            workspaces,
            account,
        })
    }
}

fn render_row(render: Render, workspace: &str) -> AccountRender {
    AccountRender {
        id: render.id,
        workspace: workspace.to_owned(),
        status: render.status,
        credits: render.credits,
        failure: render.failure_code,
        message: render.error_message,
        created_at: render.created_at,
    }
}
