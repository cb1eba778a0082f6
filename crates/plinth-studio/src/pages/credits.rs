//! The page of credits: balance, credit packs, purchases and the ledger.

use askama::Template;
use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use plinth_service::billing::STATEMENT_HEAD;
use plinth_spec::page::PageMeta;
use plinth_spec::wire::{Account, Product};
use plinth_spec::{PurchaseStatus, limits};
use serde::Deserialize;

use super::ledger_entry::EntryRow;
use crate::error::Result;
use crate::form::SessionForm;
use crate::format::{DisplayTime, money};
use crate::frame::{Frame, page};
use crate::session::CurrentUser;
use crate::studio::Studio;

#[derive(Template)]
#[template(path = "credits_page.html")]
struct CreditsPage {
    frame: Frame,
    account: Account,
    low_balance: u64,
    /// Name and price of each credit pack on sale. Empty if no credits are sold.
    packs: Vec<Pack>,
    is_sold: bool,
    /// Whether the payment provider is in test mode, in which no money is paid.
    is_test: bool,
    may_buy: bool,
    purchases: Vec<PurchaseRow>,
    /// The purchase whose payment page sent the browser back to this page.
    bought: Option<PurchaseRow>,
    entries: Vec<EntryRow>,
    total: u64,
    /// Offsets of the pages with newer and with older entries.
    newer: Option<u64>,
    older: Option<u64>,
}

/// A credit pack.
struct Pack {
    id: String,
    name: String,
    /// Number of credits, unless the name contains this number.
    credits: Option<u64>,
    price: String,
}

/// A purchase in the list.
#[derive(Clone)]
struct PurchaseRow {
    id: String,
    name: String,
    price: String,
    created: DisplayTime,
    status: &'static str,
    /// Name of the CSS class for the colour of the state.
    status_name: &'static str,
    /// Refunded amount of money, and number of credits that the refund removed.
    refunded: Option<(String, u64)>,
    /// Whether the page waits for Stripe's confirmation, which arrives within seconds.
    is_pending: bool,
    /// Whether the bank has not confirmed the payment yet, which takes days.
    is_processing: bool,
}

#[derive(Template)]
#[template(path = "credits_pay.html")]
struct PayPage {
    frame: Frame,
    url: String,
}

/// Query parameters of the page.
#[derive(Deserialize)]
pub(crate) struct CreditsQuery {
    offset: Option<u64>,
    bought: Option<String>,
}

/// Form fields of a purchase.
#[derive(Deserialize)]
pub(crate) struct BuyForm {
    pack: String,
}

pub(crate) async fn show(
    State(studio): State<Studio>,
    user: CurrentUser,
    Query(query): Query<CreditsQuery>,
) -> Result<Response> {
    let (service, caller) = (&studio.service, user.caller());
    let offset = query.offset.unwrap_or_default().min(limits::OFFSET_MAX);
    let ledger = service.purchases(caller, None, Some(&offset.to_string())).await?;
    let (total, step) = match ledger.meta {
        PageMeta::Offset { total, limit, .. } => (total, u64::from(limit)),
        PageMeta::Cursor { .. } => (0, 1),
    };
    let purchases: Vec<PurchaseRow> = service.list_purchases(caller).await?.iter().map(purchase_row).collect();
    let stripe = service.options().stripe.as_ref();
    let packs = if stripe.is_some() { service.products().await? } else { Vec::new() };
    let bought = query.bought.and_then(|id| purchases.iter().find(|row| row.id == id).cloned());
    let frame = Frame::new(&studio, "Credits", Some(&user)).at("credits");
    Ok(page(&CreditsPage {
        frame,
        account: service.account(caller).await?,
        low_balance: service.options().low_balance,
        packs: packs.into_iter().map(pack).collect(),
        is_sold: stripe.is_some(),
        is_test: stripe.is_some_and(plinth_service::billing::StripeOptions::is_test),
        may_buy: caller.role.can_manage(),
        bought,
        purchases,
        entries: ledger.data.iter().map(EntryRow::of).collect(),
        total,
        newer: (offset > 0).then(|| offset.saturating_sub(step)),
        older: Some(offset + step).filter(|next| *next < total),
    }))
}

/// Starts a purchase, and shows a page that forwards the browser to the payment page. The response is not a redirect,
/// because the content security policy forbids that a form redirects to another origin.
pub(crate) async fn buy(State(studio): State<Studio>, sent: SessionForm<BuyForm>) -> Result<Response> {
    let SessionForm { user, form } = sent;
    let back = format!("{}/credits", studio.site.url);
    let url = studio.service.buy_credits(user.in_page_workspace()?, &form.pack, &back).await?;
    Ok(page(&PayPage { frame: Frame::new(&studio, "To the payment page", Some(&user)), url }))
}

/// Streams the ledger as CSV. Reads the database page by page while the response is sent.
pub(crate) async fn statement(State(studio): State<Studio>, user: CurrentUser) -> Result<Response> {
    let (service, caller) = (studio.service.clone(), user.caller().clone());
    let first = service.statement(&caller, None).await?;
    let rest = stream::try_unfold(first.1, move |position| {
        let (service, caller) = (service.clone(), caller.clone());
        async move {
            let Some(position) = position else { return Ok::<_, plinth_service::ServiceError>(None) };
            let (text, next) =
                service.statement(&caller, Some(&position)).await.inspect_err(plinth_service::ServiceError::log)?;
            Ok(Some((Bytes::from(text), next)))
        }
    });
    let head = stream::iter([Ok(Bytes::from(format!("{STATEMENT_HEAD}{}", first.0)))]);
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"credits.csv\""),
    ];
    Ok((headers, Body::from_stream(futures_util::StreamExt::chain(head, rest))).into_response())
}

/// Receives an event of Stripe. Its signature is the only proof of its origin, so no session and no form token is needed.
pub(crate) async fn event(State(studio): State<Studio>, headers: HeaderMap, body: Bytes) -> Response {
    let mut signatures = headers.get_all("stripe-signature").iter().filter_map(|value| value.to_str().ok());
    let signature = signatures.next().filter(|_only| signatures.next().is_none());
    match studio.service.stripe_event(signature, &body).await {
        Ok(()) => (StatusCode::OK, "ok").into_response(),
        Err(error) => {
            error.log();
            let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            (status, error.message).into_response()
        }
    }
}

fn pack(product: Product) -> Pack {
    let price = money(product.price_cents, &product.currency);
    let credits = Some(product.credits).filter(|credits| !product.name.contains(&credits.to_string()));
    Pack { id: product.id, name: product.name, credits, price }
}

fn purchase_row(purchase: &plinth_service::billing::Purchase) -> PurchaseRow {
    let is_whole = purchase.refunded_cents >= purchase.price_cents;
    let (status, status_name) = match purchase.status {
        PurchaseStatus::Pending => ("Not paid yet", "pending"),
        PurchaseStatus::Processing => ("The bank confirms the payment", "pending"),
        PurchaseStatus::Paid if is_whole => ("Refunded", "failed"),
        PurchaseStatus::Paid if purchase.refunded_cents > 0 => ("Refunded in part", "failed"),
        PurchaseStatus::Paid => ("Paid", "done"),
        PurchaseStatus::Expired => ("Expired", "failed"),
        PurchaseStatus::Failed => ("Failed", "error"),
    };
    let refunded = (purchase.refunded_cents > 0)
        .then(|| (money(purchase.refunded_cents, &purchase.currency), purchase.refunded_credits));
    PurchaseRow {
        id: purchase.id.to_string(),
        name: purchase.name.clone(),
        price: money(purchase.price_cents, &purchase.currency),
        created: DisplayTime::of(purchase.created_at),
        status,
        status_name,
        refunded,
        is_pending: purchase.status == PurchaseStatus::Pending,
        is_processing: purchase.status == PurchaseStatus::Processing,
    }
}
