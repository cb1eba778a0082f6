//! Account, credits, prices.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::timestamp::Timestamp;
use crate::id::{AccountId, EntryId, RenderId, WorkspaceId};
use crate::named::named;

named! {
    /// What a token may do.
    Scope {
        /// Look.
        Read = "read",
        /// Change and render.
        Render = "render",
    }
}

/// The calling account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Account {
    /// Identifier.
    pub id: AccountId,
    /// E-mail address.
    pub email: String,
    /// Spendable balance: the same as `paid`.
    pub credits: u64,
    /// Ordinary credits.
    pub paid: u64,
    /// The legacy free pool.
    pub free: u64,
    /// Both together.
    pub total: u64,
    /// What the calling token may do.
    pub scopes: Vec<Scope>,
    /// The workspace the token is bound to; null for a personal one. The balances are then its owner's.
    #[schema(required)]
    pub workspace: Option<BoundWorkspace>,
}

/// The workspace a token is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct BoundWorkspace {
    /// Identifier.
    pub id: WorkspaceId,
    /// Its name.
    pub name: String,
}

/// Body of a quote: each item takes `quality`, `output`, `datasetQuality` and `length`, as render settings do.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
pub struct QuoteRequest {
    /// At most 100 renders.
    #[schema(required, value_type = Vec<super::RenderSettings>, max_items = 100)]
    pub renders: Option<Vec<Value>>,
}

/// A credit pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Product {
    /// Identifier.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Credits it adds.
    pub credits: u64,
    /// Its price in cents.
    pub price_cents: u64,
    /// The payment provider's reference.
    pub stripe_price_id: String,
}

named! {
    /// Why credits moved.
    LedgerType {
        /// A credit pack was bought.
        Purchase = "purchase",
        /// A preview was unlocked (legacy).
        Unlock = "unlock",
        /// A render was charged.
        Render = "render",
        /// A charge went back.
        Refund = "refund",
        /// A promotion.
        Promo = "promo",
        /// A referral.
        Referral = "referral",
        /// An administrator granted it.
        AdminGrant = "admin_grant",
        /// A new account's welcome.
        SignupBonus = "signup_bonus",
    }
}

/// An entry of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerEntry {
    /// Identifier.
    pub id: EntryId,
    /// When credits moved.
    pub created_at: Timestamp,
    /// Why.
    #[serde(rename = "type")]
    pub kind: LedgerType,
    /// How many: positive came in, negative went out.
    pub credits: i64,
    /// What was paid for them in cents.
    pub price_cents: i64,
    /// Where they came from.
    pub source: String,
    /// In words.
    pub description: String,
    /// The render they belong to.
    #[schema(required)]
    pub render_id: Option<RenderId>,
}
