//! Purchases of credit packs.

use plinth_spec::PurchaseStatus;
use plinth_spec::id::{AccountId, EntryId, PurchaseId, WorkspaceId};
use plinth_spec::wire::Product;

use crate::sql::params;
use crate::table::{row, table};
use crate::{Conn, Result, Tx};

/// A purchase, with the name, credits and price that the credit pack had when it was bought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purchase {
    pub id: PurchaseId,
    /// Account that gets the credits.
    pub account_id: AccountId,
    /// Account of the person who buys the credits.
    pub buyer_id: AccountId,
    /// Team workspace in which the credits are bought; `None` in the account's personal workspace.
    pub workspace_id: Option<WorkspaceId>,
    /// Identifier of the credit pack.
    pub product_id: String,
    /// Name of the credit pack.
    pub name: String,
    pub credits: u64,
    /// Price in the smallest unit of the currency.
    pub price_cents: u64,
    /// Currency: a code of ISO 4217 in lower case.
    pub currency: String,
    /// State of the payment.
    pub status: PurchaseStatus,
    /// Identifier of the payment page at the provider; `None` until the provider has created it.
    pub session_id: Option<String>,
    /// Identifier of the payment at the provider.
    pub payment_id: Option<String>,
    /// Sum of all refunds, in the smallest unit of the currency.
    pub refunded_cents: u64,
    /// Number of credits that refunds have removed.
    pub refunded_credits: u64,
    /// Number of refunded credits that could not be removed, because they had been spent.
    pub owed_credits: u64,
    /// Time of the last refund after which the account owed credits.
    pub owed_at: Option<i64>,
    /// Time of creation.
    pub created_at: i64,
    /// Time at which the credits were booked.
    pub paid_at: Option<i64>,
}

impl Purchase {
    /// Creates a purchase of a credit pack that is not paid yet. The buyer also gets the credits, and buys them in the personal
    /// workspace. The time of creation is 0 until the caller sets it.
    pub fn pending(id: PurchaseId, buyer_id: AccountId, product: &Product) -> Self {
        Self {
            id,
            account_id: buyer_id.clone(),
            buyer_id,
            workspace_id: None,
            product_id: product.id.clone(),
            name: product.name.clone(),
            credits: product.credits,
            price_cents: product.price_cents,
            currency: product.currency.clone(),
            status: PurchaseStatus::Pending,
            session_id: None,
            payment_id: None,
            refunded_cents: 0,
            refunded_credits: 0,
            owed_credits: 0,
            owed_at: None,
            created_at: 0,
            paid_at: None,
        }
    }
}

table!(Purchase in "purchases", columns, select: id, account_id, buyer_id, workspace_id, product_id, name, credits, price_cents,
    currency, status, session_id, payment_id, refunded_cents, refunded_credits, owed_credits,
    owed_at, created_at, paid_at);

pub async fn insert(tx: &mut Tx, purchase: &Purchase) -> Result<()> {
    purchase.add(tx).await
}

pub async fn find(conn: &mut Conn, id: &PurchaseId) -> Result<Option<Purchase>> {
    conn.fetch_optional(select!("WHERE id = $1"), params![id]).await?.as_ref().map(Purchase::of).transpose()
}

/// Finds a purchase by the identifier of its payment page.
pub async fn find_by_session(conn: &mut Conn, session: &str) -> Result<Option<Purchase>> {
    let row = conn.fetch_optional(select!("WHERE session_id = $1"), params![session]).await?;
    row.as_ref().map(Purchase::of).transpose()
}

/// Finds a purchase by the identifier of its payment.
pub async fn find_by_payment(conn: &mut Conn, payment: &str) -> Result<Option<Purchase>> {
    let row = conn.fetch_optional(select!("WHERE payment_id = $1"), params![payment]).await?;
    row.as_ref().map(Purchase::of).transpose()
}

/// Lists the purchases of an account, newest first. With a `workspace`, lists only purchases in this workspace.
pub async fn list(
    conn: &mut Conn,
    account: &AccountId,
    workspace: Option<&WorkspaceId>,
    limit: u32,
) -> Result<Vec<Purchase>> {
    let sql = select!(
        "WHERE account_id = $1 AND ($2 IS NULL OR workspace_id = $2) ORDER BY created_at DESC, id DESC LIMIT $3"
    );
    conn.fetch_all(sql, params![account, workspace, i64::from(limit)]).await?.iter().map(Purchase::of).collect()
}

/// Stores the identifier of the payment page.
pub async fn set_session(tx: &mut Tx, id: &PurchaseId, session: &str) -> Result<()> {
    tx.execute("UPDATE purchases SET session_id = $2 WHERE id = $1", params![id, session]).await.map(drop)
}

/// Sets the state of a payment that is not complete. Changes nothing if the payment is complete, has failed or has expired, because
/// an event of an earlier state may arrive late.
pub async fn set_unpaid(tx: &mut Tx, id: &PurchaseId, status: PurchaseStatus) -> Result<()> {
    let sql = "UPDATE purchases SET status = $2 WHERE id = $1 AND status IN ($3, $4)";
    let [pending, processing] = [PurchaseStatus::Pending, PurchaseStatus::Processing].map(PurchaseStatus::as_str);
    tx.execute(sql, params![id, status.as_str(), pending, processing]).await.map(drop)
}

/// Marks a purchase as paid.
pub async fn set_paid(tx: &mut Tx, id: &PurchaseId, payment: Option<&str>, now: i64) -> Result<()> {
    let sql = "UPDATE purchases SET status = $2, payment_id = $3, paid_at = $4 WHERE id = $1";
    tx.execute(sql, params![id, PurchaseStatus::Paid.as_str(), payment, now]).await.map(drop)
}

/// The booked refunds of a purchase.
#[derive(Clone, Copy, Debug)]
pub struct Refunds {
    /// Sum of all refunds, in the smallest unit of the currency.
    pub cents: u64,
    /// Number of credits that the refunds have removed.
    pub credits: u64,
    /// Number of credits that could not be removed, because they had been spent.
    pub owed: u64,
}

/// Sets the refunds of a purchase.
pub async fn set_refunds(tx: &mut Tx, id: &PurchaseId, refunds: Refunds, now: i64) -> Result<()> {
    let sql = "UPDATE purchases SET refunded_cents = $2, refunded_credits = $3, \
               owed_at = CASE WHEN $4 > owed_credits THEN $5 ELSE owed_at END, owed_credits = $4 WHERE id = $1";
    let Refunds { cents, credits, owed } = refunds;
    tx.execute(sql, params![id, cents.cast_signed(), credits.cast_signed(), owed.cast_signed(), now]).await.map(drop)
}

/// Lists the purchases of an account for which credits are owed, and whose last refund with owed credits was booked at
/// or after `after`. The earliest purchase comes first.
pub async fn list_owing(conn: &mut Conn, account: &AccountId, after: i64) -> Result<Vec<Purchase>> {
    let sql = select!("WHERE account_id = $1 AND owed_credits > 0 AND owed_at >= $2 ORDER BY created_at, id");
    conn.fetch_all(sql, params![account, after]).await?.iter().map(Purchase::of).collect()
}

/// A refund of a purchase that left credits owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwedRefund {
    /// Sum of all refunds of the purchase up to and including this refund, in the smallest unit of the currency.
    pub refunded_cents: u64,
    /// Number of credits that are still owed.
    pub credits: u64,
    /// Time at which the refund was booked.
    pub booked_at: i64,
}

row!(owed_columns, owed -> OwedRefund { refunded_cents: "refunded_cents", credits: "credits", booked_at: "booked_at" });

/// Lists the refunds of a purchase for which credits are owed, the earliest first.
pub async fn list_owed_refunds(conn: &mut Conn, id: &PurchaseId) -> Result<Vec<OwedRefund>> {
    let sql = concat!(
        "SELECT ",
        owed_columns!(),
        " FROM owed_refunds WHERE purchase_id = $1 AND credits > 0 ORDER BY booked_at, refunded_cents"
    );
    conn.fetch_all(sql, params![id]).await?.iter().map(owed).collect()
}

/// Sets the number of credits that are owed for a refund.
pub async fn set_owed_refund(tx: &mut Tx, id: &PurchaseId, refund: OwedRefund) -> Result<()> {
    let sql = "INSERT INTO owed_refunds (purchase_id, refunded_cents, credits, booked_at) VALUES ($1, $2, $3, $4) \
               ON CONFLICT (purchase_id, refunded_cents) DO UPDATE SET credits = excluded.credits";
    let OwedRefund { refunded_cents, credits, booked_at } = refund;
    tx.execute(sql, params![id, refunded_cents.cast_signed(), credits.cast_signed(), booked_at]).await.map(drop)
}

/// Records that a ledger entry books the payment of a purchase, or its refunds up to the sum `refunded_cents`. Returns
/// false if another entry has booked the same payment or refunds.
pub async fn insert_entry(tx: &mut Tx, id: &PurchaseId, refunded_cents: u64, entry: &EntryId) -> Result<bool> {
    let sql = "INSERT INTO purchase_entries (purchase_id, refunded_cents, entry_id) VALUES ($1, $2, $3) \
               ON CONFLICT (purchase_id, refunded_cents) DO NOTHING";
    Ok(tx.execute(sql, params![id, refunded_cents.cast_signed(), entry]).await? == 1)
}
