//! Account, credits and prices.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::timestamp::Timestamp;
use crate::id::{AccountId, EntryId, RenderId, WorkspaceId};
use crate::named::named;

named! {
    /// Permission of a token.
    Scope {
        /// Read access.
        Read = "read",
        /// Write access, including uploads and renders.
        Render = "render",
    }
}

/// Account of the caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Account {
    /// ID.
    pub id: AccountId,
    /// E-mail address.
    pub email: String,
    /// Spendable balance; equals `paid`.
    pub credits: u64,
    /// Credits of the paid pool.
    pub paid: u64,
    /// Credits of the legacy free pool.
    pub free: u64,
    /// Sum of both pools.
    pub total: u64,
    /// Permissions of the caller's token.
    pub scopes: Vec<Scope>,
    /// Workspace that the token is bound to; null for a personal token. If set, the balances are those of the workspace's owner.
    #[schema(required)]
    pub workspace: Option<BoundWorkspace>,
}

/// Workspace that a token is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct BoundWorkspace {
    /// ID.
    pub id: WorkspaceId,
    /// Name.
    pub name: String,
}

/// Body of a quote. Each item has the fields `quality`, `output`, `datasetQuality` and `length` of render settings.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
pub struct QuoteRequest {
    /// Renders to price, at most 100.
    #[schema(required, value_type = Vec<super::RenderSettings>, max_items = 100)]
    pub renders: Option<Vec<Value>>,
}

/// A credit pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Product {
    /// ID.
    pub id: String,
    /// Name.
    pub name: String,
    /// Credits in the pack.
    pub credits: u64,
    /// Price in cents.
    pub price_cents: u64,
    /// Price ID at the payment provider.
    pub stripe_price_id: String,
}

named! {
    /// Reason of a ledger entry.
    LedgerType {
        /// A credit pack was bought.
        Purchase = "purchase",
        /// A preview was unlocked (legacy).
        Unlock = "unlock",
        /// A render was charged.
        Render = "render",
        /// A charge was refunded.
        Refund = "refund",
        /// A promotion.
        Promo = "promo",
        /// A referral.
        Referral = "referral",
        /// An administrator granted credits.
        AdminGrant = "admin_grant",
        /// Bonus of a new account.
        SignupBonus = "signup_bonus",
    }
}

/// Ledger entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerEntry {
    /// ID.
    pub id: EntryId,
    /// Time of the entry.
    pub created_at: Timestamp,
    /// Reason.
    #[serde(rename = "type")]
    pub kind: LedgerType,
    /// Change of the balance: positive for credits added, negative for credits spent.
    pub credits: i64,
    /// Amount paid for the credits, in cents.
    pub price_cents: i64,
    /// Source of the credits.
    pub source: String,
    /// Description for people.
    pub description: String,
    /// Render that was charged or refunded; null for other entries.
    #[schema(required)]
    pub render_id: Option<RenderId>,
}
