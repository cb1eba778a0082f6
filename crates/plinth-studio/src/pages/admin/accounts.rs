//! The list of all accounts.

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use plinth_service::admin::{AccountQuery, ListedAccount};
use plinth_spec::limits;
use serde::Deserialize;

use super::neighbour_offsets;
use crate::error::Result;
use crate::format::{DisplayTime, size};
use crate::frame::{Frame, page};
use crate::session::CurrentUser;
use crate::studio::Studio;

/// Number of accounts per page.
const ACCOUNTS: u32 = 50;
/// Values and labels of the filter by kind of account.
const SHOWN: [(&str, &str); 3] = [("", "All"), ("admins", "Administrators"), ("suspended", "Suspended")];

#[derive(Template)]
#[template(path = "admin_accounts.html")]
struct AccountsPage {
    frame: Frame,
    here: &'static str,
    search: String,
    show: String,
    shown: [(&'static str, &'static str); 3],
    accounts: Vec<AccountRow>,
    newer: Option<u64>,
    older: Option<u64>,
}

/// An account in the list.
struct AccountRow {
    id: String,
    email: String,
    is_admin: bool,
    is_suspended: bool,
    paid: u64,
    free: u64,
    renders: u64,
    stored: String,
    created: DisplayTime,
}

/// Query parameters of the list.
#[derive(Deserialize)]
pub(crate) struct ListQuery {
    #[serde(default)]
    search: String,
    #[serde(default)]
    show: String,
    #[serde(default)]
    offset: u64,
}

pub(crate) async fn list(
    State(studio): State<Studio>,
    user: CurrentUser,
    Query(query): Query<ListQuery>,
) -> Result<Response> {
    let offset = query.offset.min(limits::OFFSET_MAX);
    let wanted = AccountQuery {
        search: query.search.clone(),
        admins: query.show == "admins",
        suspended: query.show == "suspended",
        offset,
    };
    let mut accounts = studio.service.list_accounts(&wanted, ACCOUNTS + 1).await?;
    let (newer, older) = neighbour_offsets(&mut accounts, offset, ACCOUNTS);
    Ok(page(&AccountsPage {
        frame: Frame::new(&studio, "Accounts", Some(&user)).at("admin"),
        here: "accounts",
        search: query.search,
        show: query.show,
        shown: SHOWN,
        accounts: accounts.into_iter().map(row).collect(),
        newer,
        older,
    }))
}

fn row(listed: ListedAccount) -> AccountRow {
    let account = listed.account;
    AccountRow {
        id: account.id.to_string(),
        email: account.email,
        is_admin: account.is_admin,
        is_suspended: account.suspended_at.is_some(),
        paid: account.balance.paid,
        free: account.balance.free,
        renders: listed.renders,
        stored: size(listed.stored_bytes),
        created: DisplayTime::of(account.created_at),
    }
}
