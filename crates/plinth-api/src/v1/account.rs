//! Endpoints of the account, of quotes, and of credits.

use axum::extract::State;
use axum::response::Response;
use plinth_spec::pricing::Quote;
use plinth_spec::wire::{Account, Data, LedgerEntry, Page, Product, QuoteRequest};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::ok;

use crate::access::Reader;
use crate::error::Result;
use crate::extract::{JsonBody, Query};
use crate::state::Api;

/// Returns the endpoints of this file.
pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(get_account))
        .routes(routes!(quote))
        .routes(routes!(list_products))
        .routes(routes!(list_purchases))
}

/// Shows the calling account
#[utoipa::path(get, path = "/account", tag = "account", responses(
    (status = 200, description = "The account.", body = Data<Account>),
))]
pub(crate) async fn get_account(State(api): State<Api>, Reader(caller): Reader) -> Result<Response> {
    Ok(ok(api.service.account(&caller).await?))
}

/// Quotes the price of up to 100 renders
#[utoipa::path(post, path = "/quote", tag = "account", request_body = QuoteRequest, responses(
    (status = 200, description = "The prices.", body = Data<Quote>),
))]
pub(crate) async fn quote(
    State(api): State<Api>,
    Reader(caller): Reader,
    JsonBody(request, _memory): JsonBody<QuoteRequest>,
) -> Result<Response> {
    Ok(ok(api.service.quote(&caller, request).await?))
}

/// Lists credit packs on sale
#[utoipa::path(get, path = "/products", tag = "account", responses(
    (status = 200, description = "The credit packs.", body = Data<Vec<Product>>),
))]
pub(crate) async fn list_products(State(api): State<Api>, Reader(_caller): Reader) -> Result<Response> {
    Ok(ok(api.service.products().await?))
}

/// Query parameters that select a page of a list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct OffsetQuery {
    /// Maximum number of rows on the page.
    #[param(value_type = Option<u32>)]
    limit: Option<String>,
    /// Number of rows to skip before the page.
    #[param(value_type = Option<u64>, minimum = 0, default = 0)]
    offset: Option<String>,
}

/// Lists ledger entries (charges, refunds, purchases), newest first
#[utoipa::path(get, path = "/purchases", tag = "account", params(OffsetQuery), responses(
    (status = 200, description = "One page of ledger entries.", body = Page<LedgerEntry>),
))]
pub(crate) async fn list_purchases(
    State(api): State<Api>,
    Reader(caller): Reader,
    Query(query): Query<OffsetQuery>,
) -> Result<axum::Json<Page<LedgerEntry>>> {
    let page = api.service.purchases(&caller, query.limit.as_deref(), query.offset.as_deref()).await?;
    Ok(axum::Json(page))
}
